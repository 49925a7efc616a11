import { TenonError } from '@tenon/core'
import { afterAll, describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import type { StringOptions } from '../src/segment/strings.ts'
import { Linker, SymbolLookup, upcallStub, VaList } from '../src/linker.ts'

const { uint8, int32, int64, bool, address } = MemoryLayout
const SECRET = 0x5a
const SIZE = 64
const point = MemoryLayout.struct({ x: int32, y: int32 })
const points = MemoryLayout.sequence(point, 4)
const handle = MemoryLayout.varHandle(points, MemoryLayout.element(), 'y')
const Point = MemoryLayout.accessor(point)
const libc = SymbolLookup.ofProcess()
const memmove = Linker.downcall(libc.get('memmove'), {
  result: 'pointer',
  parameters: ['pointer', 'pointer', 'uint64'],
})
const div = Linker.downcall(libc.get('div'), {
  result: MemoryLayout.struct({ quot: int32, rem: int32 }),
  parameters: ['int32', 'int32'],
})
const keep = ResourceScope.ofConfined()
afterAll(() => keep.close())

interface Place {
  /** A proxy of a segment, whose properties close the scope of the segment when one of them is read. */
  readonly segment: MemorySegment
  /** Memory of another scope, which stays open. */
  readonly other: MemorySegment
  /** Makes a proxy that closes the scope, too. */
  readonly closing: <Any extends object>(target: Any) => Any
  readonly scope: ReturnType<typeof NativeScope.ofConfined>
}

const operations: Readonly<Record<string, (place: Place) => unknown>> = {
  'fill()': ({ segment }) => segment.fill(1),
  'copyFrom() as the source': ({ segment, other }) => other.copyFrom(segment).toArray(uint8),
  'copyFrom() as the target': ({ segment, other }) => segment.copyFrom(other),
  'copyFrom() as both': ({ segment }) => segment.copyFrom(segment),
  'mismatch()': ({ segment, other }) => [segment.mismatch(other), other.mismatch(segment)],
  'MemorySegment.copy() from it': ({ segment, other }) => {
    MemorySegment.copy(segment, int32, 0, other, int32.withOrder('big'), 0, 16)
    return other.toArray(uint8)
  },
  'MemorySegment.copy() into it': ({ segment, other }) =>
    MemorySegment.copy(other, int32, 0, segment, int32.withOrder('big'), 0, 16),
  'MemorySegment.copy() with closing layouts': ({ segment, other, closing }) =>
    MemorySegment.copy(other, closing(int32), 0, segment, closing(int32.withOrder('big')), 0, 16),
  'toArray()': ({ segment }) => segment.toArray(int64),
  'toArray() of booleans': ({ segment }) => segment.toArray(bool),
  'elements()': ({ segment }) => Array.from(segment.elements(int32), (one) => one.getInt32(0)),
  'getString()': ({ segment }) => segment.getString(0, 'utf-16le'),
  'getString() with a length': ({ segment }) => segment.getString(0, 'latin1', 32),
  'setString()': ({ segment }) => segment.setString(0, 'text', { charset: 'utf-32be' }),
  'setString() with closing options': ({ segment, closing }) =>
    segment.setString(0, 'text', closing<StringOptions>({ charset: 'utf-8', nul: 'allow' })),
  'toCString() with closing options': ({ scope, closing }) =>
    toCString('text', scope, closing<StringOptions>({ nul: 'allow' })),
  'toCString() with a closing arena': ({ scope, closing }) => [
    toCString('text', closing(scope)),
    toCString('a text of more than sixteen characters', closing(scope)),
  ],
  'view()': ({ segment }) => segment.view().getInt32(0),
  'view() of read-only memory': ({ segment }) => segment.asReadOnly().view().getInt32(0),
  'unsafeView()': ({ segment }) => segment.unsafeView(Uint8Array)[0],
  'unsafeView() with a closing class': ({ segment, closing }) => segment.unsafeView(closing(Uint8Array))[0],
  'withView()': ({ segment }) => segment.withView((view) => view.setInt32(0, 1)),
  'int accessors': ({ segment }) => [segment.setInt32(0, 1), segment.getInt32(4)],
  'unaligned accessors': ({ segment }) => [segment.setInt32Unaligned(1, 1), segment.getInt32Unaligned(5)],
  'far offsets of accessors': ({ segment }) => [segment.setUint8(0, 1), segment.getUint8(1)],
  'bool and 64-bit accessors': ({ segment }) => [
    segment.setBool(0, true),
    segment.setInt64(8, 1n),
    segment.getUint64(16),
  ],
  atomics: ({ segment }) => [
    segment.atomicStore('int32', 0, 1),
    segment.atomicUpdate('int32', 4, 'add', 1),
    segment.atomicCompareExchange('int32', 8, SECRET * 0x01010101, 1),
    segment.atomicLoad('int32', 12),
  ],
  'get() and set()': ({ segment, other }) => [segment.set(point, 0, other.asSlice(0, 8)), segment.get(int32, 8)],
  'getAtIndex() and setAtIndex()': ({ segment }) => [segment.setAtIndex(int32, 0, 1), segment.getAtIndex(int32, 2)],
  'addresses of it': ({ segment, other }) => other.set(address, 0, segment),
  'var handles': ({ segment }) => [handle.set(segment, 0, 1, 1), handle.get(segment, 0, 2)],
  'accessors of structs': ({ segment }) => {
    const first = Point.at(segment)
    first.x = 1
    return first.y
  },
  'asSlice(), asReadOnly() and asOverlappingSlice()': ({ segment, other }) => [
    segment.asSlice(8, 8, 8).fill(1),
    segment.asReadOnly().getInt32(0),
    segment.asOverlappingSlice(other).fill(1),
  ],
  'reinterpret()': ({ segment }) => segment.reinterpret(SIZE * 2).fill(1),
  'reinterpret() into another scope': ({ segment }) => segment.reinterpret(8, keep).byteSize,
  'a slicing allocator': ({ segment }) => NativeAllocator.ofSlices(segment).allocate(8).fill(1),
  'NativeAllocator.allocateFrom()': ({ segment }) => NativeAllocator.allocateFrom(() => segment, int32, 1, 2),
  'a va_list': ({ segment }) =>
    VaList.ofArguments(
      () => segment,
      (builder) => builder.int32(1),
    ),
  'an argument of a call': ({ segment, other }) => [memmove(segment, other, 16), memmove(other, segment, 16)],
  'arguments of a call, both': ({ segment }) => memmove(segment, segment.asSlice(8), 8),
  'the struct that a call returns': ({ segment }) => div(() => segment.asSlice(0, 8), 17, 5),
  'a struct that is passed to a call': ({ segment }) => {
    const labs = Linker.downcall(libc.get('llabs'), {
      result: 'int64',
      parameters: [MemoryLayout.struct({ value: int64 })],
    })
    return labs(segment.asSlice(0, 8))
  },
  'a symbol': ({ segment }) => Linker.downcall(segment, { result: 'int32' }, {}).name,
  'a stub in a scope with closing options': ({ scope, closing }) =>
    upcallStub(() => 0, { result: 'int32' }, scope, closing({ timeout: 1 })).byteSize,
  'handoff()': ({ segment, scope }) => scope.handoff([segment]),
}

/** Memory of a scope, and a proxy of it that closes the scope when its property number `reading` is read. */
function closingAt(reading: number): Place & { end: () => { readings: number; secret: MemorySegment | undefined } } {
  const scope = NativeScope.ofConfined()
  const owner = NativeScope.ofConfined()
  let readings = 0
  let secret: MemorySegment | undefined
  function closing<Any extends object>(target: Any): Any {
    return new Proxy(target, {
      get(of, name) {
        if (readings++ === reading && scope.isAlive) {
          try {
            scope.close()
          } catch {
            // A hold keeps it open, as it should.
          }
          // The next scope gets the chunk that was returned last.
          if (!scope.isAlive)
            secret = NativeScope.ofConfined()
              .allocate(SIZE * 8)
              .fill(SECRET)
        }
        return Reflect.get(of, name, of) as unknown
      },
    })
  }
  return {
    scope,
    closing,
    // The other half is for the operations that make a segment larger.
    segment: closing(scope.allocate(SIZE * 2, 64).asSlice(0, SIZE)),
    other: owner.allocate(SIZE, 64),
    end: () => {
      owner.close()
      scope[Symbol.dispose]()
      return { readings, secret }
    },
  }
}

/** Whether a result has bytes of the secret. */
function hasSecret(value: unknown): boolean {
  if (value === 0x5a5a5a5a || value === 0x5a5a5a5a5a5a5a5an) return true
  if (typeof value === 'string') return value.includes('ZZZZ') || value.includes('婚')
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return Array.from(value as ArrayLike<unknown>).some((one) => one === SECRET || hasSecret(one))
  return false
}

describe('a proxy of a segment closes the scope at any reading of a property', () => {
  test.each(Object.entries(operations))('%s uses no memory of another scope', (_, operation) => {
    for (let reading = 0; ; reading++) {
      const { end, ...place } = closingAt(reading)
      let result: unknown
      try {
        result = operation(place)
      } catch (error) {
        expect(error).toBeInstanceOf(TenonError)
      }
      const { readings, secret } = end()
      if (secret !== undefined) {
        expect(hasSecret(result), `the result at reading ${reading}`).toBe(false)
        expect(
          (secret.toArray(uint8) as Uint8Array).every((byte) => byte === SECRET),
          `a write at reading ${reading}`,
        ).toBe(true)
        ;(secret.scope as ResourceScope).close()
      }
      if (readings <= reading) break
      expect(reading).toBeLessThan(2000)
    }
  })
})

describe('an object that inherits from an arena', () => {
  test.each([
    ['confined', () => NativeScope.ofConfined()],
    ['shared', () => NativeScope.ofShared()],
  ])('allocates from the %s arena, and leaves nothing for the next one', (_, open) => {
    // Arenas get a chunk when they are opened once a chunk has been given back.
    for (let round = 0; round < 3; round++) {
      const arena = open()
      const heir = Object.create(arena) as typeof arena
      const allocations = [heir, arena, heir].map((of) => of.allocate(64))
      allocations.push(toCString('a text that is longer than the short ones', heir), arena.allocate(8))
      for (const [i, one] of allocations.entries())
        for (const two of allocations.slice(i + 1)) expect(one.asOverlappingSlice(two).byteSize).toBe(0)
      for (const one of allocations) one.fill(SECRET)
      arena.close()
      const next = open()
      expect(next.allocate(1024).toArray(uint8)).toEqual(new Uint8Array(1024))
      next.close()
    }
  })
})
