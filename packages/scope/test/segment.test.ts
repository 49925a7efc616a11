import {
  AlignmentError,
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  gcAllocator,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  Segment,
} from '@tenon/core'
import { DEVICE_MEMORY } from '@tenon/core/internal'
import { inspect } from 'node:util'
import { threadId } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { isInstrumented } from '../src/diagnostics/debug.ts'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope } from '../src/index.ts'

function dead(byteSize = 16): MemorySegment {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(byteSize)
  scope.close()
  return segment
}

test('the address, size and slices of a segment are available after close', () => {
  const segment = dead()
  expect(segment.byteSize).toBe(16)
  expect(segment.address).toBeGreaterThan(0n)
  expect(segment.asSlice(4, 8).byteSize).toBe(8)
  expect(segment.asReadOnly().readOnly).toBe(true)
  expect(segment.equals(segment.asSlice(0, 4))).toBe(true)
  expect(segment.isAccessibleBy(threadId)).toBe(true)
  expect(segment.asOverlappingSlice(segment).byteSize).toBe(16)
  expect(String(segment)).toMatch(/16 bytes at 0x/)
  expect(inspect({ segment })).toContain(String(segment))
  expect(() => segment.reinterpret(8)).toThrow(ScopeClosedError)
})

describe('slices', () => {
  const segment = MemorySegment.allocateNative(64, 64)

  test('lie inside the segment, and may be empty at its end', () => {
    expect(segment.asSlice(64).byteSize).toBe(0)
    expect(segment.asSlice(64, 0).byteSize).toBe(0)
    expect(segment.asSlice(10).byteSize).toBe(54)
    expect(segment.asSlice(16, 16).address).toBe(segment.address + 16n)
    for (const [offset, size] of [[65], [0, 65], [1, 64], [2 ** 53 - 1], [8, 2 ** 53 - 1]] as [number, number?][]) {
      expect(() => segment.asSlice(offset, size)).toThrow(BoundsError)
    }
    for (const offset of [-1, 0.5, Number.NaN, null, '0', {}, 2 ** 53, -1n]) {
      expect(() => segment.asSlice(offset as number)).toThrow(ArgumentError)
      expect(() => segment.asSlice(0, offset as number)).toThrow(ArgumentError)
    }
  })

  test('with an alignment are refused if the address is not aligned', () => {
    expect(segment.asSlice(16, 8, 16).byteSize).toBe(8)
    expect(() => segment.asSlice(8, 8, 16)).toThrow(AlignmentError)
    expect(() => segment.asSlice(8, 8, 3)).toThrow(ArgumentError)
  })

  test('keep the rights and the scope', () => {
    const slice = segment.asReadOnly().asSlice(4).asSlice(4)
    expect(slice.readOnly).toBe(true)
    expect(slice.scope).toBe(segment.scope)
    expect(() => slice.setInt32(0, 1)).toThrow(ReadOnlyError)
  })

  test('see the same bytes at every offset', () => {
    for (let i = 0; i < 64; i++) segment.setUint8(i, i)
    for (let i = 0; i < 64; i++) expect(segment.asSlice(i).getUint8(0)).toBe(i)
  })

  test('report the offset, the size and the address', () => {
    expect(() => segment.getInt32(64)).toThrow(/4 bytes at offset 64 .* 64 bytes at 0x/)
  })
})

