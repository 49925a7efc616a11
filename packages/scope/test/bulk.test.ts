import { AlignmentError, ArgumentError, BoundsError, ReadOnlyError, ScopeClosedError } from '@tenon/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeScope } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'

const { bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64 } = MemoryLayout
const native = (byteSize: number): MemorySegment => MemorySegment.allocateNative(byteSize, 64)
const heap = (byteSize: number): MemorySegment => MemorySegment.ofBuffer(new Uint8Array(byteSize))
const bytesOf = (segment: MemorySegment): number[] => [...(segment.toArray(uint8) as Uint8Array)]

/** Asks Linux for pages of 2 MiB, which it gives as it likes. */
function useLargePages(segment: MemorySegment): void {
  if (process.platform !== 'linux') return
  const MADV_HUGEPAGE = 14
  const parameters = ['pointer', 'uint64', 'int32'] as const
  Linker.downcall(SymbolLookup.ofProcess().get('madvise'), { result: 'int32', parameters })(
    segment,
    segment.byteSize,
    MADV_HUGEPAGE,
  )
}

function dead(byteSize = 16): MemorySegment {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(byteSize)
  scope.close()
  return segment
}

test('whole operations throw ScopeClosedError after close, also for 0 bytes', () => {
  const alive = native(16)
  for (const segment of [dead(), dead().asSlice(16)]) {
    expect(() => segment.fill(0)).toThrow(ScopeClosedError)
    expect(() => segment.copyFrom(native(0))).toThrow(ScopeClosedError)
    expect(() => alive.copyFrom(segment)).toThrow(ScopeClosedError)
    expect(() => segment.mismatch(alive)).toThrow(ScopeClosedError)
    expect(() => alive.mismatch(segment)).toThrow(ScopeClosedError)
    expect(() => segment.toArray(int32)).toThrow(ScopeClosedError)
    expect(() => MemorySegment.copy(segment, int32, 0, alive, int32, 0, 0)).toThrow(ScopeClosedError)
  }
})

describe('fill()', () => {
  test('sets the bytes of the segment and no others', () => {
    for (const value of [0xff, 0x00, 0x45]) {
      for (let start = 0; start < 9; start++) {
        for (let size = 0; size < 40; size++) {
          const outer = native(64).fill(0x11)
          outer.asSlice(start, size).fill(value)
          const expected = new Uint8Array(64).fill(0x11).fill(value, start, start + size)
          expect(bytesOf(outer)).toEqual([...expected])
        }
      }
    }
  })

  test('refuses values that are not bytes, and read-only memory', () => {
    for (const value of [-1, 256, 0.5, Number.NaN, null, undefined, '1', 1n]) {
      expect(() => native(8).fill(value as number)).toThrow(ArgumentError)
    }
    expect(() => native(8).asReadOnly().fill(0)).toThrow(ReadOnlyError)
    expect(() => native(0).asReadOnly().fill(0)).toThrow(ReadOnlyError)
  })
})

