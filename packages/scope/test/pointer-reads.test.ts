import { AlignmentError, BoundsError, ScopeClosedError } from '@tenon/core'
import { MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
import { afterAll, describe, expect, test } from 'vitest'

const libc = SymbolLookup.ofProcess()
const mmap = Linker.downcall(libc.get('mmap'), {
  result: 'pointer',
  parameters: ['pointer', 'uint64', 'int32', 'int32', 'int32', 'int64'],
})
const mprotect = Linker.downcall(libc.get('mprotect'), {
  result: 'int32',
  parameters: ['pointer', 'uint64', 'int32'],
})
const memory = NativeScope.ofConfined()
afterAll(() => memory.close())

const PAGE = 4096
const REGION = 2 ** 20
/** Enough reads for all that is kept for the reads at one place. */
const MANY = 40

const kinds = ['Int8', 'Uint8', 'Int16', 'Uint16', 'Int32', 'Uint32', 'Int64', 'Uint64', 'Float32', 'Float64'] as const
const sizeOf = (kind: string): number => (Number(/\d+/.exec(kind)) || 8) / 8

/** Memory of the system, which ends with a page that cannot be read. */
function mapped(byteSize: number): MemorySegment {
  const [NONE, READ_WRITE, PRIVATE_ANONYMOUS] = [0, 3, 0x22]
  const address = mmap(null, byteSize + PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0).address
  expect(mprotect(MemorySegment.ofAddress(address + BigInt(byteSize)), PAGE, NONE)).toBe(0)
  return MemorySegment.ofAddress(address).reinterpret(byteSize)
}

const pointerTo = (segment: MemorySegment, byteOffset = 0): MemorySegment =>
  MemorySegment.ofAddress(segment.address + BigInt(byteOffset))

describe('a pointer of unknown size', () => {
  test.each(kinds)('get%s() reads what the segment has, in both byte orders', (kind) => {
    const segment = memory.allocate(64, 16)
    for (let i = 0; i < 64; i++) segment.setUint8(i, (i * 37 + 11) & 0xff)
    const pointer = pointerTo(segment)
    const read = `get${kind}` as 'getInt32'
    const size = sizeOf(kind)
    for (let round = 0; round < MANY; round++) {
      for (let at = 0; at + size <= 64; at += size) {
        for (const isLittle of [undefined, true, false])
          expect(pointer[read](at, isLittle)).toEqual(segment[read](at, isLittle))
      }
      if (size === 1) continue
      const unaligned = `get${kind}Unaligned` as 'getInt32Unaligned'
      expect(pointer[unaligned](3)).toEqual(segment[unaligned](3))
    }
  })

  test('reads by layouts, and the members of structs', () => {
    const segment = memory.allocate(16, 8)
    segment.setInt32(0, -5)
    segment.setFloat64(8, 2.5)
    const pointer = pointerTo(segment)
    expect(pointer.get(MemoryLayout.int32, 0)).toBe(-5)
    expect(pointer.getAtIndex(MemoryLayout.float64, 1)).toBe(2.5)
    expect(pointer.getBool(0)).toBe(true)
    segment.set(MemoryLayout.address, 0, pointerTo(segment, 8))
    expect(pointer.get(MemoryLayout.address, 0).getFloat64(0)).toBe(2.5)
  })

  test('reads the last bytes before a page that cannot be read', () => {
    const segment = mapped(PAGE)
    segment.setInt32(PAGE - 4, 42)
    segment.setUint8(PAGE - 1, 7)
    for (let i = 0; i < MANY; i++) {
      expect(pointerTo(segment, PAGE - 4).getInt32(0)).toBe(0x0700_002a)
      expect(pointerTo(segment).getUint8(PAGE - 1)).toBe(7)
    }
  })

  test('reads values at any distance from each other, and across what is kept of a place', () => {
    const segment = mapped(3 * REGION)
    const boundary = REGION - Number(segment.address % BigInt(REGION))
    for (let at = 0; at + 8 <= segment.byteSize; at += 4096 + 8) segment.setInt32(at, at)
    segment.setInt64Unaligned(boundary - 3, 0x1122_3344_5566_7788n)
    for (let round = 0; round < MANY; round++) {
      expect(pointerTo(segment, boundary - 3).getInt64Unaligned(0)).toBe(0x1122_3344_5566_7788n)
      expect(pointerTo(segment, boundary - 64).getInt64Unaligned(61)).toBe(0x1122_3344_5566_7788n)
      expect(pointerTo(segment).getInt32(4096 + 8)).toBe(4096 + 8)
      expect(pointerTo(segment).getInt64Unaligned(boundary - 3)).toBe(0x1122_3344_5566_7788n)
    }
  })

  test('cannot be written, and names reinterpret()', () => {
    const segment = memory.allocate(8, 8)
    const pointer = pointerTo(segment)
    for (const kind of kinds) {
      const write = `set${kind}` as 'setInt32'
      expect(() => pointer[write](0, 1)).toThrow(BoundsError)
    }
    let hint: string | undefined
    try {
      pointer.setInt32(0, 1)
    } catch (error) {
      hint = (error as BoundsError).hint
    }
    expect(hint).toContain('reinterpret()')
    expect(segment.getInt64(0)).toBe(0n)
  })

  test('is checked as far as it can be', () => {
    const segment = memory.allocate(8, 8)
    for (let i = 0; i < MANY; i++) {
      expect(() => pointerTo(segment, 1).getInt32(0)).toThrow(AlignmentError)
      expect(() => pointerTo(segment).getInt32(2)).toThrow(AlignmentError)
      for (const offset of [-1, 0.5, Number.NaN, '0', null, undefined])
        expect(() => pointerTo(segment).getInt32(offset as number)).toThrow(/offset|byteOffset/)
      for (const address of [0n, 1n, 8n, 4088n, 2n ** 48n, 2n ** 53n, 2n ** 64n - 8n])
        expect(() => MemorySegment.ofAddress(address).getInt32(0), String(address)).toThrow(BoundsError)
      expect(() => pointerTo(segment).getInt32(2 ** 48)).toThrow(BoundsError)
    }
  })

  test('throws ScopeClosedError if it was given a scope that is closed', () => {
    const segment = memory.allocate(8, 8)
    segment.setInt32(0, 9)
    const scope = ResourceScope.ofConfined()
    const handle = pointerTo(segment).reinterpret(0, scope)
    for (let i = 0; i < MANY; i++) expect(handle.getInt32(0)).toBe(9)
    scope.close()
    expect(() => handle.getInt32(0)).toThrow(ScopeClosedError)
  })

  test('has empty raw views, whose buffers are of no use to others', () => {
    const segment = memory.allocate(8, 8)
    segment.setInt32(0, 9)
    const pointer = pointerTo(segment)
    for (let i = 0; i < MANY; i++) expect(pointer.getInt32(0)).toBe(9)
    const views = [pointer.view(), pointer.unsafeView(Uint8Array), pointer.asReadOnly().view()]
    for (const { byteLength, buffer } of views) {
      expect([byteLength, buffer.byteLength]).toEqual([0, expect.toSatisfy((size: number) => size <= 1)])
      structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
    }
    expect(pointer.getInt32(0)).toBe(9)
    expect(pointerTo(segment).getInt32(0)).toBe(9)
    expect(pointer.fill(1).byteSize).toBe(0)
    expect(pointer.mismatch(memory.allocate(0))).toBe(-1)
    expect(pointer.copyFrom(memory.allocate(0)).toArray(MemoryLayout.int32)).toHaveLength(0)
  })

  test('is what a comparison reads for qsort()', () => {
    const numbers = Int32Array.from({ length: 1000 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >> 8)
    const segment = memory.allocate(numbers.byteLength).copyFrom(MemorySegment.ofBuffer(numbers))
    const qsort = Linker.downcall(libc.get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
    const compare = upcallStub(
      (a: MemorySegment, b: MemorySegment) => a.getInt32(0) - b.getInt32(0),
      { result: 'int32', parameters: ['pointer', 'pointer'] },
      memory,
    )
    qsort(segment, numbers.length, 4, compare)
    expect(segment.toArray(MemoryLayout.int32)).toEqual(numbers.toSorted())
  })
})
