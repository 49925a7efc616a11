import { AlignmentError, ArgumentError, BoundsError, ReadOnlyError, ScopeClosedError, TenonError } from '@tenon/core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope } from '../src/index.ts'

const {
  int8,
  int16,
  int32,
  int64,
  uint8,
  float32,
  float64,
  bool,
  address,
  struct,
  union,
  sequence,
  padding,
  element,
  varHandle,
} = MemoryLayout
const allocate = (layout: Parameters<typeof NativeAllocator.allocate>[1]): MemorySegment =>
  NativeAllocator.allocate((size, alignment) => MemorySegment.allocateNative(size, alignment), layout)

describe('sizes and alignments', () => {
  test('of a struct are those of C', () => {
    const layout = struct({ a: int8, b: int32, c: int8, d: int64, e: int16 })
    expect([layout.byteSize, layout.byteAlignment]).toEqual([32, 8])
    expect(layout.members.map(({ name, byteOffset }) => [name, byteOffset])).toEqual([
      ['a', 0],
      ['b', 4],
      ['c', 8],
      ['d', 16],
      ['e', 24],
    ])
  })

  test('of a packed struct follow from its members', () => {
    const layout = struct({ a: int8, b: int32.withByteAlignment(1), c: int64.withByteAlignment(1) })
    expect([layout.byteSize, layout.byteAlignment]).toEqual([13, 1])
    const segment = allocate(layout)
    for (const [name, values] of [
      ['b', [-(2 ** 31), 2 ** 31 - 1]],
      ['c', [-(2n ** 63n), 2n ** 63n - 1n]],
    ] as const) {
      for (const value of values) {
        varHandle(layout, name).set(segment, 0, value)
        expect(varHandle(layout, name).get(segment, 0)).toBe(value)
      }
    }
  })

  test('of a union are the largest of its members', () => {
    const layout = union({ a: int8, b: sequence(int16, 5), c: int32 })
    expect([layout.byteSize, layout.byteAlignment]).toEqual([12, 4])
    expect(layout.members.every(({ byteOffset }) => byteOffset === 0)).toBe(true)
  })

  test('of empty groups and padding are defined', () => {
    expect([struct({}).byteSize, struct({}).byteAlignment]).toEqual([0, 1])
    expect([union({}).byteSize, union({}).byteAlignment]).toEqual([0, 1])
    expect([padding(3).byteSize, padding(3).byteAlignment]).toEqual([3, 1])
    expect(struct({ a: int8, _: padding(7), b: int8 }).byteSize).toBe(9)
  })

  test('that are invalid are refused', () => {
    for (const alignment of [0, -1, 3, 0.5, null, '4'])
      expect(() => int32.withByteAlignment(alignment as number)).toThrow(ArgumentError)
    for (const count of [-1, 0.5, Number.NaN, null, 2 ** 52])
      expect(() => sequence(int32, count as number)).toThrow(ArgumentError)
    for (const size of [-1, 0, 0.5, null]) expect(() => padding(size as number)).toThrow(ArgumentError)
    expect(() => sequence(int32.withByteAlignment(8), 2)).toThrow(ArgumentError)
    expect(() => sequence(null as never, 2)).toThrow(ArgumentError)
    expect(() => struct({ a: 1 as never })).toThrow(ArgumentError)
    expect(() => struct({ 0: int32 })).toThrow(ArgumentError)
    expect(() => struct(null as never)).toThrow(ArgumentError)
    expect(() => union({ a: {} as never })).toThrow(ArgumentError)
    const huge = padding(2 ** 53 - 1)
    expect(() => struct({ a: huge, b: int32 })).toThrow(ArgumentError)
    expect(() => union({ a: huge, b: int32 })).toThrow(ArgumentError)
    expect(() => int32.withName('')).toThrow(ArgumentError)
    expect(() => int32.withOrder('middle' as never)).toThrow(ArgumentError)
  })
})

