import { describe, expect, test } from 'vitest'
import {
  AllocationError,
  ArgumentError,
  ScopeClosedError,
  ScopeHeldError,
  type Segment,
  type Tensor,
  tensor,
  tensorType,
} from '@tenon/core'
import { pageSize, sharedChunkOf } from '@tenon/core/internal'
import { SharedMemory } from '../../src/memory/shared-memory.ts'
import { collectUntil, hasOwnBuffers, mappingsOf, openDescriptors, residentBytes } from './memory-status.ts'

const MIB = 2 ** 20

const floats = (memory: SharedMemory, length: number) => tensor('f32', [length], undefined, { allocator: memory })

describe.runIf(process.platform === 'linux')('SharedMemory', () => {
  test('allocates zeroed tensors in one chunk, whose file has their bytes', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = floats(memory, 3)
    const y = floats(memory, 3)
    x.set([1, 2, 3])
    expect(y.toArray()).toEqual([0, 0, 0])
    const chunk = sharedChunkOf(x)!
    expect(sharedChunkOf(y)).toBe(chunk)
    expect(chunk.byteSize).toBe(MIB)
    expect([x.address % 64, y.address - x.address]).toEqual([0, 64])
    expect(memory.usage).toEqual({ chunks: 1, byteSize: MIB, usedBytes: 128, limit: memory.usage.limit })
  })

  test.each([
    [{ chunk: 1000 }, /^chunk must be a power of two from 1 MiB \(1048576 bytes\), got 1000/],
    [{ chunk: '3 MiB' }, /^chunk must be a power of two/],
    [{ chunk: '64 Mb' }, /^chunk must be a whole number of bytes, or a text with a unit such as "64 MiB", got "64 Mb"/],
    [{ limit: 5 }, /^limit must be at least 1 MiB/],
    [{ limit: -1 }, /^limit must be a whole number/],
    [{ chunk: '4 MiB', limit: '2 MiB' }, /^limit must be at least the 4194304 bytes of a chunk, got 2097152/],
    [{ label: 5 }, /^label must be a string without NUL, got 5/],
    [{ guard: 1 }, /^guard must be true or false, got 1/],
    [{ limits: 5 }, /^options must not have the option "limits"/],
  ])('open(%o) throws', (options, message) => {
    expect(() => SharedMemory.open(options as object)).toThrow(message)
  })

  test('a tensor that is larger than a chunk gets a chunk of its own, which ends with it', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB', label: 'large-tensors' })
    let x: unknown = memory.allocate(5 * MIB + 1)
    expect(sharedChunkOf(x as Segment)!.byteSize).toBe(5 * MIB + pageSize())
    expect(mappingsOf('large-tensors')).toBe(1)
    x = undefined
    expect(await collectUntil(() => memory.usage.chunks === 0)).toBe(true)
    expect(mappingsOf('large-tensors')).toBe(0)
  })

  test('memory that is larger than a chunk may have the alignment of a page', () => {
    using memory = SharedMemory.open({ chunk: '2 MiB' })
    // The whole pages of these sizes are in another list of free memory than the sizes.
    for (const byteSize of [2_879_553, 2_883_521, 5_767_105]) {
      const segment = memory.allocate(byteSize, 4096)
      expect([segment.byteSize, Number(segment.address % 4096n)]).toEqual([byteSize, 0])
    }
  })

  test('memory is free again when its tensors are collected, and is zeroed before it is used again', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    for (let i = 0; i < 100; i++) floats(memory, 1000).set(new Float32Array(1000).fill(i + 1))
    expect(memory.usage.usedBytes).toBe(100 * 4032)
    expect(await collectUntil(() => memory.usage.usedBytes === 0)).toBe(true)
    for (let i = 0; i < 60; i++)
      expect(
        floats(memory, 1000)
          .toArray()
          .every((value) => value === 0),
      ).toBe(true)
  })

  test('a raw view keeps its memory, also after its buffer was transferred', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const view = floats(memory, 4).view()
    view.set([1, 2, 3, 4])
    const moved = new Float32Array((floats(memory, 4).view().fill(9).buffer as ArrayBuffer).transfer())
    expect(view.buffer.byteLength).toBe(16)
    floats(memory, 4)
    expect(await collectUntil(() => memory.usage.usedBytes <= 128)).toBe(true)
    expect(memory.usage.usedBytes).toBe(128)
    floats(memory, 4).set([5, 6, 7, 8])
    expect([[...view], [...moved]]).toEqual([
      [1, 2, 3, 4],
      [9, 9, 9, 9],
    ])
  })

  test('close() ends its tensors and raw views, and gives descriptors, mappings and pages back', () => {
    const before = [openDescriptors(), residentBytes('RssShmem')] as const
    const memory = SharedMemory.open({ chunk: '1 MiB', label: 'closed-memory' })
    const tensors = Array.from({ length: 20 }, () => floats(memory, 2 ** 17))
    for (const x of tensors) x.set(new Float32Array(2 ** 17).fill(1))
    const view = tensors[0]!.view()
    expect(residentBytes('RssShmem') - before[1]).toBeGreaterThan(9 * MIB)
    memory.close()
    expect(() => tensors[0]!.toArray()).toThrow(ScopeClosedError)
    expect(() => memory.allocate(1)).toThrow(/^the shared memory "closed-memory" is closed already/)
    expect(view.length).toBe(0)
    expect(sharedChunkOf(tensors[1]!)).toBeUndefined()
    expect(mappingsOf('closed-memory')).toBe(0)
    expect(openDescriptors()).toBe(before[0])
    expect(Math.abs(residentBytes('RssShmem') - before[1])).toBeLessThan(MIB)
  })

  test('a transferred raw view reads zeros after close()', () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    const moved = new Float32Array((floats(memory, 4).view().fill(9).buffer as ArrayBuffer).transfer())
    memory.close()
    expect([...moved]).toEqual([0, 0, 0, 0])
  })

  test('a listener of a chunk hears of its end, when it is dropped and when the memory is closed', async () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    const ended: string[] = []
    const kept = memory.allocate(64)
    sharedChunkOf(kept)!.onClose(() => ended.push('first'))
    ;(() => void sharedChunkOf(memory.allocate(2 * MIB))!.onClose(() => ended.push('own')))()
    expect(await collectUntil(() => ended.length > 0)).toBe(true)
    expect(ended).toEqual(['own'])
    memory.close()
    expect(ended).toEqual(['own', 'first'])
    expect(kept.lifetime.isAlive).toBe(false)
  })

  test('the limit is kept, and the error says what to do', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB', limit: '3 MiB' })
    const kept = [memory.allocate(MIB), memory.allocate(MIB), memory.allocate(MIB)]
    expect(() => memory.allocate(1)).toThrow(
      /^the shared memory must have at most 3145728 bytes, got 3145728 in its chunks and 4096 more\nHint: Open the memory/,
    )
    expect(() => memory.allocate(2 ** 52)).toThrow(AllocationError)
    kept.length = 0
    expect(await collectUntil(() => memory.usage.usedBytes === 0)).toBe(true)
    expect(memory.allocate(3 * MIB).byteSize).toBe(3 * MIB)
  })

  test('numbers that are not sizes are refused', () => {
    using memory = SharedMemory.open()
    for (const size of [-1, 1.5, NaN, 2 ** 53, '5', null, {}])
      expect(() => memory.allocate(size as number)).toThrow(/^byteSize must be/)
    for (const alignment of [0, 3, 2 ** 31, 'x'])
      expect(() => memory.allocate(1, alignment as number)).toThrow(/^byteAlignment must be/)
    expect(memory.allocate(0).byteSize).toBe(0)
    expect(memory.allocate(8, 2 ** 21).address % 2n ** 21n).toBe(0n)
  })

  test.runIf(hasOwnBuffers)('free ranges of 1 MiB and more give their pages back, without their chunk', async () => {
    using memory = SharedMemory.open({ chunk: '256 MiB' })
    const before = residentBytes('RssShmem')
    const kept = memory.allocate(64)
    ;(() => {
      for (let i = 0; i < 4; i++) new Uint8Array(memory.allocate(16 * MIB).view().buffer).fill(1)
    })()
    expect(residentBytes('RssShmem') - before).toBeGreaterThan(60 * MIB)
    expect(await collectUntil(() => memory.usage.usedBytes === 64)).toBe(true)
    expect(residentBytes('RssShmem') - before).toBeLessThan(6 * MIB)
    expect(memory.usage.chunks).toBe(1)
    expect(kept.byteSize).toBe(64)
  })

  test('a few MiB that are taken and given back in turn keep their pages', () => {
    using memory = SharedMemory.open({ chunk: '256 MiB' })
    const before = residentBytes('RssShmem')
    for (let round = 0; round < 3; round++) {
      const ranges = [memory.take(2 * MIB), memory.take(2 * MIB)]
      for (const range of ranges) range.copyIn(new Uint8Array(2 * MIB).fill(1))
      for (const range of ranges) memory.give(range)
      expect(residentBytes('RssShmem') - before).toBeGreaterThan(3 * MIB)
    }
    expect(residentBytes('RssShmem') - before).toBeLessThan(6 * MIB)
  })

  test('explicitly taken memory is given back at once', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const range = memory.take(1000)
    range.copyIn(Uint8Array.of(1, 2, 3))
    expect([range.chunk.isAlive, range.offset, range.byteSize]).toEqual([true, 0, 1000])
    memory.give(range)
    expect(memory.usage.usedBytes).toBe(0)
    expect(new Uint8Array(memory.allocate(1000).view().buffer).every((byte) => byte === 0)).toBe(true)
  })

  test('with guard, each allocation ends at the end of a page of its own', () => {
    using memory = SharedMemory.open({ guard: true, chunk: '1 MiB' })
    using arena = memory.arena()
    const pages = new Set<number>()
    for (const allocator of [memory, arena]) {
      for (const size of [1, 64, 100, 4096, 5000]) {
        const address = Number(allocator.allocate(size).address)
        const end = address + Math.ceil(size / 64) * 64
        expect([address % 64, end % pageSize()]).toEqual([0, 0])
        for (let page = Math.floor(address / pageSize()); page * pageSize() < end; page++) {
          expect(pages.has(page)).toBe(false)
          pages.add(page)
        }
      }
    }
  })
})

