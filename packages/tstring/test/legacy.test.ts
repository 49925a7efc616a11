import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StringTensor } from '../src/index.ts'
import { decodeVarint, encodeVarint } from '../src/layouts/varint.ts'
import { bytesOf, hex, memory } from './helpers.ts'

const over = (text: string, count: number, validate: 'strict' | 'lenient' = 'strict'): StringTensor =>
  StringTensor.ofSegment(memory(hex(text)), { layout: 'legacy', abi: 'le64', shape: [count], validate })

describe('the legacy layout', () => {
  it('offsets count from the end of the table', () => {
    const tensor = StringTensor.from(['A', 'bcd'], { layout: 'legacy', abi: 'le64' })
    expect(bytesOf(tensor.segment)).toEqual(hex('00*8 02 00*7 01 41 03 626364'))
    const big = StringTensor.from(['A', 'bcd'], { layout: 'legacy', abi: 'be64' })
    expect(bytesOf(big.segment)).toEqual(hex('00*8 00*7 02 01 41 03 626364'))
    // The vector of upstream's own test, and the scalar with the same bytes.
    expect(over('00*8 01 41', 1).toArray()).toEqual(['A'])
    const scalar = StringTensor.from(['A'], { layout: 'legacy', shape: [] })
    expect([bytesOf(scalar.segment).length, scalar.shape, scalar.get(0)]).toEqual([10, [], 'A'])
  })

  it('varints are correct at the edges of their lengths', () => {
    const edges: [bigint, number][] = [
      [0n, 1],
      [127n, 1],
      [128n, 2],
      [16383n, 2],
      [16384n, 3],
      [2n ** 21n - 1n, 3],
      [2n ** 21n, 4],
      [2n ** 28n, 5],
      [2n ** 32n, 5],
      [2n ** 35n - 1n, 5],
      [2n ** 35n, 6],
      [2n ** 63n - 1n, 9],
      [2n ** 63n, 10],
      [2n ** 64n - 1n, 10],
    ]
    for (const [value, byteSize] of edges) {
      const bytes = encodeVarint(value)
      expect(bytes.length).toBe(byteSize)
      expect(decodeVarint(bytes)).toEqual({ value, byteSize })
      if (value < 2n ** 53n) expect(encodeVarint(Number(value))).toEqual(bytes)
    }
    for (const size of [127, 128, 16383, 16384, 2 ** 21 - 1, 2 ** 21]) {
      const tensor = StringTensor.from(['x'.repeat(size)], { layout: 'legacy' })
      expect(tensor.byteLength(0)).toBe(size)
      expect(StringTensor.ofSegment(tensor.segment, { layout: 'legacy', shape: [1] }).byteLength(0)).toBe(size)
    }
    fc.assert(fc.property(fc.bigInt(0n, 2n ** 64n - 1n), (value) => decodeVarint(encodeVarint(value)).value === value))
    expect(() => encodeVarint(2n ** 64n)).toThrow(RangeError)
    expect(() => encodeVarint(-1)).toThrow(RangeError)
    expect(() => decodeVarint(hex('80 80'))).toThrow(RangeError)
  })

  it('a tensor without elements has no bytes', () => {
    expect(StringTensor.from([], { layout: 'legacy' }).segment.byteSize).toBe(0)
    expect(over('', 0).toArray()).toEqual([])
    expect(() => over('00', 0)).toThrow(/legacy-tight/)
  })

  it('the table needs eight bytes for each element, without integer overflow', () => {
    expect(() => over('00*8 01 41', 2)).toThrow(/table-size.*2 elements.*10 bytes/)
    expect(() => over('00*8 01 41', 2 ** 32 - 1)).toThrow(/table-size/)
  })

  it('offsets are unsigned and below the size of the data', () => {
    expect(() => over('02 00*7 01 41', 1, 'lenient')).toThrow(/legacy-offset.*element 0.*below the 2.*got 2/)
    expect(() => over('00*7 80 01 41', 1, 'lenient')).toThrow(/legacy-offset.*9223372036854776000/)
  })

  it('a length must not exceed the bytes that are left', () => {
    expect(() => over('00*8 02 41', 1, 'lenient')).toThrow(/legacy-length.*element 0.*at most the 1 bytes.*got 2/)
    expect(() => over('00*8 ff*9 01 41', 1, 'lenient')).toThrow(/legacy-length/)
    expect(() => over('00*8 80', 1, 'lenient')).toThrow(/varint/)
    expect(() => over('00*8 80*10 00', 1, 'lenient')).toThrow(/varint/)
  })

  it('strict requires canonical lengths without gaps, and lenient accepts what upstream accepted', () => {
    const overLong = '00*8 81 00 41'
    expect(over(overLong, 1, 'lenient').toArray()).toEqual(['A'])
    expect(() => over(overLong, 1)).toThrow(/varint-canonical.*take 1 bytes, got 2/)
    // Bits above the 64th of a length are dropped.
    expect(over('00*8 81 80*8 02 41', 1, 'lenient').toArray()).toEqual(['A'])
    const gap = '00*8 03 00*7 01 41 ff 01 42'
    expect(over(gap, 2, 'lenient').toArray()).toEqual(['A', 'B'])
    expect(() => over(gap, 2)).toThrow(/legacy-tight.*element 1/)
    const backwards = '02 00*7 00*8 01 41 01 42'
    expect(over(backwards, 2, 'lenient').toArray()).toEqual(['B', 'A'])
    expect(() => over(backwards, 2)).toThrow(/legacy-tight.*element 0/)
    expect(() => over('00*8 01 41 ff', 1)).toThrow(/legacy-tight/)
  })

  it('the last string may be empty, and its length is a byte of the data', () => {
    expect(over('00*8 02 00*7 01 41 00', 2).toArray()).toEqual(['A', ''])
    expect(() => over('00*8 02 00*7 01 41', 2, 'lenient')).toThrow(/legacy-offset.*element 1/)
  })
})