describe('paths', () => {
  const point = struct({ id: uint8, x: float64, y: float64 })
  const shape = struct({ kind: int32, points: sequence(point, 4), tail: sequence(int16, 3) })

  test('lead to members and elements by name and index', () => {
    const segment = allocate(shape)
    const x = varHandle<number>(shape, 'points', element(), 'x')
    for (let i = 0; i < 4; i++) x.set(segment, 0, i + 0.5, i)
    expect([0, 1, 2, 3].map((i) => x.get(segment, 0, i))).toEqual([0.5, 1.5, 2.5, 3.5])
    expect(varHandle(shape, 'points', 2, 'x').get(segment, 0)).toBe(2.5)
    expect(varHandle(shape, 1, 2, 1).get(segment, 0)).toBe(2.5)
    expect(MemoryLayout.byteOffset(shape, 'points', 2, 'x')).toBe(8 + 2 * 24 + 8)
    expect(x.byteOffset(3)).toBe(8 + 3 * 24 + 8)
    expect(MemoryLayout.select(shape, 'points', element())).toBe(point)
    expect(() => x.get(segment, 0, 4)).toThrow(BoundsError)
    expect(() => x.get(segment, 0)).toThrow(ArgumentError)
    expect(() => x.get(segment, 0, 1, 2)).toThrow(ArgumentError)
    expect(() => x.get(segment, 24, 3)).toThrow(BoundsError)
    for (const index of [-1, 0.5, Number.NaN, null])
      expect(() => x.get(segment, 0, index as number)).toThrow(ArgumentError)
  })

  test('that do not fit the layout are refused', () => {
    expect(() => varHandle(shape, 'none')).toThrow(ArgumentError)
    expect(() => varHandle(shape, 3)).toThrow(BoundsError)
    expect(() => varHandle(shape, 'points', 4)).toThrow(BoundsError)
    expect(() => varHandle(shape, 'points', -1)).toThrow(ArgumentError)
    expect(() => varHandle(shape, 'points', 'x')).toThrow(ArgumentError)
    expect(() => varHandle(shape, 'kind', 0)).toThrow(ArgumentError)
    expect(() => varHandle(shape, element())).toThrow(ArgumentError)
    expect(() => varHandle(shape, 'points', element(0, 0))).toThrow(ArgumentError)
    expect(() => varHandle(shape, 'points', element(4))).toThrow(BoundsError)
    expect(() => varHandle(shape, 'kind', MemoryLayout.dereference)).toThrow(ArgumentError)
    for (const step of [null, undefined, true]) expect(() => varHandle(shape, step as never)).toThrow(ArgumentError)
    expect(() => varHandle(null as never)).toThrow(ArgumentError)
  })

  test('to a place that is not always aligned cannot be made, because groups are aligned as their members', () => {
    const aligned = struct({ a: int8, b: struct({ c: int32 }) })
    const [list, open, choice] = [sequence(int32, 2), sequence(int32), union({ a: int8, b: int32 })]
    for (const layout of [aligned, list, open, choice, struct({ list }), struct({ a: aligned }).withName('a')]) {
      for (const alignment of [1, 2]) expect(() => layout.withByteAlignment(alignment)).toThrow(AlignmentError)
      expect(layout.withByteAlignment(8).byteAlignment).toBe(8)
    }
    const packed = struct({ a: int8, b: struct({ c: int32.withByteAlignment(1) }) })
    expect([packed.byteAlignment, varHandle(packed, 'b', 'c').byteOffset()]).toEqual([1, 1])
    expect(struct({}).withByteAlignment(1).byteSize).toBe(0)
  })

  test('check that the whole layout is aligned', () => {
    const pair = struct({ a: int8, b: int32 })
    const a = varHandle<number>(pair, 'a')
    const segment = MemorySegment.allocateNative(64, 64)
    a.set(segment, 4, 1)
    for (const use of [() => a.get(segment, 2), () => a.set(segment, 1, 1), () => a.slice(segment, 3)])
      expect(use).toThrow(AlignmentError)
    expect(() => a.get(segment.asSlice(2), 0)).toThrow(AlignmentError)
    expect(a.get(segment.asSlice(2), 2)).toBe(1)
    expect(a.get(segment, 56)).toBe(0)
    for (const at of [64, -8]) expect(() => a.get(segment, at)).toThrow(BoundsError)
    for (const at of [0.5, Number.NaN, 2 ** 53]) expect(() => a.get(segment, at)).toThrow(ArgumentError)
    const wide = varHandle<number>(struct({ a: int8 }).withByteAlignment(64), 'a')
    expect(wide.get(segment, 0)).toBe(0)
    for (const at of [8, 16, 32]) expect(() => wide.get(segment, at)).toThrow(AlignmentError)
    for (const at of [0.5, Number.NaN, 2 ** 53]) expect(() => wide.get(segment, at)).toThrow(ArgumentError)
    const open = varHandle<number>(struct({ count: int64, values: sequence(int32) }), 'values', element())
    expect(open.get(segment, 48, 0)).toBe(0)
    expect(() => open.get(segment, 52, 0)).toThrow(AlignmentError)
  })

  test('that follow pointers do not select a part of the layout', () => {
    const list = struct({ next: address.withTargetLayout(int32) })
    expect(() => MemoryLayout.select(list, 'next', MemoryLayout.dereference)).toThrow(ArgumentError)
    expect(() => MemoryLayout.byteOffset(list, 'next', MemoryLayout.dereference)).toThrow(ArgumentError)
    expect(MemoryLayout.select(list, 'next').equals(address.withTargetLayout(int32))).toBe(true)
  })

  test('select every element of a stride, also backwards', () => {
    const matrix = sequence(sequence(int32, 5), 2)
    const segment = allocate(matrix)
    for (let i = 0; i < 10; i++) segment.setAtIndex(int32, i, i)
    const read = (start: number, step: number): number[][] => {
      const handle = varHandle<number>(matrix, element(), element(start, step))
      return [0, 1].map((row) => {
        const values: number[] = []
        for (let i = 0; ; i++) {
          try {
            values.push(handle.get(segment, 0, row, i))
          } catch (error) {
            expect(error).toBeInstanceOf(BoundsError)
            return values
          }
        }
      })
    }
    expect(read(0, 2)).toEqual([
      [0, 2, 4],
      [5, 7, 9],
    ])
    expect(read(1, 2)).toEqual([
      [1, 3],
      [6, 8],
    ])
    expect(read(4, -2)).toEqual([
      [4, 2, 0],
      [9, 7, 5],
    ])
    expect(read(3, -2)).toEqual([
      [3, 1],
      [8, 6],
    ])
  })

  test('follow pointers', () => {
    const node = struct({ value: int32, next: address })
    const list = struct({ value: int32, next: address.withTargetLayout(node) })
    const [head, second] = [allocate(list), allocate(node)]
    second.setInt32(0, 42)
    head.set(address, 8, second)
    const path = ['next', MemoryLayout.dereference, 'value'] as const
    expect(varHandle(list, ...path).get(head, 0)).toBe(42)
    varHandle(list, ...path).set(head, 0, 43)
    expect(second.getInt32(0)).toBe(43)
    expect(() => varHandle(list, ...path).byteOffset()).toThrow(ArgumentError)
    head.setInt64(8, 0n)
    expect(() => varHandle(list, ...path).get(head, 0)).toThrow(BoundsError)
  })

  test('return slices', () => {
    const segment = allocate(shape)
    const slice = varHandle(shape, 'points', element()).slice(segment, 0, 3)
    expect([slice.byteSize, slice.address - segment.address]).toEqual([24, 80n])
    expect(() => varHandle(shape, 'points').slice(segment, 16)).toThrow(BoundsError)
    const whole = varHandle<MemorySegment>(shape, 'points', element())
    expect(whole.get(segment, 0, 1).address - segment.address).toBe(32n)
    whole.set(segment, 0, slice.fill(7), 1)
    expect(segment.getUint8(32)).toBe(7)
    expect(() => whole.set(segment, 0, segment, 1)).toThrow(ArgumentError)
  })
})

