import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { addressOf, keepAlive } from '@tenon/core/internal'
import { afterAll } from 'vitest'
import * as pools from '../src/index.ts'
import { closeDescriptor } from '../src/memory/descriptor.ts'
import { socketPair } from '../src/memory/local-socket.ts'
import { sharing } from '../src/native/core.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-examples-'))
writeFileSync(join(directory, 'weights.bin'), Buffer.alloc(4096))
// The memory of the examples of SharedMemory, in the directory that a user has.
process.env['XDG_RUNTIME_DIR'] = directory
const memory = pools.SharedMemory.open({ chunk: '1 MiB' })
const image = core.tensor('f32', [2], undefined, { allocator: memory })
await memory.export({ name: 'images', tensors: { image } })
const [camera, receiver] = socketPair('messages')

/** Sends memory with the size of a frame, and returns the socket that receives it. */
function sentMemory(): number {
  using pool = pools.createPool(640 * 480)
  const [bytes, list] = [Buffer.from('640x480'), Int32Array.of(pool.descriptor!)]
  sharing().tn_channel_send(camera, addressOf(bytes), bytes.length, addressOf(list), 1, 0)
  keepAlive(list)
  return receiver
}

afterAll(() => {
  memory.close()
  closeDescriptor(camera)
  closeDescriptor(receiver)
  rmSync(directory, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    '@tenon/core': core,
    // Examples name files as users have them.
    '@tenon/pools': {
      ...pools,
      openFilePool: (path: string) => pools.openFilePool(join(directory, path)),
      receivePools: (_path: string, options: Parameters<typeof pools.receivePools>[1]) =>
        pools.receivePools(sentMemory(), options),
    },
  },
  context: () => ({ memory, image, worker: { postMessage() {} }, console: { error() {} } }),
})