describe('copyFrom()', () => {
  test('copies between all kinds of memory, at all offsets', () => {
    for (const from of [native(64), heap(64)]) {
      for (let i = 0; i < 64; i++) from.setUint8(i, i)
      for (const to of [native(64), heap(64)]) {
        for (let a = 0; a < 16; a++) {
          for (let b = 0; b < 16; b++) {
            to.fill(0xee)
            to.asSlice(b).copyFrom(from.asSlice(a, 48))
            const expected = new Uint8Array(64).fill(0xee)
            for (let i = 0; i < 48; i++) expected[b + i] = a + i
            expect(bytesOf(to)).toEqual([...expected])
          }
        }
      }
    }
  })

  test('ranges of one segment may overlap in both directions', () => {
    for (const [from, to] of [
      [0, 8],
      [8, 0],
      [3, 4],
      [4, 3],
    ] as const) {
      const segment = native(64)
      for (let i = 0; i < 64; i++) segment.setUint8(i, i)
      const expected = new Uint8Array(bytesOf(segment))
      expected.copyWithin(to, from, from + 40)
      segment.asSlice(to).copyFrom(segment.asSlice(from, 40))
      expect(bytesOf(segment)).toEqual([...expected])
    }
  })

  test('throws BoundsError for a larger source, and writes nothing', () => {
    const target = native(8)
    expect(() => target.copyFrom(native(9).fill(1))).toThrow(BoundsError)
    expect(bytesOf(target)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
    expect(() => target.asReadOnly().copyFrom(native(0))).toThrow(ReadOnlyError)
    for (const source of [null, undefined, new Uint8Array(4), {}]) {
      expect(() => target.copyFrom(source as never)).toThrow(ArgumentError)
    }
  })
})

describe('copy() of elements', () => {
  test('reverses the bytes if the byte orders differ', () => {
    for (const [layout, value] of [
      [int16, 0x1234],
      [uint32, 0x12345678],
      [int64, 0x123456789abcdefn],
      [float64, 1.5],
    ] as const) {
      const swapped = layout.withOrder('big')
      const [source, target] = [native(64), native(64)]
      for (let i = 0; i < 4; i++) source.setAtIndex(layout as typeof int16, i, value as number)
      MemorySegment.copy(source, layout, 0, target, swapped, layout.byteSize, 4)
      for (let i = 0; i < 4; i++) {
        expect(target.getAtIndex(swapped as typeof int16, i + 1)).toBe(value)
        expect(target.getAtIndex(layout as typeof int16, i + 1)).not.toBe(value)
      }
    }
  })

  test('checks both layouts and both ranges', () => {
    const [source, target] = [native(64), native(64)]
    const copy = (sourceLayout = int32, sourceOffset = 0, targetLayout = int32, targetOffset = 0, count = 1): void =>
      MemorySegment.copy(source, sourceLayout, sourceOffset, target, targetLayout, targetOffset, count)
    copy()
    expect(() => copy(int16)).toThrow(ArgumentError)
    expect(() => copy(int32.withByteAlignment(8))).toThrow(AlignmentError)
    expect(() => copy(int32, 1)).toThrow(AlignmentError)
    copy(int32.withByteAlignment(1), 1)
    expect(() => copy(int32, 0, int32, 62)).toThrow(BoundsError)
    expect(() => copy(int32, -4)).toThrow(BoundsError)
    expect(() => copy(int32, 0, int32, 0, 17)).toThrow(BoundsError)
    for (const count of [-1, 0.5, Number.NaN, 2 ** 53, null]) {
      expect(() => copy(int32, 0, int32, 0, count as number)).toThrow(ArgumentError)
    }
    expect(() => copy({} as never)).toThrow(ArgumentError)
    expect(() => MemorySegment.copy(source, int32, 0, target.asReadOnly(), int32, 0, 0)).toThrow(ReadOnlyError)
    expect(() => MemorySegment.copy(null as never, int32, 0, target, int32, 0, 0)).toThrow(ArgumentError)
  })
})

describe('mismatch()', () => {
  test('finds a single differing byte, in both directions', () => {
    for (const size of [0, 1, 8, 100]) {
      for (let at = 0; at < size; at++) {
        const [a, b] = [native(size), heap(size)]
        b.setUint8(at, 1)
        expect([a.mismatch(b), b.mismatch(a)]).toEqual([at, at])
      }
      expect(native(size).mismatch(heap(size))).toBe(-1)
      expect([native(size).mismatch(heap(size + 1)), heap(size + 1).mismatch(native(size))]).toEqual([size, size])
    }
    for (const other of [null, undefined, {}]) expect(() => native(8).mismatch(other as never)).toThrow(ArgumentError)
  })

  test('finds a byte in large memory', () => {
    const [a, b] = [native(1_000_000), native(1_000_000)]
    for (const at of [0, 65_535, 65_536, 999_999]) {
      b.fill(0).setUint8(at, 1)
      expect(a.mismatch(b)).toBe(at)
    }
  })

  test('finds a byte above 2 GiB', () => {
    // Two views of the same zeros, in large pages where the system has them, because the first use of 2 GiB takes seconds.
    const [size, at] = [2 ** 31 + 100, 2 ** 31 + 50]
    const zeros = MemorySegment.allocateNative(size + 1, 4096)
    useLargePages(zeros)
    const [a, b] = [zeros.asSlice(0, size), zeros.asSlice(1, size)]
    b.setUint8(at, 1)
    expect(a.mismatch(b)).toBe(at)
    b.asSlice(at).copyFrom(zeros.asSlice(0, 50))
    expect(a.mismatch(b)).toBe(-1)
  })

  test('agrees with a simple comparison', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (a, b) => {
        const first = a.findIndex((byte, i) => byte !== b[i])
        const expected = first === -1 ? (a.length === b.length ? -1 : a.length) : first
        expect(MemorySegment.ofBuffer(a).mismatch(MemorySegment.ofBuffer(b))).toBe(expected)
      }),
    )
  })
})

describe('toArray()', () => {
  test('returns the typed array of the kind, for both byte orders', () => {
    const cases = [
      [int8, new Int8Array([1, -2])],
      [uint8, new Uint8Array([1, 255])],
      [int16, new Int16Array([1, -300])],
      [uint16, new Uint16Array([1, 40_000])],
      [int32, new Int32Array([1, -70_000])],
      [uint32, new Uint32Array([1, 4_000_000_000])],
      [int64, new BigInt64Array([1n, -(2n ** 40n)])],
      [uint64, new BigUint64Array([1n, 2n ** 63n])],
      [float32, new Float32Array([1.5, -2])],
      [float64, new Float64Array([1.5, -2])],
    ] as const
    for (const [layout, values] of cases) {
      const segment = native(values.byteLength)
      for (const ordered of [layout, layout.withOrder('big')]) {
        values.forEach((value: number | bigint, i: number) =>
          segment.setAtIndex(ordered as typeof int8, i, value as number),
        )
        expect(segment.toArray(ordered as typeof int8)).toEqual(values)
      }
    }
    expect(native(2).toArray(bool)).toEqual([false, false])
    expect(
      native(16)
        .toArray(MemoryLayout.address)
        .map(({ address }) => address),
    ).toEqual([0n, 0n])
  })

  test('requires whole elements', () => {
    expect(() => native(10).toArray(int32)).toThrow(ArgumentError)
    expect(() => native(8).toArray(null as never)).toThrow(ArgumentError)
    expect(native(0).toArray(int32)).toHaveLength(0)
    const copy = native(8)
    const array = copy.toArray(int32)
    copy.fill(1)
    expect(array[0]).toBe(0)
  })
})

