import { ScopeClosedError, tensor } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { scalars } from '../src/generated/scalars.ts'

const { address, int32, struct } = MemoryLayout
const pair = struct({ a: int32, b: int32 })

/** Segments whose raw view was handed out and transferred. */
const transferred: Readonly<Record<string, () => MemorySegment>> = {
  'of a scope': () => moved(NativeScope.ofConfined().allocate(64, 8)),
  'of its own': () => moved(MemorySegment.allocateNative(64, 8, ResourceScope.ofConfined())),
  'over a buffer': () => moved(MemorySegment.ofBuffer(new ArrayBuffer(64))),
}

function moved(segment: MemorySegment): MemorySegment {
  const { buffer } = segment.view()
  ;(buffer as ArrayBuffer).transfer()
  return segment
}

describe.each(Object.entries(transferred))('a segment %s, after its buffer was transferred', (_, make) => {
  test.each(Object.entries(scalars))(
    'throws ScopeClosedError for %s, with either order and alignment',
    (kind, scalar) => {
      const segment = make()
      const value = (kind === 'bool' ? true : kind.endsWith('64') && kind !== 'float64' ? 1n : 1) as never
      for (const isLittle of [true, false]) {
        expect(() => scalar.read(segment, 8, isLittle)).toThrow(ScopeClosedError)
        expect(() => scalar.readUnaligned(segment, 8, isLittle)).toThrow(ScopeClosedError)
        expect(() => scalar.write(segment, 8, value, isLittle)).toThrow(ScopeClosedError)
        expect(() => scalar.writeUnaligned(segment, 8, value, isLittle)).toThrow(ScopeClosedError)
      }
    },
  )

  test('throws ScopeClosedError with a hint for every other access', () => {
    const segment = make()
    const accesses: readonly (() => unknown)[] = [
      () => segment.get(address, 0),
      () => segment.getAtIndex(int32, 1),
      () => segment.getInt64AsNumber(0),
      () => MemoryLayout.accessor(pair).at(segment).a,
      () => segment.toArray(int32),
      () => segment.getString(0),
      () => segment.asSlice(8).getInt8(0),
      () => segment.asReadOnly().getInt8(0),
      () => segment.reinterpret(8).getInt8(0),
      () => segment.reinterpret(128),
      () => segment.fill(1),
      () => segment.copyFrom(MemorySegment.allocateNative(8)),
      () => segment.atomicLoad('int32', 0),
      () => segment.view(),
    ]
    for (const access of accesses) {
      expect(access).toThrow(ScopeClosedError)
      expect(access).toThrow(/Never transfer the buffer of a raw view/)
    }
  })
})

test('an error of the engine for an access to open memory is thrown as it is', () => {
  const segment = NativeScope.ofConfined().allocate(8, 8)
  expect(() => segment.getInt32(0, { [Symbol.toPrimitive]: () => 1 } as never)).not.toThrow()
  const proxy = new Proxy(segment, {
    get: (target, key) => (key === 'base' ? 2 ** 40 : Reflect.get(target, key)) as unknown,
  })
  expect(() => proxy.getInt8(0)).toThrow(RangeError)
})

test('a tensor over transferred memory throws ScopeClosedError', () => {
  const x = tensor('float32', [2], MemorySegment.allocateNative(8, 8, ResourceScope.ofConfined()))
  moved(x.segment as MemorySegment)
  for (const use of [() => x.at(0), () => x.toArray(), () => x.view(), () => x.copy()])
    expect(use).toThrow(ScopeClosedError)
})
