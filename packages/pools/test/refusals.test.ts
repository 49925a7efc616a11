import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectRefusalsLeaveNothing } from '@tenon/config/refusals'
import { tensor } from '@tenon/core'
import { addressOf, coreFunctions, STATUS } from '@tenon/core/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPool, poolUsage, receivePools } from '../src/index.ts'
import { closeDescriptor } from '../src/memory/descriptor.ts'
import { socketPair } from '../src/memory/local-socket.ts'
import { SharedMemory } from '../src/memory/shared-memory.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-refusals-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const counters = (): object => ({ descriptors: readdirSync('/proc/self/fd').length, ...poolUsage() })

const scenarios: readonly (readonly [name: string, functions: readonly string[], run: () => unknown])[] = [
  ['a pool', ['tn_shared_memory_create', 'tn_mapping_open'], () => createPool(4096).close()],
  [
    'shared memory with two chunks',
    ['tn_shared_memory_create', 'tn_mapping_open'],
    () => {
      using memory = SharedMemory.open({ chunk: '1 MiB' })
      tensor('f32', [4], undefined, { allocator: memory })
      memory.allocate(2 ** 20)
    },
  ],
  [
    'memory that is opened by its name',
    ['tn_channel_listen', 'tn_shared_memory_connect', 'tn_mapping_open'],
    async () => {
      const name = `refused-${randomUUID()}`
      using memory = SharedMemory.open({ chunk: '1 MiB' })
      const x = tensor('f32', [4], undefined, { allocator: memory })
      using exported = await memory.export({ name, directory, tensors: { x } })
      using other = await SharedMemory.openNamed(name, { directory })
      expect([other.identity, exported.path.startsWith(directory)]).toEqual([memory.identity, true])
    },
  ],
  [
    'pools that another program sends',
    ['tn_descriptor_duplicate', 'tn_mapping_open'],
    async () => {
      using pool = createPool(4096)
      const [mine, theirs] = socketPair('messages')
      try {
        const [bytes, list] = [Uint8Array.of(1), Int32Array.of(pool.descriptor!, pool.descriptor!)]
        coreFunctions().tn_channel_send(theirs, addressOf(bytes), 1, addressOf(list), 2, 0)
        const { pools } = await receivePools(mine)
        for (const received of pools) received.close()
      } finally {
        closeDescriptor(mine)
        closeDescriptor(theirs)
      }
    },
  ],
]

describe.runIf(process.platform === 'linux')('a refused resource leaves no descriptor and no mapping', () => {
  test.each(scenarios)('%s', { timeout: 60_000 }, async (_, functions, run) => {
    for (const status of ['OUT_OF_MEMORY', 'SYSTEM'] as const) {
      const refused = await expectRefusalsLeaveNothing(coreFunctions(), STATUS[status].value, run, counters)
      expect(refused).toEqual(expect.arrayContaining([...functions]))
    }
  })
})
