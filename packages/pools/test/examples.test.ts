import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { afterAll } from 'vitest'
import * as pools from '../src/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-examples-'))
writeFileSync(join(directory, 'weights.bin'), Buffer.alloc(4096))
// The memory of the examples of SharedMemory, in the directory that a user has.
process.env['XDG_RUNTIME_DIR'] = directory
const memory = pools.SharedMemory.open({ chunk: '1 MiB' })
const image = core.tensor('f32', [2], undefined, { allocator: memory })
await memory.export({ name: 'images', tensors: { image } })
afterAll(() => {
  memory.close()
  rmSync(directory, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    '@tenon/core': core,
    // Examples name files as users have them.
    '@tenon/pools': { ...pools, openFilePool: (path: string) => pools.openFilePool(join(directory, path)) },
  },
  context: () => ({ memory, image, worker: { postMessage() {} }, console: { error() {} } }),
})