describe('asOverlappingSlice()', () => {
  test('returns the common part', () => {
    const segment = native(64)
    for (let start = 0; start < 64; start++) {
      const slice = segment.asOverlappingSlice(segment.asSlice(start))
      expect([slice.address, slice.byteSize]).toEqual([segment.address + BigInt(start), 64 - start])
    }
    expect(segment.asSlice(0, 32).asOverlappingSlice(segment.asSlice(32)).byteSize).toBe(0)
    expect(segment.asOverlappingSlice(native(64)).byteSize).toBe(0)
    expect(segment.asOverlappingSlice(heap(64)).byteSize).toBe(0)
    const readOnly = segment.asReadOnly().asOverlappingSlice(segment.asSlice(8, 8))
    expect([readOnly.readOnly, readOnly.byteSize]).toEqual([true, 8])
    expect(() => segment.asOverlappingSlice(null as never)).toThrow(ArgumentError)
  })
})

describe('elements()', () => {
  test('iterates over the slices in order', () => {
    const segment = native(32)
    const slices = [...segment.elements(int64)]
    expect(slices.map(({ address }) => Number(address - segment.address))).toEqual([0, 8, 16, 24])
    expect(slices.every((slice) => slice.scope === segment.scope && slice.byteSize === 8)).toBe(true)
  })

  test('throws at once for an element that does not fit', () => {
    expect(() => native(10).elements(int32)).toThrow(ArgumentError)
    expect(() => native(8).elements(MemoryLayout.struct({}))).toThrow(ArgumentError)
    expect(() => native(8).elements(int32.withByteAlignment(8))).toThrow(AlignmentError)
    expect(() => native(9).asSlice(1).elements(int32)).toThrow(AlignmentError)
    expect(() => native(8).elements(MemoryLayout.sequence(int32))).toThrow(ArgumentError)
  })

  test('the sum over the slices equals the sum over the segment', () => {
    const segment = native(4 * 1000)
    for (let i = 0; i < 1000; i++) segment.setAtIndex(int32, i, i)
    const sum = (part: MemorySegment): number => {
      if (part.byteSize <= 64) return [...part.elements(int32)].reduce((total, slice) => total + slice.getInt32(0), 0)
      const half = Math.floor(part.byteSize / 8) * 4
      return sum(part.asSlice(0, half)) + sum(part.asSlice(half))
    }
    expect(sum(segment)).toBe(499_500)
  })
})

describe('atomic access', () => {
  test('adds, exchanges and compares', () => {
    const scope = NativeScope.ofShared()
    const segment = scope.allocate(16, 8)
    segment.atomicStore('int32', 0, 40)
    expect(segment.atomicUpdate('int32', 0, 'add', 2)).toBe(40)
    expect(segment.atomicLoad('int32', 0)).toBe(42)
    expect(segment.atomicCompareExchange('int32', 0, 41, 1)).toBe(42)
    expect(segment.atomicCompareExchange('int32', 0, 42, 1)).toBe(42)
    expect(segment.atomicUpdate('uint64', 8, 'exchange', 2n ** 63n)).toBe(0n)
    expect(segment.atomicUpdate('uint64', 8, 'xor', 1n)).toBe(2n ** 63n)
    expect(segment.getUint64(8)).toBe(2n ** 63n + 1n)
    expect(segment.atomicWait('int32', 0, 5)).toBe('not-equal')
    expect(segment.atomicWait('int32', 0, 1, 1)).toBe('timed-out')
    expect(segment.atomicNotify('int32', 0)).toBe(0)
    scope.close()
  })

  test('is checked like every access', () => {
    const segment = native(16)
    expect(() => segment.atomicLoad('int32', 2)).toThrow(AlignmentError)
    expect(() => segment.atomicLoad('int32', 16)).toThrow(BoundsError)
    expect(() => segment.asReadOnly().atomicStore('int32', 0, 1)).toThrow(ReadOnlyError)
    expect(() => segment.atomicStore('int8', 0, 128)).toThrow(ArgumentError)
    expect(() => segment.atomicStore('int64', 0, 2n ** 63n)).toThrow(ArgumentError)
    expect(() => segment.atomicUpdate('int32', 0, 'divide' as never, 1)).toThrow(ArgumentError)
    expect(() => segment.atomicLoad('float64' as never, 0)).toThrow(ArgumentError)
    expect(() => NativeScope.ofConfined().allocate(4).atomicWait('int32', 0, 0, 1)).toThrow(ArgumentError)
    expect(() => dead().atomicLoad('int32', 0)).toThrow(ScopeClosedError)
  })
})
