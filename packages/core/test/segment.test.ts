import { eventually } from '@tenon/config/eventually'
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  BoundsError,
  gcAllocator,
  processAllocator,
  ScopeClosedError,
  Segment,
  AllocationError,
} from '@tenon/core'
import { Block, Gate, READ_ONLY, addressOf, type ManagedLifetime } from '@tenon/core/internal'

function readOnlyTwin(segment: Segment): Segment {
  return new Segment(segment.block, segment.base, segment.byteSize, segment.flags | READ_ONLY)
}

describe.each([
  ['gcAllocator', gcAllocator],
  ['processAllocator', processAllocator],
])('%s', (_, allocator) => {
  test.each([
    [0, 1],
    [1, 16],
    [100, 64],
    [4096, 4096],
    [3, 2 ** 16],
  ])('%i bytes aligned to %i are zero and where they should be', (size, alignment) => {
    const segment = allocator.allocate(size, alignment)
    expect(segment.byteSize).toBe(size)
    expect(segment.address % BigInt(alignment)).toBe(0n)
    expect(segment.address).toBeGreaterThan(0n)
    expect(new Uint8Array(segment.view().buffer, segment.view().byteOffset, size).every((byte) => byte === 0)).toBe(
      true,
    )
  })

  test('segments never overlap, not even empty ones', () => {
    const addresses = Array.from({ length: 100 }, () => allocator.allocate(0).address)
    expect(new Set(addresses).size).toBe(100)
  })

  test.each([-1, 0.5, NaN, 2 ** 53, null, undefined, '8'])('refuses the size %s', (size) => {
    expect(() => allocator.allocate(size as never)).toThrow(ArgumentError)
  })

  test.each([0, -16, 3, 2 ** 31, 2 ** 32, NaN, null])('refuses the alignment %s', (alignment) => {
    expect(() => allocator.allocate(8, alignment as never)).toThrow(ArgumentError)
  })

  test('says so when there is no memory, and goes on', () => {
    expect(() => allocator.allocate(2 ** 52)).toThrow(AllocationError)
    expect(() => allocator.allocate(2 ** 52)).toThrow(RangeError)
    expect(allocator.allocate(8).byteSize).toBe(8)
  })
})

test('memory of the garbage collector is freed', async () => {
  const before = process.memoryUsage.rss()
  for (let i = 0; i < 2000; i++)
    gcAllocator
      .allocate(2 ** 20)
      .view()
      .setInt8(0, 1)
  // One collection may leave blocks whose pages the system takes back later.
  await eventually(() => {
    globalThis.gc?.()
    expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 2 ** 20)
  })
})

describe('asSlice', () => {
  const segment = gcAllocator.allocate(64, 16)

  test('is the same memory', () => {
    const slice = segment.asSlice(16, 8)
    slice.view().setUint32(4, 0xdeadbeef, true)
    expect(segment.view().getUint32(20, true)).toBe(0xdeadbeef)
    expect(slice.address - segment.address).toBe(16n)
    expect(slice.byteSize).toBe(8)
    expect(slice.lifetime).toBe(segment.lifetime)
  })

  test('takes the rest without a size, and nothing at the end', () => {
    expect(segment.asSlice(60).byteSize).toBe(4)
    expect(segment.asSlice(64).byteSize).toBe(0)
    expect(segment.asSlice(64, 0).byteSize).toBe(0)
  })

  test.each([
    [65, undefined],
    [0, 65],
    [32, 33],
    [2 ** 32 + 6, 1],
    [1, 2 ** 53 - 1],
  ])('refuses byteOffset %s and byteSize %s as out of bounds', (offset, size) => {
    expect(() => segment.asSlice(offset, size)).toThrow(BoundsError)
    expect(() => segment.asSlice(offset, size)).toThrow(RangeError)
  })

  test.each([
    [-1, 1],
    [-(2 ** 32) + 6, 1],
    [0.5, 1],
    [NaN, 1],
    [0, -1],
    [null, 1],
    ['0', 1],
  ])('refuses byteOffset %s and byteSize %s as arguments', (offset, size) => {
    expect(() => segment.asSlice(offset as never, size as never)).toThrow(ArgumentError)
  })

  test('keeps the read-only flag', () => {
    expect(readOnlyTwin(segment).asSlice(8, 8).readOnly).toBe(true)
    expect(segment.asSlice(8, 8).readOnly).toBe(false)
  })
})

describe('view', () => {
  test('has exactly the bytes of the segment, and marks the block', () => {
    const segment = gcAllocator.allocate(64, 64).asSlice(8, 16)
    expect(segment.block.exposed).toBe(false)
    const view = segment.view()
    expect(view.byteLength).toBe(16)
    expect(addressOf(view)).toBe(Number(segment.address))
    expect(segment.block.exposed).toBe(true)
  })

  test('of read-only memory is a copy', () => {
    const segment = gcAllocator.allocate(8)
    segment.view().setInt8(0, 1)
    const view = readOnlyTwin(segment).view()
    expect(view.getInt8(0)).toBe(1)
    view.setInt8(0, 2)
    expect(segment.view().getInt8(0)).toBe(1)
  })

  test('of memory that was detached through its buffer is refused', () => {
    const segment = gcAllocator.allocate(8)
    ;(segment.view().buffer as ArrayBuffer).transfer()
    expect(() => segment.view()).toThrow(ScopeClosedError)
    expect(() => readOnlyTwin(segment).view()).toThrow(/detached through its buffer/)
  })

  test('of a dead segment is refused; its size, address and slices are not', () => {
    let alive = true
    const owner = {
      get isAlive() {
        return alive
      },
      checkAlive() {
        if (!alive) throw new ScopeClosedError('the owner is closed')
      },
    } as ManagedLifetime
    const gate = new Gate(owner)
    const buffer = new ArrayBuffer(32)
    const segment = new Segment(new Block(gate, new DataView(buffer), Buffer.from(buffer), addressOf(buffer)), 8, 16, 0)
    segment.view()
    alive = false
    gate.alive = false
    expect(() => segment.view()).toThrow(ScopeClosedError)
    expect(() => readOnlyTwin(segment).view()).toThrow(ScopeClosedError)
    expect(segment.asSlice(4).byteSize).toBe(12)
    expect(segment.address).toBe(BigInt(addressOf(buffer)) + 8n)
    expect(segment.lifetime).toBe(owner)
  })
})
