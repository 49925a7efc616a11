/** A cache that grows by a row with each step, in buffers of the driver, and that two threads of the client read. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { buildModel, spawnDriver } from 'tenon/nnapi'
import { createPool } from 'tenon/pools'

const STEPS = 40
const at = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const appending = buildModel((g) => {
  const cache = g.input('TENSOR_FLOAT32', [0, 4]) // 0: as many rows as the cache has
  const row = g.input('TENSOR_FLOAT32', [1, 4])
  g.output(g.operation('APPEND', [cache, row], { type: 'TENSOR_FLOAT32', dimensions: [0, 4] }))
})
const attending = buildModel((g) => {
  const cache = g.input('TENSOR_FLOAT32', [0, 4])
  const query = g.input('TENSOR_FLOAT32', [4])
  g.output(g.operation('ATTEND', [cache, query], { type: 'TENSOR_FLOAT32', dimensions: [0] }))
})

const driver = await spawnDriver({
  command: [process.execPath, '--disable-warning=ExperimentalWarning', at('device-driver.ts')],
})
const [append, attend] = [await driver.prepare(appending), await driver.prepare(attending)]
const roles = [append.input(0), append.output(0), attend.input(0)]
let [cache, next] = [await driver.allocate({ roles }), await driver.allocate({ roles })]

using pool = createPool(4096)
for (let step = 0; step < STEPS; step++) {
  pool.write(0, new Float32Array([step, 1, 0, 0]))
  if (step === 0) await cache.copyFrom(pool.slice(0, 16, { dimensions: [1, 4] }))
  else {
    append.run({ inputs: [cache, pool.slice(0, 16)], outputs: [next] })
    ;[cache, next] = [next, cache]
  }
}
console.log('the cache has the dimensions', await cache.shape())

const readers = ['first', 'second'].map(async (name) => {
  const handle = await driver.share({ models: { attend }, buffers: { cache } })
  const reader = new Worker(at('cache-reader.ts'), { workerData: { name, handle } })
  const [[line]] = await Promise.all([once(reader, 'message') as Promise<[string]>, once(reader, 'exit')])
  return line
})
for (const line of await Promise.all(readers)) console.log(line)

await driver.closeAsync()
appending.close()
attending.close()