describe('reinterpret()', () => {
  // Behind an instrumented allocation is no memory of the arena.
  if (!isInstrumented)
    test('beyond the end of a segment leaves no bytes for the next arena', () => {
      const scope = NativeScope.ofConfined()
      scope.allocate(8).reinterpret(512).fill(0xff)
      scope.allocate(2048)
      scope.allocate(8).reinterpret(1024).fill(0xff)
      scope.close()
      for (let i = 0; i < 3; i++) {
        using next = NativeScope.ofConfined()
        for (const size of [512, 4096]) {
          const bytes = next.allocate(size).toArray(MemoryLayout.uint8)
          expect(bytes.every((byte) => byte === 0)).toBe(true)
        }
      }
    })

  test('changes the size at an address', () => {
    const segment = MemorySegment.allocateNative(16, 16).asReadOnly()
    const small = segment.reinterpret(4)
    expect([small.byteSize, small.address, small.readOnly]).toEqual([4, segment.address, true])
    const pointer = MemorySegment.ofAddress(segment.address)
    const back = pointer.reinterpret(16)
    MemorySegment.ofSegment(segment)
    expect([back.byteSize, back.getInt32(0)]).toEqual([16, 0])
    expect(back.scope).toBe(ResourceScope.global)
    for (const size of [-1, 0.5, Number.NaN, null, 2 ** 53]) {
      expect(() => pointer.reinterpret(size as number)).toThrow(ArgumentError)
    }
    expect(() => pointer.reinterpret(2 ** 52)).toThrow(ArgumentRangeError)
    expect(segment.byteSize).toBe(16)
  })

  test('does not grow the memory of a buffer', () => {
    const segment = MemorySegment.ofBuffer(new Uint8Array(16))
    expect(segment.reinterpret(8).byteSize).toBe(8)
    expect(() => segment.reinterpret(17)).toThrow(ArgumentRangeError)
  })

  test('runs the cleanup once at close, with a segment of its own', () => {
    const memory = MemorySegment.allocateNative(16, 16)
    memory.setInt32(0, 42)
    const scope = ResourceScope.ofConfined()
    const seen: [bigint, number, unknown, number][] = []
    const segment = MemorySegment.ofAddress(memory.address).reinterpret(16, scope, (given) => {
      seen.push([given.address, given.byteSize, given.scope, given.getInt32(0)])
    })
    expect(segment.getInt32(0)).toBe(42)
    expect(segment.scope).toBe(scope)
    scope.close()
    expect(seen).toEqual([[memory.address, 16, ResourceScope.global, 42]])
    expect(() => segment.getInt32(0)).toThrow(ScopeClosedError)
    expect(memory.getInt32(0)).toBe(42)
  })

  test('throws for a closed scope, and does not run the cleanup', () => {
    const scope = ResourceScope.ofConfined()
    scope.close()
    let ran = false
    expect(() => MemorySegment.ofAddress(16).reinterpret(1, scope, () => (ran = true))).toThrow(ScopeClosedError)
    expect(() => dead().reinterpret(1, ResourceScope.ofImplicit())).toThrow(ScopeClosedError)
    expect(ran).toBe(false)
  })

  test('refuses values that are not a scope or a function', () => {
    const segment = MemorySegment.allocateNative(8)
    expect(() => segment.reinterpret(8, {} as never)).toThrow(ArgumentError)
    expect(() => segment.reinterpret(8, ResourceScope.global, 1 as never)).toThrow(ArgumentError)
    expect(() => segment.reinterpret(8, undefined, () => {})).toThrow(ArgumentError)
  })

  test('keeps a chunk that another scope borrowed out of the pool', () => {
    const owner = NativeScope.ofConfined()
    const borrower = ResourceScope.ofConfined()
    const view = owner.allocate(8).reinterpret(8, borrower).view()
    owner.close()
    expect(() => view.getInt32(0)).toThrow(TypeError)
    borrower.close()
  })

  test('keeps an implicit scope alive, whose cleanup waits', () => {
    const memory = MemorySegment.allocateNative(8, 8, ResourceScope.global)
    const scope = ResourceScope.ofImplicit()
    const segment = MemorySegment.ofAddress(memory.address).reinterpret(8, scope, () => {})
    expect(segment.scope).toBe(scope)
    expect(segment.getInt32(0)).toBe(0)
  })

  test('ends the borrowed segment when the borrowing scope closes', () => {
    const owner = NativeScope.ofConfined()
    const borrower = ResourceScope.ofConfined()
    const segment = owner.allocate(8)
    const lent = segment.reinterpret(8, borrower)
    borrower.close()
    expect(() => lent.getInt32(0)).toThrow(ScopeClosedError)
    expect(segment.getInt32(0)).toBe(0)
    owner.close()
  })
})

describe('pointers', () => {
  test('have the size 0 until reinterpret() sets another', () => {
    const pointer = MemorySegment.ofAddress(0x1000n)
    expect([pointer.byteSize, pointer.address, pointer.scope]).toEqual([0, 0x1000n, ResourceScope.global])
    expect(() => pointer.setUint8(0, 1)).toThrow(BoundsError)
    expect(() => pointer.getString(0)).toThrow(BoundsError)
  })

  test('the null pointer never has memory', () => {
    expect(MemorySegment.NULL.address).toBe(0n)
    expect(() => MemorySegment.NULL.reinterpret(8)).toThrow(ArgumentRangeError)
    expect(() => MemorySegment.NULL.getUint8(0)).toThrow(BoundsError)
  })

  test('addresses are checked', () => {
    for (const address of [-1, -1n, 0.5, Number.NaN, 2 ** 53, 2n ** 64n, null, undefined, '1', {}]) {
      expect(() => MemorySegment.ofAddress(address as number), String(address)).toThrow(ArgumentError)
    }
  })

  test('are read with the size of their target, whose alignment is checked', () => {
    const scope = NativeScope.ofConfined()
    const target = scope.allocate(16, 16)
    target.setInt32(0, 42)
    const place = scope.allocate(8, 8)
    const plain = MemoryLayout.address
    place.set(plain, 0, target)
    expect(place.get(plain, 0).byteSize).toBe(0)
    const typed = plain.withTargetLayout(MemoryLayout.struct({ a: MemoryLayout.int32, b: MemoryLayout.int64 }))
    expect(place.get(typed, 0).byteSize).toBe(16)
    expect(place.getAtIndex(typed, 0).getInt32(0)).toBe(42)
    place.set(plain, 0, target.asSlice(1))
    expect(() => place.get(typed, 0)).toThrow(AlignmentError)
    place.set(plain, 0, MemorySegment.NULL)
    expect(place.get(typed, 0).address).toBe(0n)
    scope.close()
  })

  test('the address of a JavaScript buffer cannot be stored', () => {
    const place = MemorySegment.allocateNative(8, 8)
    expect(() => place.set(MemoryLayout.address, 0, MemorySegment.ofBuffer(new Uint8Array(8)))).toThrow(ArgumentError)
    expect(() => place.set(MemoryLayout.address, 0, dead())).toThrow(ScopeClosedError)
    expect(() => place.set(MemoryLayout.address, 0, 16n as never)).toThrow(ArgumentError)
    expect(place.getUint64(0)).toBe(0n)
  })
})

