import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { afterAll } from 'vitest'
import * as hidl from '../src/hidl.ts'
import * as pools from '../src/index.ts'
import { addModel } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-examples-'))
writeFileSync(join(directory, 'weights.bin'), Buffer.alloc(4096))
const driver = pools.localDriver()
const model = addModel([1, 2])
const prepared = await driver.prepare(model)
// The memory of the examples of SharedMemory, in the directory that a user has.
process.env['XDG_RUNTIME_DIR'] = directory
const memory = pools.SharedMemory.open({ chunk: '1 MiB' })
const image = core.tensor('f32', [2], undefined, { allocator: memory })
await memory.export({ name: 'images', tensors: { image } })
afterAll(async () => {
  memory.close()
  await driver.closeAsync()
  model[Symbol.dispose]()
  rmSync(directory, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    '@tenon/core': core,
    '@tenon/pools': {
      ...pools,
      // Examples name files and drivers as users have them.
      openFilePool: (path: string) => pools.openFilePool(join(directory, path)),
      connectDriver: () => pools.spawnDriver(),
      serveDriver: () => {},
    },
    '@tenon/pools/hidl': hidl,
  },
  context: () => ({
    driver,
    model,
    prepared,
    request: { inputs: [], outputs: [], pools: [] },
    memory,
    image,
    worker: { postMessage() {} },
    negate: { plan: () => ({ dimensions: [] }) },
    console: { error() {} },
  }),
})
