import { gcAllocator, ScopeClosedError, tensor } from '@tenon/core'
import { expect, test } from 'vitest'
import { MemorySegment, NativeScope } from '../src/index.ts'

/** Segments over memory that shares a buffer with other memory. */
const segments = (): MemorySegment[] => {
  for (let i = 0; i < 200; i++) gcAllocator.allocate(1)
  return Array.from({ length: 4 }, () => MemorySegment.ofSegment(gcAllocator.allocate(64, 64)))
}

const isAlone = (buffer: ArrayBufferLike): boolean => buffer.byteLength < 128

test('a raw view of any class has only the bytes of its segment', () => {
  const [before, segment, after] = segments() as [MemorySegment, MemorySegment, MemorySegment]
  before.fill(1)
  after.fill(2)
  segment.setInt32(4, 5)
  const buffers = [segment.unsafeView(Float64Array), segment.unsafeView(DataView), segment.view()].map((x) => x.buffer)
  expect(buffers.every(isAlone)).toBe(true)
  expect(segment.unsafeView(Int32Array)[1]).toBe(5)
  segment.withView((view) => view.setInt32(0, 7, true))
  expect([segment.getInt32(0), segment.asSlice(4).unsafeView(Int32Array)[0]]).toEqual([7, 5])
  expect([before.getUint8(63), after.getUint8(0)]).toEqual([1, 2])
})

test('a segment with another lifetime has only the bytes of its memory', () => {
  const [before, segment] = segments() as [MemorySegment, MemorySegment]
  before.fill(1)
  const scope = NativeScope.ofConfined()
  const other = segment.reinterpret(32, scope)
  const { buffer } = other.view()
  expect(isAlone(buffer)).toBe(true)
  scope.close()
  expect(() => other.getInt8(0)).toThrow(ScopeClosedError)
  expect(before.getUint8(63)).toBe(1)
})

test('atomic access finds its bytes before and after a raw view was handed out', () => {
  const [, segment] = segments() as [MemorySegment, MemorySegment]
  segment.atomicStore('int32', 8, 1)
  const view = segment.view()
  segment.atomicUpdate('int32', 8, 'add', 2)
  expect([segment.atomicLoad('int32', 8), view.getInt32(8, true), segment.getInt32(8)]).toEqual([3, 3, 3])
})

test('values read and written before and after a raw view are the same', () => {
  const [, segment] = segments() as [MemorySegment, MemorySegment]
  const x = tensor('s32', [16], segment)
  segment.setInt32(60, 9)
  const view = segment.unsafeView(Int32Array)
  expect([view[15], x.toArray()[15]]).toEqual([9, 9])
  view[0] = 3
  segment.setInt32(4, 4)
  expect(x.toArray().slice(0, 2)).toEqual([3, 4])
  ;(view.buffer as ArrayBuffer).transfer()
  expect(() => segment.getInt32(0)).toThrow(/detached/)
  expect(() => x.toArray()).toThrow(ScopeClosedError)
})