describe('equality', () => {
  test('compares the addresses', () => {
    const segment = MemorySegment.allocateNative(16, 16)
    expect(segment.equals(segment.asReadOnly())).toBe(true)
    expect(segment.equals(segment.asSlice(0, 4))).toBe(true)
    expect(segment.equals(MemorySegment.ofAddress(segment.address))).toBe(true)
    expect(MemorySegment.NULL.equals(MemorySegment.ofAddress(0))).toBe(true)
    expect(segment.equals(segment.asSlice(1))).toBe(false)
    expect(segment.equals(MemorySegment.allocateNative(16, 16))).toBe(false)
    for (const other of [null, undefined, 1, {}, segment.address]) expect(segment.equals(other)).toBe(false)
  })

  test('segments of one owner have the same scope', () => {
    const scope = NativeScope.ofConfined()
    const [a, b] = [scope.allocate(8), MemorySegment.allocateNative(8, 8, scope)]
    expect(a.scope).toBe(scope)
    expect(b.asSlice(1).asReadOnly().scope).toBe(scope)
    const buffer = new ArrayBuffer(16)
    expect(MemorySegment.ofBuffer(buffer).scope).toBe(MemorySegment.ofBuffer(new Uint8Array(buffer, 4)).scope)
    expect(MemorySegment.ofBuffer(buffer).scope).not.toBe(MemorySegment.ofBuffer(new ArrayBuffer(16)).scope)
    expect(MemorySegment.allocateNative(8).scope).not.toBe(MemorySegment.allocateNative(8).scope)
    expect(MemorySegment.ofAddress(1).scope).toBe(ResourceScope.global)
    scope.close()
  })

  test('confined memory belongs to its thread, shared memory to all', () => {
    const [confined, shared] = [NativeScope.ofConfined(), NativeScope.ofShared()]
    const [a, b] = [confined.allocate(8), shared.allocate(8)]
    confined.close()
    shared.close()
    expect([a.isAccessibleBy(threadId), a.isAccessibleBy(threadId + 1)]).toEqual([true, false])
    expect([b.isAccessibleBy(threadId), b.isAccessibleBy(threadId + 1)]).toEqual([true, true])
    for (const thread of [Number.NaN, undefined, null, '0', 0.5])
      expect(() => b.isAccessibleBy(thread as never)).toThrow(ArgumentError)
  })
})

