import { freemem } from 'node:os'
import { describe, expect, test } from 'vitest'
import { tensor } from '@tenon/core'
import { SharedMemory } from '../../src/memory/shared-memory.ts'
import { residentBytes } from './memory-status.ts'

const GIB = 2 ** 30

// Only pages with contents take memory.
describe.runIf(process.platform === 'linux' && freemem() > GIB / 4)('more than 4 GiB', () => {
  test('a tensor of 5 GiB is written and read at both ends, here and where the memory is imported', () => {
    const before = residentBytes('RssShmem')
    using memory = SharedMemory.open({ limit: '8 GiB' })
    const length = (5 * GIB) / 4
    const x = tensor('f32', [length], undefined, { allocator: memory })
    const small = tensor('f32', [2], undefined, { allocator: memory })
    x.slice([0, 1]).set([1.5])
    x.slice([length - 2, length]).set([2.5, 3.5])
    expect([x.at(0), x.at(1), x.at(-2), x.at(-1)]).toEqual([1.5, 0, 2.5, 3.5])
    using imported = SharedMemory.ofHandle(memory.handle({ tensors: { x, small } }))
    const theirs = imported.tensor('x')
    expect([theirs.at(0), theirs.at(-2), theirs.at(-1)]).toEqual([1.5, 2.5, 3.5])
    theirs.slice([length - 1, length]).set([4.5])
    expect(x.at(-1)).toBe(4.5)
    expect(x.view()[length - 1]).toBe(4.5)
    expect(memory.locate(x.slice([length - 1, length])).byteOffset).toBe(5 * GIB - 4)
    expect(residentBytes('RssShmem') - before).toBeLessThan(2 ** 20)
  })

  test('offsets above 4 GiB inside of one chunk are exact', () => {
    using memory = SharedMemory.open({ chunk: '8 GiB', limit: '8 GiB' })
    const first = memory.allocate(5 * GIB)
    const x = tensor('i32', [3], undefined, { allocator: memory })
    x.set([7, 8, 9])
    const location = memory.locate(x)
    expect(location.byteOffset).toBe(5 * GIB)
    using imported = SharedMemory.ofHandle(memory.handle())
    expect(imported.tensor(location).toArray()).toEqual([7, 8, 9])
    expect(first.byteSize).toBe(5 * GIB)
    using arena = memory.arena({ byteSize: GIB })
    expect(Number(arena.allocate(GIB).address) % 64).toBe(0)
    expect(memory.usage.chunks).toBe(1)
  })
})
