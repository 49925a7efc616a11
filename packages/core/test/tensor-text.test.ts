import { inspect } from 'node:util'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { cpu, gcAllocator, TenonError, tensor, type Element, type JsonElement, type NestedArray } from '@tenon/core'

describe('a tensor as text', () => {
  test.each([
    ['f32', [2, 2], [1, 0.1, -0, Number.NaN], 'Tensor float32[2, 2] [[1, 0.10000000149011612], [-0, NaN]]'],
    ['f64', [1], [0.1234567890123], 'Tensor float64[1] [0.1234567890123]'],
    ['s64', [], [2n ** 60n], 'Tensor int64[] 1152921504606846976'],
    ['s32', [1], [123456789], 'Tensor int32[1] [123456789]'],
    ['pred', [2], [true, false], 'Tensor bool[2] [true, false]'],
    [
      'c64',
      [2],
      [
        [1, -2],
        [0, 0.5],
      ],
      'Tensor complex64[2] [1-2j, 0+0.5j]',
    ],
    ['f32', [0, 4], [], 'Tensor float32[0, 4] []'],
    ['f32', [2, 0], [], 'Tensor float32[2, 0] [[], []]'],
  ] as const)('%s%j', (dtype, shape, values, text) => {
    const x = tensor<string>(dtype, [...shape], [...values] as Element[])
    expect([String(x), inspect(x), x.toString()]).toEqual([text, text, text])
    expect(inspect({ x })).toBe(`{ x: ${text} }`)
  })

  test('an axis of more than twelve elements shows six at each end', () => {
    const numbers = Array.from({ length: 100 }, (_, i) => i)
    expect(String(tensor(numbers.slice(0, 12)))).toBe('Tensor float32[12] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]')
    expect(String(tensor(numbers.slice(0, 13)))).toContain('[0, 1, 2, 3, 4, 5, ... 1 more, 7, 8, 9, 10, 11, 12]')
    expect(String(tensor(numbers))).toBe('Tensor float32[100] [0, 1, 2, 3, 4, 5, ... 88 more, 94, 95, 96, 97, 98, 99]')
    expect(inspect(tensor('u8', [14, 14]))).toBe(
      `Tensor uint8[14, 14] [\n${[6, 6]
        .map((count) =>
          Array.from({ length: count }, () => '  [0, 0, 0, 0, 0, 0, ... 2 more, 0, 0, 0, 0, 0, 0]').join(',\n'),
        )
        .join(',\n  ... 2 more,\n')}\n]`,
    )
  })

  test('long rows fill lines of 80 columns', () => {
    const lines = inspect(tensor('f64', [12], new Float64Array(12).fill(1 / 3))).split('\n')
    expect(lines[0]).toBe('Tensor float64[12] [')
    expect(lines[1]).toBe(
      '  0.3333333333333333, 0.3333333333333333, 0.3333333333333333, 0.3333333333333333,'.slice(0, -21) + ',',
    )
    expect(lines.every((line) => line.length <= 80)).toBe(true)
  })

  test('at most 1000 elements are read, however many axes there are', () => {
    for (const shape of [
      [20, 20, 20],
      Array.from({ length: 14 }, () => 2),
      [1e9, 0],
      [3000, 13, 1],
      [...Array.from({ length: 12 }, () => 20), 0],
    ]) {
      const text = String(tensor('u8', shape))
      expect(text.match(/\b0\b(?= *[,\]])/g)?.length ?? 0).toBeLessThanOrEqual(1000 + shape.length)
      expect(text.length).toBeLessThan(40_000)
    }
    const huge = tensor('u8', [2 ** 40], gcAllocator.allocate(1), { strides: [0] })
    expect(String(huge)).toBe(`Tensor uint8[${2 ** 40}] [0, 0, 0, 0, 0, 0, ... ${2 ** 40 - 12} more, 0, 0, 0, 0, 0, 0]`)
  })

  test('strides and packed elements are followed', () => {
    const columns = tensor('u8', [2, 2], new Uint8Array([1, 2, 3, 4])).transpose()
    expect(String(columns)).toBe('Tensor uint8[2, 2] [[1, 3], [2, 4]]')
    expect(String(tensor('uint4', [3], [1, 15, 2], { packing: 'packed' }))).toBe('Tensor uint4[3] [1, 15, 2]')
  })

  test('as JSON: all elements as nested arrays, of which 64-bit integers, NaN and infinities are text', () => {
    const { NaN: nan, POSITIVE_INFINITY: infinity } = Number
    const parsed = (x: unknown): unknown => JSON.parse(JSON.stringify({ x })).x
    expect(parsed(tensor('f32', [2, 2], [1, 2, 3, 4]).transpose())).toEqual([
      [1, 3],
      [2, 4],
    ])
    expect(parsed(tensor('f32', [5000]))).toEqual(Array(5000).fill(0))
    expect(parsed(tensor('s64', [2], [1n, -(2n ** 60n)]))).toEqual(['1', '-1152921504606846976'])
    expect(parsed(tensor('f64', [4], [nan, infinity, -infinity, 0.5]))).toEqual(['NaN', 'Infinity', '-Infinity', 0.5])
    expect(parsed(tensor('c64', [1], [[nan, 1]]))).toEqual([['NaN', 1]])
    expect(parsed(tensor('pred', [], [true]))).toBe(true)
    expect(parsed(tensor('uint4', [3], [1, 15, 2], { packing: 'packed' }))).toEqual([1, 15, 2])
    expect(parsed(tensor('f32', [2, 0]))).toEqual([[], []])
    expectTypeOf(tensor('f32', [1]).toJSON()).toEqualTypeOf<NestedArray<JsonElement>>()
  })

  test('dead memory and that of another device say so as text, and throw as JSON', () => {
    const dead = tensor('f32', [2], [1, 2])
    ;(dead.view().buffer as ArrayBuffer).transfer()
    const away = tensor('f32', [2], gcAllocator.allocate(8), { device: { ...cpu, type: 2 } })
    for (const [x, reason] of [
      [dead, /^Tensor float32\[2\] \(.*detached.*\)$/],
      [away, /^Tensor float32\[2\] \(.* on device type 2\)$/],
    ] as const) {
      expect(String(x)).toMatch(reason)
      expect(inspect(x)).toMatch(reason)
      expect(() => JSON.stringify(x)).toThrow(TenonError)
    }
  })
})

test('a segment of another copy of the package is explained', () => {
  class MemorySegment {
    readonly byteSize = 4
  }
  const allocator = { allocate: () => new MemorySegment() as never }
  expect(() => tensor('f32', [1], undefined, { allocator })).toThrow(
    /^allocator must allocate a segment, got an object of class MemorySegment\nHint: Install one copy of @tenon\/core/,
  )
  expect(() => tensor('f32', [1], undefined, { allocator: { allocate: () => null as never } })).toThrow(
    /^allocator must allocate a segment, got null\nSee:/,
  )
})

test.each([[{}], [{ allocator: gcAllocator }], ['malloc'], [5], [Map]])('%j is no allocator', (allocator) => {
  expect(() => tensor('f32', [1], undefined, { allocator: allocator as never })).toThrow(
    /^allocator must have allocate\(byteSize, byteAlignment\), got .*\nHint: Use NativeScope\.ofConfined\(\)/,
  )
})
