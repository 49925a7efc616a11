import {
  AlignmentError,
  ArgumentError,
  BoundsError,
  gcAllocator,
  ReadOnlyError,
  ScopeClosedError,
  Segment,
} from '@tenon/core'
import { hasLargeBuffers } from '@tenon/config/large-buffers'
import { Block } from '@tenon/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeScope } from '../src/index.ts'

type Number_ = number | bigint
interface Accessors {
  readonly size: number
  readonly get: (segment: MemorySegment, offset: number, littleEndian?: boolean) => Number_
  readonly set: (segment: MemorySegment, offset: number, value: Number_, littleEndian?: boolean) => void
  readonly getUnaligned: (segment: MemorySegment, offset: number, littleEndian?: boolean) => Number_
  readonly setUnaligned: (segment: MemorySegment, offset: number, value: Number_, littleEndian?: boolean) => void
  /** Reads the value through a DataView. */
  readonly reference: (view: DataView, offset: number, littleEndian: boolean) => Number_
  readonly values: readonly Number_[]
  readonly refused: readonly unknown[]
}

const whole = (low: number, high: number): Pick<Accessors, 'values' | 'refused'> => ({
  values: [0, 1, 42, low, high],
  refused: [low - 1, high + 1, 0.5, Number.NaN, Infinity, 1n, '1', null, undefined, 2 ** 53, 2n ** 64n],
})
const wide = (low: bigint, high: bigint): Pick<Accessors, 'values' | 'refused'> => ({
  values: [0n, 1n, 42n, low, high],
  refused: [low - 1n, high + 1n, 0.5, Number.NaN, Infinity, '1', null, undefined, 2 ** 53],
})
const real = { values: [0, 1.5, -42, Infinity, -0], refused: [1n, '1', null, undefined, {}] }

function accessors(name: string, size: number, rest: Pick<Accessors, 'values' | 'refused'>): Accessors {
  const native = name.replace('Int64', 'BigInt64').replace('Uint64', 'BigUint64')
  const call =
    (method: string) =>
    (segment: MemorySegment, ...values: unknown[]) =>
      (segment as unknown as Record<string, (...values: unknown[]) => never>)[method]!(...values)
  const suffix = size === 1 ? '' : 'Unaligned'
  return {
    size,
    get: call(`get${name}`),
    set: call(`set${name}`),
    getUnaligned: call(`get${name}${suffix}`),
    setUnaligned: call(`set${name}${suffix}`),
    reference: (view, offset, littleEndian) =>
      (view as unknown as Record<string, (offset: number, littleEndian: boolean) => Number_>)[`get${native}`]!(
        offset,
        littleEndian,
      ),
    ...rest,
  }
}

const kinds: Readonly<Record<string, Accessors>> = {
  Int8: accessors('Int8', 1, whole(-128, 127)),
  Uint8: accessors('Uint8', 1, whole(0, 255)),
  Int16: accessors('Int16', 2, whole(-32768, 32767)),
  Uint16: accessors('Uint16', 2, whole(0, 65535)),
  Int32: accessors('Int32', 4, whole(-(2 ** 31), 2 ** 31 - 1)),
  Uint32: accessors('Uint32', 4, whole(0, 2 ** 32 - 1)),
  Int64: accessors('Int64', 8, wide(-(2n ** 63n), 2n ** 63n - 1n)),
  Uint64: accessors('Uint64', 8, wide(0n, 2n ** 64n - 1n)),
  Float32: accessors('Float32', 4, real),
  Float64: accessors('Float64', 8, real),
}

