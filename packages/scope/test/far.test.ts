import { AllocationError } from '@tenon/core'
import { hasLargeBuffers } from '@tenon/config/large-buffers'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Charset, MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'

const { uint8, int16, int32, int64, float64, address } = MemoryLayout
const SIZE = 2 ** 33 + 2 ** 20
/** The number of bytes around an offset that each operation may use. */
const ROOM = 1024
const charsets: readonly Charset[] = ['utf-8', 'latin1', 'ascii', 'utf-16le', 'utf-16be', 'utf-32le', 'utf-32be']
const kinds = ['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'] as const

/** An operation on the segment at an offset, whose result and effect must not depend on the offset. */
type Operation = (whole: MemorySegment, at: number) => unknown

const bytesOf = (segment: MemorySegment): number[] => [...(segment.toArray(uint8) as Uint8Array)]
const native = (byteSize: number): MemorySegment => MemorySegment.allocateNative(byteSize, 64)
/** The pattern 0, 1, 2, ... in separate memory. */
function counting(byteSize: number): MemorySegment {
  const segment = native(byteSize)
  for (let i = 0; i < byteSize; i++) segment.setUint8(i, i & 0xff)
  return segment
}

const point = MemoryLayout.struct({ x: int32, y: int32 })
const points = MemoryLayout.sequence(point, 8)
const Point = MemoryLayout.accessor(point)
const copyOfStruct = Linker.downcall(SymbolLookup.ofProcess().get('memmove'), {
  result: 'pointer',
  parameters: ['pointer', 'pointer', 'uint64'],
})
const quotient = MemoryLayout.struct({ quot: int32, rem: int32 })
const div = Linker.downcall(SymbolLookup.ofProcess().get('div'), { result: quotient, parameters: ['int32', 'int32'] })