describe.runIf(process.platform === 'linux')('newTensor()', () => {
  const type = tensorType('f32', [100])

  test('makes tensors of zeros, of which small ones share a range until it is full', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const tensors = Array.from({ length: 100 }, () => memory.newTensor(type))
    tensors.forEach((x, i) => x.set(new Float32Array(100).fill(i + 1)))
    expect(tensors.every((x, i) => x.type === type && x.toArray().every((value) => value === i + 1))).toBe(true)
    expect(tensors.every(({ address }) => address % 64 === 0)).toBe(true)
    // A range has room for 36 tensors.
    expect(memory.usage.usedBytes).toBe(3 * 16_384)
    expect(
      memory
        .newTensor(type)
        .toArray()
        .every((value) => value === 0),
    ).toBe(true)
    expect([0, 1, 512, 513].map((length) => memory.newTensor(tensorType('f32', [length])).shape)).toEqual([
      [0],
      [1],
      [512],
      [513],
    ])
    // The last one is too large.
    expect(memory.usage.usedBytes).toBe(3 * 16_384 + 2112)
  })

  test('memory that was used before is zeroed', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const range = memory.take(16_384)
    range.copyIn(new Uint8Array(16_384).fill(7))
    memory.give(range)
    for (let i = 0; i < 36; i++)
      expect(
        memory
          .newTensor(type)
          .toArray()
          .every((value) => value === 0),
      ).toBe(true)
    expect(memory.usage.usedBytes).toBe(16_384)
  })

  test('a full range is free when all of its tensors were collected', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    let tensors: unknown[] = Array.from({ length: 37 }, () => memory.newTensor(type))
    const survivor = tensors[35]
    tensors = tensors.slice(36)
    expect(await collectUntil(() => memory.usage.usedBytes < 2 * 16_384)).toBe(false)
    expect((survivor as Tensor).toArray()).toHaveLength(100)
  })

  test('a full range is given back after its last tensor and its last raw view', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    let view: unknown = (() => {
      const tensors = Array.from({ length: 37 }, () => memory.newTensor(type))
      return tensors[3]!.as('f32').view().fill(5)
    })()
    expect(await collectUntil(() => memory.usage.usedBytes < 2 * 16_384)).toBe(!hasOwnBuffers)
    expect((view as Float32Array)[99]).toBe(5)
    view = undefined
    expect(await collectUntil(() => memory.usage.usedBytes < 2 * 16_384)).toBe(hasOwnBuffers)
  })

  test('raw views of tensors that share a range have their own bytes, and end when the memory is closed', () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    const tensors = Array.from({ length: 5 }, () => memory.newTensor(type))
    const views = tensors.map((x, i) => x.as('f32').view().fill(i))
    expect(views.map(({ buffer, byteLength }) => [buffer.byteLength, byteLength])).toEqual(views.map(() => [400, 400]))
    expect(tensors.map((x) => x.at(99))).toEqual([0, 1, 2, 3, 4])
    const moved = new Float32Array((views[4]!.buffer as ArrayBuffer).transfer())
    memory.close()
    expect(views.map(({ length }) => length)).toEqual([0, 0, 0, 0, 0])
    expect(moved[0]).toBe(0)
    expect(() => tensors[0]!.toArray()).toThrow(ScopeClosedError)
    expect(() => memory.newTensor(type)).toThrow(/^the shared memory is closed already/)
  })

  test('with guard, each tensor ends at the end of a page of its own', () => {
    using memory = SharedMemory.open({ guard: true, chunk: '1 MiB' })
    const ends = Array.from({ length: 5 }, () => memory.newTensor(type).address + 448)
    expect(ends.map((end) => end % pageSize())).toEqual([0, 0, 0, 0, 0])
    expect(new Set(ends).size).toBe(5)
  })
})