for (const [kind, { size, get, set, getUnaligned, setUnaligned, reference, values, refused }] of Object.entries(
  kinds,
)) {
  describe(kind, () => {
    const scope = NativeScope.ofConfined()
    const segment = scope.allocate(64, 64)
    const view = segment.view()

    test('reads back written values in both byte orders, as a DataView does', () => {
      for (const littleEndian of [true, false]) {
        for (const value of values) {
          set(segment, 16, value, littleEndian)
          expect(get(segment, 16, littleEndian)).toBe(value)
          expect(reference(view, 16, littleEndian)).toBe(value)
          expect(getUnaligned(segment, 16, littleEndian)).toBe(value)
        }
      }
      set(segment, 24, values[2]!)
      expect(get(segment, 24)).toBe(reference(view, 24, true))
    })

    test('requires an aligned address, except in the unaligned accessors', () => {
      for (let offset = 0; offset < 2 * size; offset++) {
        if (offset % size === 0) {
          set(segment, offset, values[1]!)
        } else {
          expect(() => get(segment, offset)).toThrow(AlignmentError)
          expect(() => set(segment, offset, values[1]!)).toThrow(AlignmentError)
        }
        for (const littleEndian of [true, false]) {
          setUnaligned(segment, offset, values[2]!, littleEndian)
          expect(getUnaligned(segment, offset, littleEndian)).toBe(values[2])
          expect(reference(view, offset, littleEndian)).toBe(values[2])
        }
      }
      // The address must be aligned, not the offset.
      const shifted = segment.asSlice(1)
      if (size > 1) expect(() => get(shifted, 0)).toThrow(AlignmentError)
      expect(get(shifted, size - 1)).toBeDefined()
    })

    test('throws BoundsError outside of the segment', () => {
      const slice = segment.asSlice(8, 16)
      for (const offset of [
        16 - size + 1,
        16,
        17,
        -1,
        -8,
        2 ** 31,
        2 ** 32,
        2 ** 32 + 8,
        -(2 ** 32) + 8,
        2 ** 53 - 1,
      ]) {
        expect(() => get(slice, offset), `${offset}`).toThrow(BoundsError)
        expect(() => set(slice, offset, values[1]!), `${offset}`).toThrow(BoundsError)
        expect(() => getUnaligned(slice, offset), `${offset}`).toThrow(BoundsError)
        expect(() => setUnaligned(slice, offset, values[1]!), `${offset}`).toThrow(BoundsError)
      }
      for (const offset of [0.5, Number.NaN, Infinity, '0', null, undefined, {}, 2 ** 53]) {
        expect(() => get(slice, offset as number), String(offset)).toThrow(ArgumentError)
        expect(() => set(slice, offset as number, values[1]!), String(offset)).toThrow(ArgumentError)
        expect(() => getUnaligned(slice, offset as number), String(offset)).toThrow(ArgumentError)
      }
    })

    test('throws ArgumentError for a value that does not fit', () => {
      for (const value of refused) {
        expect(() => set(segment, 0, value as number), String(value)).toThrow(ArgumentError)
        expect(() => setUnaligned(segment, 0, value as number), String(value)).toThrow(ArgumentError)
      }
    })

    test('throws ReadOnlyError for read-only memory', () => {
      const readOnly = segment.asReadOnly()
      expect(get(readOnly, 16)).toBe(get(segment, 16))
      expect(() => set(readOnly, 16, values[1]!)).toThrow(ReadOnlyError)
      expect(() => setUnaligned(readOnly, 16, values[1]!)).toThrow(ReadOnlyError)
    })

    test('throws ScopeClosedError after the scope has closed', () => {
      const other = NativeScope.ofConfined()
      const dead = other.allocate(64)
      other.close()
      for (const use of [get, getUnaligned]) expect(() => use(dead, 0)).toThrow(ScopeClosedError)
      for (const use of [set, setUnaligned]) expect(() => use(dead, 0, values[1]!)).toThrow(ScopeClosedError)
    })
  })
}

test('an access with several faults reports them in the order read-only, bounds, alignment, closed', () => {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(16, 16)
  scope.close()
  expect(() => segment.asReadOnly().setInt32(17, 1)).toThrow(ReadOnlyError)
  expect(() => segment.setInt32(17, 1)).toThrow(BoundsError)
  expect(() => segment.getInt32(17)).toThrow(BoundsError)
  expect(() => segment.getInt32(1)).toThrow(AlignmentError)
  expect(() => segment.getInt32(0)).toThrow(ScopeClosedError)
})

test('getBool() reads every byte but 0 as true, and setBool() writes true as 1', () => {
  const segment = MemorySegment.ofBuffer(new Uint8Array([0, 1, 2, 255]))
  expect([0, 1, 2, 3].map((offset) => segment.getBool(offset))).toEqual([false, true, true, true])
  segment.setBool(0, true)
  segment.setBool(3, false)
  expect([segment.getUint8(0), segment.getUint8(3)]).toEqual([1, 0])
  for (const value of [1, 0, null, undefined, 'true']) {
    expect(() => segment.setBool(0, value as never)).toThrow(ArgumentError)
  }
})

test('getInt64AsNumber() throws ArgumentRangeError for an unsafe integer', () => {
  const segment = MemorySegment.allocateNative(8, 8)
  segment.setInt64(0, -(2n ** 53n) + 1n)
  expect(segment.getInt64AsNumber(0)).toBe(-(2 ** 53) + 1)
  segment.setInt64(0, 2n ** 53n)
  expect(() => segment.getInt64AsNumber(0)).toThrow(RangeError)
  segment.setInt64(0, 7)
  expect(segment.getInt64(0)).toBe(7n)
})

const inLargeBuffers = hasLargeBuffers ? test : undefined