const operations: Readonly<Record<string, Operation>> = {
  'fill()': (whole, at) => whole.asSlice(at + 3, 100).fill(7).byteSize,
  'copyFrom() a slice into other memory': (whole, at) => bytesOf(native(64).copyFrom(whole.asSlice(at + 1, 64))),
  'copyFrom() other memory into a slice': (whole, at) => void whole.asSlice(at + 5, 64).copyFrom(counting(64)),
  'copyFrom() between slices': (whole, at) => void whole.asSlice(at + 200, 64).copyFrom(whole.asSlice(at, 64)),
  'copyFrom() to a later overlapping slice': (w, at) => void w.asSlice(at + 3, 90).copyFrom(w.asSlice(at, 90)),
  'copyFrom() to an earlier overlapping slice': (w, at) => void w.asSlice(at, 90).copyFrom(w.asSlice(at + 3, 90)),
  'copyFrom() an alias of the memory': (whole, at) => {
    const alias = whole.asSlice(at, 128).reinterpret(128, ResourceScope.global)
    whole.asSlice(at + 7, 64).copyFrom(alias.asSlice(0, 64))
  },
  'MemorySegment.copy() from it': (whole, at) => {
    const target = native(64)
    MemorySegment.copy(whole, int32, at, target, int32, 0, 16)
    return bytesOf(target)
  },
  'MemorySegment.copy() into it': (w, at) => MemorySegment.copy(counting(64), int32, 0, w, int32, at + 8, 16),
  'MemorySegment.copy() with another byte order': (whole, at) => {
    MemorySegment.copy(whole, int16, at, whole, int16.withOrder('big'), at + 256, 100)
    const target = native(64)
    MemorySegment.copy(whole, int64.withOrder('big'), at, target, int64, 0, 8)
    return bytesOf(target)
  },
  'mismatch()': (whole, at) => {
    const [slice, copy] = [whole.asSlice(at, 300), native(300)]
    copy.copyFrom(slice)
    const equal = [
      slice.mismatch(copy),
      copy.mismatch(slice),
      slice.mismatch(slice),
      copy.asSlice(0, 9).mismatch(slice),
    ]
    copy.setUint8(299, copy.getUint8(299) ^ 1)
    return [...equal, slice.mismatch(copy), whole.asSlice(at + 1, 99).mismatch(slice)]
  },
  'toArray()': (whole, at) => [
    ...(whole.asSlice(at, 64).toArray(float64) as Float64Array),
    ...(whole.asSlice(at, 64).toArray(int32.withOrder('big')) as Int32Array),
    ...whole.asSlice(at, 8).toArray(MemoryLayout.bool),
  ],
  'view(), unsafeView() and withView()': (whole, at) => {
    const slice = whole.asSlice(at, 64)
    slice.view().setInt32(4, 42, true)
    slice.unsafeView(Uint16Array)[9] = 77
    slice.withView((view) => view.setUint8(30, 3))
    return [slice.asReadOnly().view().getInt32(4, true), slice.unsafeView(BigInt64Array).length]
  },
  'elements()': (whole, at) => Array.from(whole.asSlice(at, 64).elements(int64), (one) => one.getInt64(0)),
  'getAtIndex() and setAtIndex()': (whole, at) => {
    whole.setAtIndex(int32, at / 4 + 3, 12)
    whole.setAtIndex(float64, at / 8 + 9, 1.5)
    return [whole.getAtIndex(int32, at / 4 + 3), whole.getAtIndex(float64, at / 8 + 9), whole.getAtIndex(uint8, at + 1)]
  },
  'accessors of all kinds': (whole, at) => {
    whole.setInt8(at + 1, -5)
    whole.setUint16(at + 2, 60_000, false)
    whole.setInt32Unaligned(at + 5, -100_000)
    whole.setFloat32(at + 12, 0.5)
    whole.setFloat64Unaligned(at + 17, 2.25, false)
    whole.setUint64(at + 32, 2n ** 64n - 3n)
    whole.setBool(at + 40, true)
    return [
      whole.getInt8(at + 1),
      whole.getUint16(at + 2, false),
      whole.getInt32Unaligned(at + 5),
      whole.getBool(at + 40),
    ]
  },
  'atomics of all kinds': (whole, at) =>
    kinds.flatMap((kind, i) => {
      const [place, one] = [at + 64 + i * 8, (kind.endsWith('64') ? 1n : 1) as never]
      whole.atomicStore(kind, place, one)
      const old = whole.atomicUpdate(kind, place, 'add', one)
      return [
        old,
        whole.atomicCompareExchange(kind, place, whole.atomicLoad(kind, place), one),
        whole.atomicLoad(kind, place),
      ]
    }),
  'slices and asOverlappingSlice()': (whole, at) => {
    const overlap = whole.asSlice(at, 64).asOverlappingSlice(whole.asSlice(at + 32))
    return [overlap.byteSize, overlap.equals(whole.asSlice(at + 32, 1)), bytesOf(overlap)]
  },
  'var handles, structs and accessors of structs': (whole, at) => {
    const y = MemoryLayout.varHandle(points, MemoryLayout.element(), 'y')
    y.set(whole, at, 9, 7)
    for (const p of Point.each(whole.asSlice(at, 64))) p.x = p.y
    whole.set(point, at + 64, whole.get(point, at))
    return [y.get(whole, at, 7), Point.at(whole, at + 8).x, bytesOf(whole.get(points, at))]
  },
  addresses: (whole, at) => {
    whole.set(address, at + 16, MemorySegment.ofAddress(4096n))
    return whole.get(address, at + 16).address
  },
  'native calls': (whole, at) => {
    copyOfStruct(whole.asSlice(at + 64), whole.asSlice(at, 48), 48)
    div((byteSize: number) => whole.asSlice(at + 8, byteSize), 17, 5)
    return NativeScope.ofConfined().run((scope) => bytesOf(scope.allocate(48).copyFrom(whole.asSlice(at + 64, 48))))
  },
  ...Object.fromEntries(
    charsets.flatMap((charset): [string, Operation][] => [
      [
        `getString() and setString() in ${charset}`,
        (whole, at) => {
          whole.setString(at + 1, 'naïve ☃ 🎉', { charset })
          whole.setString(at + 201, 'x'.repeat(80), { charset })
          return [whole.getString(at + 1, charset), whole.asSlice(at + 201).getString(0, charset)]
        },
      ],
      [
        `getString() with a length in ${charset}`,
        (whole, at) => {
          whole.setString(at, 'plain text', { charset })
          return [whole.getString(at, charset, 8), whole.asSlice(at + 1, 90).getString(3, charset, 40)]
        },
      ],
      [
        `the terminator of getString() in ${charset}`,
        (whole, at) => {
          whole.asSlice(at, 64).fill(0x41)
          const messages = [0, 1, 5].map((start) => {
            try {
              return whole.asSlice(at, 64).getString(start, charset)
            } catch (error) {
              return (error as { code: string }).code
            }
          })
          whole.asSlice(at + 32, 4).fill(0)
          return [...messages, whole.asSlice(at, 64).getString(0, charset).length]
        },
      ],
    ]),
  ),
}