describe('sequences', () => {
  test('can be reshaped and flattened', () => {
    const flat = sequence(int32, 12)
    expect(flat.reshape(3, 4).equals(sequence(sequence(int32, 4), 3))).toBe(true)
    expect(flat.reshape(-1, 2, 3).equals(sequence(sequence(sequence(int32, 3), 2), 2))).toBe(true)
    expect(flat.reshape(3, 4).flatten().equals(flat)).toBe(true)
    for (const counts of [[], [5], [0, 12], [-2, 6], [-1, -1], [5, -1], [3, 5]])
      expect(() => flat.reshape(...counts)).toThrow(ArgumentError)
    expect(() => sequence(int32).reshape(2)).toThrow(ArgumentError)
  })

  test('that are open extend to the end of the memory', () => {
    using scope = NativeScope.ofConfined()
    const packet = MemoryLayout.struct({ count: int32, values: MemoryLayout.sequence(int32) })
    const segment = scope.allocate(18, 4)
    segment.setInt32(12, 7)
    const { values } = MemoryLayout.accessor(packet).at(segment)
    expect(values.toArray(int32)).toEqual(Int32Array.of(0, 0, 7))
    expect(segment.get(MemoryLayout.sequence(MemoryLayout.struct({})), 2).byteSize).toBe(16)
    expect(String(packet)).not.toContain('undefined')
  })

  test('whose alignment exceeds their size check the offset like others', () => {
    using scope = NativeScope.ofConfined()
    const segment = scope.allocate(32, 8)
    const wide = int32.withByteAlignment(8)
    segment.set(wide, 8, 7)
    expect(segment.get(wide, 8n as never)).toBe(7)
    expect(() => segment.get(wide, 4)).toThrow(AlignmentError)
    expect(() => segment.get(wide, 32)).toThrow(BoundsError)
    for (const offset of [Number.NaN, undefined, null, '8', 0.5])
      expect(() => segment.get(wide, offset as never)).toThrow(ArgumentError)
  })

  test('that are open do not have a size until they are bound', () => {
    const open = struct({ count: int32, values: sequence(float64) })
    expect(open.byteSize).toBeUndefined()
    expect(() => allocate(open)).toThrow(ArgumentError)
    const segment = MemorySegment.allocateNative(8 + 3 * 8, 8)
    const values = varHandle<number>(open, 'values', element())
    values.set(segment, 0, 1.5, 2)
    expect([values.get(segment, 0, 2), segment.getFloat64(24)]).toEqual([1.5, 1.5])
    expect(() => values.get(segment, 0, 3)).toThrow(BoundsError)
    expect(sequence(float64).withElementCount(3).byteSize).toBe(24)
    expect(() => struct({ values: sequence(float64), after: int32 })).toThrow(ArgumentError)
    expect(() => sequence(open, 2)).toThrow(ArgumentError)
  })
})

