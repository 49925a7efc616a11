/** A thread that reads a buffer of the driver that another thread has allocated. */
import { parentPort as port, workerData } from 'node:worker_threads'
import { attachDriver } from 'tenon/nnapi'
import { createPool } from 'tenon/pools'

const { name, handle } = workerData as { name: string; handle: object }
const { driver, models, buffers } = await attachDriver(handle)
const [attend, cache] = [models['attend']!, buffers['cache']!]
{
  using pool = createPool(4096)
  const [rows, columns] = (await cache.shape()) as [number, number]
  await cache.copyTo(pool.slice(0, 4 * rows * columns))
  const last = new Float32Array(pool.read(16 * (rows - 1), 16).buffer)

  pool.write(2048, new Float32Array([2, 100, 0, 0]))
  attend.run({ inputs: [cache, pool.slice(2048, 16)], outputs: [pool.slice(3072, 1024)] })
  const scores = new Float32Array(pool.read(3072, 4 * rows).buffer)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a worker has no origin
  port!.postMessage(`the ${name} reader sees ${rows} rows, the last is [${last}], with the score ${scores.at(-1)}`)
}
await driver.closeAsync()