const offsets: Readonly<Record<string, number>> = {
  'just below 2^31': 2 ** 31 - 64,
  'at 2^31': 2 ** 31,
  'above 2^31': 2 ** 31 + 64,
  'just below 2^32': 2 ** 32 - 64,
  'at 2^32': 2 ** 32,
  'above 2^32': 2 ** 32 + 64,
  'just below 2^33': 2 ** 33 - 64,
  'at 2^33': 2 ** 33,
}

/** Fills a range with bytes that differ from those at all offsets that are smaller by a power of two. */
function paint(whole: MemorySegment, at: number, seed: number): void {
  for (let i = 0; i < ROOM; i++) whole.setUint8(at + i, ((i * 7 + seed * 31) % 255) + 1)
}

if (process.platform !== 'win32' && hasLargeBuffers) {
  describe('far from the start of the memory', () => {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-far-'))
    const scope = ResourceScope.ofConfined()
    let whole: MemorySegment
    beforeAll(() => {
      whole = MemorySegment.mapFile(join(directory, 'sparse'), scope, { access: 'write', byteSize: SIZE })
    })
    afterAll(() => {
      scope.close()
      rmSync(directory, { recursive: true })
    })

    describe.each(Object.entries(offsets))('%s', (_, at) => {
      test.each(Object.entries(operations))('%s', (_name, operation) => {
        const near = native(2 * ROOM)
        paint(near, 0, 1)
        const decoys = [0, at % 2 ** 31, at - 2 ** 31, at % 2 ** 32, at - 2 ** 32].filter(
          (offset) => offset >= 0 && offset + ROOM <= at,
        )
        for (const decoy of decoys) paint(whole, decoy, 2)
        paint(whole, at, 1)
        const before = decoys.map((decoy) => bytesOf(whole.asSlice(decoy, ROOM)))
        const expected = operation(near, 0)
        expect(operation(whole, at)).toEqual(expected)
        expect(
          Buffer.compare(Buffer.from(bytesOf(whole.asSlice(at, ROOM))), Buffer.from(bytesOf(near.asSlice(0, ROOM)))),
        ).toBe(0)
        expect(decoys.map((decoy) => bytesOf(whole.asSlice(decoy, ROOM)))).toEqual(before)
      })
    })

    test('a string may begin far inside a segment that has no terminator after it', () => {
      const at = 2 ** 32 + 2 ** 16
      whole.asSlice(at, 100).fill(0x41)
      for (const charset of charsets) {
        expect(() => whole.asSlice(0, at + 100).getString(at, charset)).toThrow(/must end with a terminator/)
      }
    })
  })
}

if (!hasLargeBuffers) {
  test('memory that is larger than the buffers of this runtime is an AllocationError', () => {
    expect(() => MemorySegment.allocateNative(2 ** 32 + 64, 64)).toThrow(AllocationError)
  })
}