describe('values', () => {
  test('are read and written according to their layout, and refused otherwise', () => {
    const segment = allocate(sequence(int64, 2))
    segment.set(int64, 8, 42n)
    expect(segment.getAtIndex(int64, 1)).toBe(42n)
    segment.setAtIndex(bool, 0, true)
    expect(segment.get(bool, 0)).toBe(true)
    for (const value of ['a', null, undefined, {}, 1n])
      expect(() => segment.set(int32, 0, value as number)).toThrow(ArgumentError)
    expect(() => segment.set(float32, 0, 1n as never)).toThrow(ArgumentError)
    expect(() => segment.asReadOnly().set(int8, 0, 1)).toThrow(ReadOnlyError)
    expect(() => segment.getAtIndex(int64, 2)).toThrow(BoundsError)
    for (const index of [-1, 0.5, null, 2 ** 52])
      expect(() => segment.getAtIndex(int64, index as number)).toThrow(TenonError)
    expect(() => segment.set(padding(4), 0, segment)).toThrow(ArgumentError)
    expect(segment.get(padding(4), 4).byteSize).toBe(4)
  })
})

describe('accessors', () => {
  const inner = struct({ flag: bool, place: address })
  const layout = struct({
    id: uint8,
    x: float64,
    big: int32.withOrder('big'),
    _: padding(3),
    inner,
    values: sequence(int16, 2),
  })
  const Thing = MemoryLayout.accessor(layout)

  test('read and write the memory', () => {
    const segment = NativeAllocator.allocate(
      (size, alignment) => MemorySegment.allocateNative(size, alignment),
      layout,
      3,
    )
    const thing = Thing.at(segment, layout.byteSize!)
    thing.id = 7
    thing.x = 1.5
    thing.big = 0x01020304
    thing.inner.flag = true
    thing.inner.place = segment
    expect([thing.id, thing.x, thing.big, thing.inner.flag, thing.inner.place.address]).toEqual([
      7,
      1.5,
      0x01020304,
      true,
      segment.address,
    ])
    expect(varHandle(layout, 'x').get(segment, layout.byteSize!)).toBe(1.5)
    expect(segment.getUint8(layout.byteSize! + 16)).toBe(1)
    expect(thing.values.byteSize).toBe(4)
    expectTypeOf(thing.x).toEqualTypeOf<number>()
    expectTypeOf(thing.inner.flag).toEqualTypeOf<boolean>()
  })

  test('iterate over the structs', () => {
    const segment = NativeAllocator.allocate(
      (size, alignment) => MemorySegment.allocateNative(size, alignment),
      layout,
      3,
    )
    let n = 0
    for (const thing of Thing.each(segment)) thing.x = ++n
    expect([0, 1, 2].map((i) => Thing.at(segment, i * layout.byteSize!).x)).toEqual([1, 2, 3])
  })

  test('assign a struct as a whole, as C does', () => {
    using scope = NativeScope.ofConfined()
    const memory = NativeAllocator.allocate(scope, layout, 2)
    const [one, other] = [Thing.at(memory), Thing.at(memory, layout.byteSize!)]
    one.inner.flag = true
    one.inner.place = memory
    other.inner = one.inner
    expect([other.inner.flag, other.inner.place.equals(memory)]).toEqual([true, true])
    one.inner = NativeAllocator.allocate(scope, inner) as never
    expect(one.inner.flag).toBe(false)
    for (const value of [one, { flag: true }, null, undefined, scope.allocate(1)])
      expect(() => (one.inner = value as never)).toThrow(ArgumentError)
  })

  test('cannot iterate over a layout of 0 bytes', () => {
    using scope = NativeScope.ofConfined()
    expect(() => MemoryLayout.accessor(MemoryLayout.struct({})).each(scope.allocate(8))).toThrow(ArgumentError)
  })

  test('check every access', () => {
    const scope = NativeScope.ofConfined()
    const segment = scope.allocate(layout.byteSize!, 8)
    const thing = Thing.at(segment)
    expect(() => (thing.id = 256)).toThrow(ArgumentError)
    expect(() => Thing.at(segment, 16).inner.place).toThrow(BoundsError)
    expect(() => Thing.at(segment, 4).x).toThrow(AlignmentError)
    scope.close()
    expect(() => thing.x).toThrow(ScopeClosedError)
    expect(() => Thing.at(null as never)).toThrow(ArgumentError)
    expect(() => MemoryLayout.accessor(int32 as never)).toThrow(ArgumentError)
  })
})