describe('segments over buffers', () => {
  test('share their memory', () => {
    const array = new Uint32Array([1, 2, 3])
    const segment = MemorySegment.ofBuffer(array.subarray(1))
    expect([segment.byteSize, segment.getUint32(0), segment.isHeap, segment.readOnly]).toEqual([8, 2, true, false])
    segment.setUint32(4, 7)
    expect(array[2]).toBe(7)
    expect(MemorySegment.ofBuffer(Buffer.from('abc')).byteSize).toBe(3)
    expect(MemorySegment.ofBuffer(new SharedArrayBuffer(4)).setInt32(0, 1)).toBeUndefined()
    expect(MemorySegment.ofBuffer(new ArrayBuffer(0)).byteSize).toBe(0)
  })

  test('have the alignment of their address', () => {
    const bytes = new Uint8Array(16)
    const segment = MemorySegment.ofBuffer(bytes)
    expect(segment.address % 8n).toBe(0n)
    expect(segment.getInt64(0)).toBe(0n)
    expect(() => segment.getInt64(4)).toThrow(AlignmentError)
  })

  test('are refused for buffers that are detached or resizable', () => {
    const detached = new ArrayBuffer(8)
    detached.transfer(0)
    const resizable = new ArrayBuffer(8, { maxByteLength: 16 })
    const growable = new SharedArrayBuffer(8, { maxByteLength: 16 })
    for (const source of [
      detached,
      resizable,
      new Uint8Array(resizable),
      growable,
      null,
      undefined,
      8,
      'abc',
      [],
      {},
    ]) {
      expect(() => MemorySegment.ofBuffer(source as never), String(source)).toThrow(ArgumentError)
    }
  })

  test('throw ScopeClosedError after the buffer is detached', () => {
    const buffer = new ArrayBuffer(8)
    const segment = MemorySegment.ofBuffer(buffer)
    buffer.transfer()
    expect(() => segment.fill(1)).toThrow(ScopeClosedError)
    expect(() => segment.copyFrom(MemorySegment.allocateNative(4))).toThrow(ScopeClosedError)
    expect(() => segment.getString(0)).toThrow(ScopeClosedError)
    expect(() => segment.atomicLoad('int32', 0)).toThrow(ScopeClosedError)
    expect(() => segment.getInt32(0)).toThrow(ScopeClosedError)
  })

  test('ofSegment() adds typed access to a segment of another allocator', () => {
    const segment = MemorySegment.ofSegment(gcAllocator.allocate(16, 16))
    segment.setFloat64(8, 1.5)
    expect(segment.getFloat64(8)).toBe(1.5)
  })

  test('device memory is refused', () => {
    const { block } = gcAllocator.allocate(16, 16)
    const segment = new Segment(block, 0, 16, DEVICE_MEMORY)
    expect(() => MemorySegment.ofSegment(segment)).toThrow(/got device memory/)
    expect(() => NativeAllocator.allocate(() => segment, MemoryLayout.float64)).toThrow(/got device memory/)
  })
})

describe('raw views', () => {
  test('share the memory, and throw after close', () => {
    const scope = NativeScope.ofConfined()
    const segment = scope.allocate(16, 8)
    const view = segment.asSlice(4, 8).view()
    expect([view.byteLength, segment.withView((v) => v.byteLength)]).toEqual([8, 16])
    view.setInt32(0, 42, true)
    expect(segment.getInt32(4)).toBe(42)
    scope.close()
    expect(() => view.getInt32(0)).toThrow(TypeError)
    expect(() => segment.view()).toThrow(ScopeClosedError)
    expect(() => segment.withView(() => {})).toThrow(ScopeClosedError)
    expect(() => segment.unsafeView(Int32Array)).toThrow(ScopeClosedError)
  })

  test('of a read-only segment are copies, or refused', () => {
    const scope = NativeScope.ofConfined()
    const segment = scope.allocate(16, 8)
    segment.asReadOnly().view().setInt32(0, 1)
    segment.asReadOnly().withView((view) => view.setInt32(0, 1))
    expect(segment.getInt32(0)).toBe(0)
    expect(() => segment.asReadOnly().unsafeView(Int32Array)).toThrow(ReadOnlyError)
    scope.close()
  })

  test('become segments over the same memory again', () => {
    const segment = MemorySegment.allocateNative(16, 16)
    expect(MemorySegment.ofBuffer(segment.view()).equals(segment)).toBe(true)
  })

  test('require whole, aligned elements', () => {
    const segment = MemorySegment.allocateNative(16, 16)
    expect(segment.unsafeView(Float64Array)).toHaveLength(2)
    expect(segment.unsafeView(DataView).byteLength).toBe(16)
    expect(() => segment.asSlice(1, 4).unsafeView(Int32Array)).toThrow(AlignmentError)
    expect(() => segment.asSlice(0, 6).unsafeView(Int32Array)).toThrow(AlignmentError)
    for (const Class of [null, undefined, 1, {}, Array, ArrayBuffer, () => {}])
      expect(() => segment.unsafeView(Class as never)).toThrow(ArgumentError)
  })

  test('withView() holds the scope open', () => {
    const scope = NativeScope.ofConfined()
    scope.allocate(8).withView(() => expect(() => scope.close()).toThrow(/1 hold/))
    expect(() => scope.allocate(8).withView(1 as never)).toThrow(ArgumentError)
    expect(() => scope.allocate(8).withView(async () => {})).toThrow(/withViewAsync/)
    scope.close()
  })
})

test('a segment over the buffer of a raw view has the scope of the memory', () => {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(32)
  segment.setInt32(8, 5)
  const again = MemorySegment.ofBuffer(segment.asSlice(8, 8).view())
  expect([again.getInt32(0), again.byteSize, again.address]).toEqual([5, 8, segment.address + 8n])
  expect(again.scope).toBe(segment.scope)
  const hold = again.lifetime.acquire()
  expect(() => scope.close()).toThrow(ScopeHeldError)
  hold.release()
  const whole = MemorySegment.ofBuffer(segment.view().buffer)
  expect(whole.lifetime).toBe(segment.lifetime)
  scope.close()
  expect(() => again.getInt32(0)).toThrow(ScopeClosedError)
  expect(() => whole.getInt8(0)).toThrow(ScopeClosedError)
})
