import { AllocationError, ArgumentError, ScopeClosedError } from '@tenon/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isInstrumented } from '../src/diagnostics/debug.ts'
import { MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'

const KiB = 1024
const allocations = {
  'NativeScope.ofConfined()': () => {
    const scope = NativeScope.ofConfined()
    return { scope, allocate: (size: number, alignment?: number) => scope.allocate(size, alignment) }
  },
  'NativeScope.ofShared()': () => {
    const scope = NativeScope.ofShared()
    return { scope, allocate: (size: number, alignment?: number) => scope.allocate(size, alignment) }
  },
  'allocateNative(ofConfined)': () => {
    const scope = ResourceScope.ofConfined()
    return {
      scope,
      allocate: (size: number, alignment?: number) => MemorySegment.allocateNative(size, alignment, scope),
    }
  },
}

for (const [name, make] of Object.entries(allocations)) {
  describe(name, () => {
    test('numbers are checked before the state of the scope', () => {
      const { scope, allocate } = make()
      scope.close()
      for (const size of [-1, Number.NaN, 1.5, -(2 ** 31), 2 ** 53, Infinity, -1n, 2n ** 64n, null, '8', {}]) {
        expect(() => allocate(size as number), String(size)).toThrow(ArgumentError)
      }
      for (const alignment of [0, -1, 3, 1.5, 15, -15, Number.NaN, 2 ** 31, 2 ** 53, 0n, null, '8']) {
        expect(() => allocate(8, alignment as number), String(alignment)).toThrow(ArgumentError)
      }
      expect(() => allocate(8, 8)).toThrow(ScopeClosedError)
    })

    test('an empty segment has an aligned address of its own', () => {
      const { scope, allocate } = make()
      const segments = [1, 4, 8, 64, 4096].flatMap((alignment) => {
        const pair = [allocate(0, alignment), allocate(0, alignment)]
        for (const { address, byteSize } of pair) {
          expect([address % BigInt(alignment), byteSize]).toEqual([0n, 0])
          expect(address).not.toBe(0n)
        }
        return pair
      })
      expect(new Set(segments.map(({ address }) => address)).size).toBe(segments.length)
      scope.close()
    })

    test('memory is zeroed, also when it is reused', () => {
      for (let round = 0; round < 3; round++) {
        const { scope, allocate } = make()
        for (const size of [1, 16, 129, 8102, 20 * KiB, 300 * KiB]) {
          const segment = allocate(size, 1)
          expect(segment.mismatch(MemorySegment.ofBuffer(new Uint8Array(size))), `${size}`).toBe(-1)
          segment.fill(0xff)
        }
        scope.close()
      }
    })

    test('sizes and alignments are exact', () => {
      const { scope, allocate } = make()
      for (let size = 8; size <= 4 * KiB * KiB; size *= 8) {
        const segment = allocate(size, size)
        expect([segment.byteSize, segment.address % BigInt(size)]).toEqual([size, 0n])
        segment.setUint8(size - 1, 1)
      }
      scope.close()
    })

    test('throws AllocationError for too much memory, and the scope stays usable', () => {
      const { scope, allocate } = make()
      expect(() => allocate(2 ** 52, 8)).toThrow(AllocationError)
      expect(allocate(8, 8).getInt32(0)).toBe(0)
      scope.close()
    })

    test('segments never overlap', () => {
      fc.assert(
        fc.property(
          fc.array(fc.record({ size: fc.nat(40 * KiB), power: fc.nat(12) }), { minLength: 2, maxLength: 40 }),
          (requests) => {
            const { scope, allocate } = make()
            try {
              const ranges = requests
                .map(({ size, power }) => {
                  const segment = allocate(size, 2 ** power)
                  if (segment.address % BigInt(2 ** power) !== 0n) throw new Error('misaligned')
                  return [segment.address, segment.address + BigInt(Math.max(size, 1))] as const
                })
                .toSorted(([a], [b]) => Number(a - b))
              return ranges.every(([start], i) => i === 0 || ranges[i - 1]![1] <= start)
            } finally {
              scope.close()
            }
          },
        ),
        { numRuns: 50 },
      )
    })
  })
}

// In an instrumented run each allocation has a block of its own, so there are no chunks and no pool.
if (!isInstrumented)
  describe('the arena', () => {
    test('a large request gets a block of its own, and the current chunk stays current', () => {
      const scope = NativeScope.ofConfined()
      const before = scope.allocate(16)
      const large = scope.allocate(512 * KiB)
      const after = scope.allocate(16)
      expect(after.address - before.address).toBe(16n)
      expect(large.byteSize).toBe(512 * KiB)
      scope.close()
    })

    test('chunks grow up to 1 MiB', () => {
      const scope = NativeScope.ofConfined()
      const segments = Array.from({ length: 600 }, (_, i) => scope.allocate(8 * KiB).fill(i & 0xff))
      segments.forEach((segment, i) => {
        expect([segment.getUint8(0), segment.getUint8(8 * KiB - 1)]).toEqual([i & 0xff, i & 0xff])
      })
      const { liveBytes } = ResourceScope.stats()
      expect(liveBytes).toBeLessThan(8 * KiB * KiB)
      scope.close()
    })

    test('the next arena reuses the memory, zeroed as far as it was allocated', () => {
      for (const used of [0, 1, 8, 127, 128, 129, 1000, 4096, 16 * KiB]) {
        const first = NativeScope.ofConfined()
        const start = first.allocate(1, 64)
        const address = start.address
        if (used > 0) first.allocate(used, 1).fill(0xff)
        first.close()
        const second = NativeScope.ofConfined()
        const again = second.allocate(16 * KiB, 64)
        expect(again.address).toBe(address)
        expect(again.mismatch(MemorySegment.ofBuffer(new Uint8Array(16 * KiB))), `${used}`).toBe(-1)
        second.close()
      }
    })

    test('a segment of the earlier arena stays inaccessible when its memory is reused', () => {
      const first = NativeScope.ofConfined()
      const stale = first.allocate(16)
      first.close()
      const second = NativeScope.ofConfined()
      const fresh = second.allocate(16)
      expect(fresh.address).toBe(stale.address)
      expect(() => stale.getInt32(0)).toThrow(ScopeClosedError)
      expect(() => stale.setInt32(0, 1)).toThrow(ScopeClosedError)
      expect(fresh.getInt32(0)).toBe(0)
      expect(fresh.scope).not.toBe(stale.scope)
      second.close()
    })

    test('two open arenas have separate memory, also when they close out of order', () => {
      const [one, other] = [NativeScope.ofConfined(), NativeScope.ofConfined()]
      const [a, b] = [one.allocate(1000).fill(1), other.allocate(1000).fill(2)]
      expect(a.asOverlappingSlice(b).byteSize).toBe(0)
      one.close()
      const third = NativeScope.ofConfined()
      const c = third.allocate(1000)
      expect([b.getUint8(0), c.getUint8(0)]).toEqual([2, 0])
      other.close()
      expect(c.getUint8(999)).toBe(0)
      third.close()
    })

    test('a chunk with a raw view is never lent again', () => {
      const first = NativeScope.ofConfined()
      const segment = first.allocate(16)
      const view = segment.view()
      const array = segment.unsafeView(Int32Array)
      view.setInt32(0, 42, true)
      expect(array[0]).toBe(42)
      first.close()
      expect(() => view.getInt32(0)).toThrow(TypeError)
      expect([array[0], array.length]).toEqual([undefined, 0])
      const second = NativeScope.ofConfined()
      second.allocate(16)
      expect(view.buffer.byteLength).toBe(0)
      second.close()
    })

    test('the pool keeps a bounded number of chunks', () => {
      const scopes = Array.from({ length: 100 }, () => NativeScope.ofConfined())
      for (const scope of scopes) for (const size of [16, 2 * KiB, 16 * KiB, 64 * KiB, 256 * KiB]) scope.allocate(size)
      expect(ResourceScope.stats().liveBytes).toBeGreaterThan(100 * KiB * KiB)
      for (const scope of scopes) scope.close()
      const { liveBytes, pooledBytes } = ResourceScope.stats()
      expect(liveBytes).toBe(0)
      expect(pooledBytes).toBeLessThanOrEqual(6 * KiB * KiB)
    })
  })