inLargeBuffers?.('accessors reach offsets above 4 GiB', () => {
  const size = 4 * 2 ** 30 + 64
  const segment = MemorySegment.allocateNative(size, 16)
  const last = size - 8
  segment.setInt64(last, 42n)
  segment.setInt32(6 * 2, 1)
  expect([segment.getInt64(last), segment.asSlice(2 ** 32).getInt64(56), segment.getInt32(12)]).toEqual([42n, 42n, 1])
  expect(() => segment.getInt64(last + 8)).toThrow(BoundsError)
  expect(() => segment.getInt64(2 ** 32 + 60)).toThrow(BoundsError)
})

test('any sequence of reads and writes agrees with a DataView', () => {
  const layouts = Object.keys(kinds)
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          kind: fc.constantFrom(...layouts),
          offset: fc.nat(70),
          pick: fc.nat(4),
          littleEndian: fc.boolean(),
        }),
        { maxLength: 60 },
      ),
      (steps) => {
        const segment = MemorySegment.allocateNative(64, 8)
        const mirror = new DataView(new ArrayBuffer(64))
        for (const { kind, offset, pick, littleEndian } of steps) {
          const { size, setUnaligned, getUnaligned, reference, values } = kinds[kind]!
          if (offset + size > 64) {
            expect(() => getUnaligned(segment, offset)).toThrow(BoundsError)
            continue
          }
          setUnaligned(segment, offset, values[pick]!, littleEndian)
          const bytes = MemorySegment.ofBuffer(mirror)
          setUnaligned(bytes, offset, values[pick]!, littleEndian)
          expect(reference(mirror, offset, littleEndian)).toBe(getUnaligned(segment, offset, littleEndian))
        }
        expect(segment.mismatch(MemorySegment.ofBuffer(mirror))).toBe(-1)
      },
    ),
    { numRuns: 100 },
  )
})

test('a layout whose alignment exceeds its size checks the address', () => {
  const segment = MemorySegment.allocateNative(64, 64)
  const layout = MemoryLayout.int32.withByteAlignment(16)
  segment.set(layout, 16, 5)
  expect(segment.get(layout, 16)).toBe(5)
  expect(() => segment.get(layout, 8)).toThrow(AlignmentError)
  expect(segment.get(MemoryLayout.int32.withByteAlignment(1), 15)).toBe(5 << 8)
})

test.each([
  ['int16', 1],
  ['int32', 5],
  ['float32', 1.5],
  ['int64', 5n],
  ['float64', 1.5],
  ['address', MemorySegment.NULL],
] as const)('a layout of %s with any alignment checks the address', (kind, value) => {
  const memory = MemorySegment.allocateNative(128, 64)
  for (const alignment of [1, 2, 4, 8, 16, 32]) {
    const layout = (MemoryLayout[kind] as typeof MemoryLayout.address).withByteAlignment(alignment)
    const handle = MemoryLayout.varHandle<unknown>(layout)
    for (const [segment, shift] of [
      [memory, 0],
      [memory.asSlice(3), 3],
    ] as const)
      for (let offset = 0; offset <= 64; offset++)
        for (const access of [
          () => segment.set(layout, offset, value as MemorySegment),
          () => segment.get(layout, offset),
          () => handle.set(segment, offset, value),
          () => handle.get(segment, offset),
        ])
          if ((offset + shift) % alignment === 0) expect(access).not.toThrow()
          else expect(access).toThrow(AlignmentError)
    expect(() => memory.get(layout, 128)).toThrow(BoundsError)
  }
})

test.each([1, 2, 4, 8, 16, 32, 64])(
  'handles of a layout with alignment %d check the address, wherever its block starts',
  (alignment) => {
    const { int8, int32, struct, varHandle } = MemoryLayout
    const { block: memory } = gcAllocator.allocate(256, 64)
    const layout = struct({ a: int8, b: int32.withByteAlignment(1) }).withByteAlignment(alignment)
    const handle = varHandle<number>(layout, 'b')
    const own = varHandle<number>(int8.withByteAlignment(alignment))
    for (let shift = 0; shift < 128; shift++) {
      const bytes = memory.bytes.subarray(shift)
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      const block = new Block(memory.gate, view, bytes, memory.address + shift)
      const segment = MemorySegment.ofSegment(new Segment(block, 0, 80, 0))
      for (const offset of [0, 1, 2, 4, 8, 16, 32, 64]) {
        const isAligned = (memory.address + shift + offset) % alignment === 0
        for (const access of [
          () => handle.get(segment, offset),
          () => handle.set(segment, offset, shift),
          () => own.get(segment, offset),
          () => own.set(segment, offset, shift),
        ]) {
          if (isAligned) expect(access).not.toThrow()
          else expect(access).toThrow(AlignmentError)
        }
      }
    }
  },
)