describe.runIf(process.platform === 'linux')('arena()', () => {
  test('frees all its memory when it is closed, and ends its tensors and raw views', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const arena = memory.arena({ byteSize: '4 KiB' })
    const tensors = Array.from({ length: 50 }, () => tensor('f32', [100], undefined, { allocator: arena }))
    tensors.forEach((x, i) => x.set(new Float32Array(100).fill(i)))
    expect(tensors.every((x, i) => x.toArray().every((value) => value === i))).toBe(true)
    const view = tensors[3]!.view()
    expect(sharedChunkOf(tensors[0]!)!.byteSize).toBe(MIB)
    expect(String(arena)).toMatch(/^MemoryArena \(\d+ bytes\)$/)
    arena.close()
    expect(memory.usage.usedBytes).toBe(0)
    expect(view.length).toBe(0)
    expect(() => tensors[0]!.toArray()).toThrow(/^the arena of shared memory is closed already/)
    expect(() => arena.allocate(1)).toThrow(ScopeClosedError)
    expect(String(arena)).toBe('MemoryArena (closed)')
  })

  test('holds its memory open, until it is closed or collected', async () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    ;(() => void memory.arena().allocate(100))()
    expect(() => memory.close()).toThrow(ScopeHeldError)
    expect(await collectUntil(() => memory.usage.usedBytes === 0)).toBe(true)
    memory.close()
  })

  test('is collected although an arena before it, which was closed, is still referred to', async () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    const arenas = Array.from({ length: 100 }, () => memory.arena())
    for (const arena of arenas) {
      arena.allocate(100)
      arena.close()
    }
    ;(() => {
      for (let i = 0; i < 100; i++) memory.arena().allocate(100)
    })()
    expect(memory.usage.usedBytes).toBeGreaterThan(0)
    expect(await collectUntil(() => memory.usage.usedBytes === 0)).toBe(true)
    expect(arenas.every((arena) => !arena.isAlive)).toBe(true)
    memory.close()
  })

  test('the address of each allocation has its alignment, wherever the block of the arena starts', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    for (let round = 0; round < 5; round++) {
      // Moves the next block by 64 bytes.
      memory.allocate(64)
      using arena = memory.arena({ byteSize: '64 KiB' })
      for (const alignment of [64, 128, 256, 1024, 4096]) {
        expect(Number(arena.allocate(8, alignment).address) % alignment).toBe(0)
      }
    }
  })

  test('memory of a closed arena is zeroed before it is used again, and large allocations get their own block', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    for (let round = 0; round < 3; round++) {
      using arena = memory.arena()
      for (const size of [10, 70_000, 100, 2 * MIB, 0, 64]) {
        const bytes = new Uint8Array(arena.allocate(size, 128).view().buffer)
        expect(bytes.every((byte) => byte === 0)).toBe(true)
        bytes.fill(7)
      }
    }
    expect(memory.usage.usedBytes).toBe(0)
    expect(() => memory.arena({ byteSize: 0 })).toThrow(/^byteSize must be at least 1, got 0/)
    expect(() => memory.arena({ byteSize: 'much' })).toThrow(ArgumentError)
  })
})
