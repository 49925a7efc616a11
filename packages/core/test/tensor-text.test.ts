import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { cpu, gcAllocator, tensor, type Element } from '@tenon/core'

describe('a tensor as text', () => {
  test.each([
    ['f32', [2, 2], [1, 0.1, -0, Number.NaN], 'Tensor float32[2,2] [1, 0.1, -0, NaN]'],
    ['f64', [1], [0.1234567890123], 'Tensor float64[1] [0.1234567890123]'],
    ['s64', [], [2n ** 60n], 'Tensor int64[] [1152921504606846976]'],
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
    ['f32', [0, 4], [], 'Tensor float32[0,4] []'],
  ] as const)('%s%j', (dtype, shape, values, text) => {
    const x = tensor(dtype, [...shape], [...values] as Element[])
    expect([String(x), inspect(x), x.toString()]).toEqual([text, text, text])
    expect(inspect({ x })).toBe(`{ x: ${text} }`)
  })

  test('a large one shows its first values only', () => {
    const x = tensor('u8', [100], new Uint8Array(100).fill(7))
    expect(String(x)).toBe(`Tensor uint8[100] [${'7, '.repeat(16)}... 84 more]`)
  })

  test('strides and packed elements are followed', () => {
    const columns = tensor('u8', [2, 2], gcAllocator.allocate(4), { strides: [1, 2] })
    new Uint8Array(columns.view().buffer, columns.view().byteOffset).set([1, 2, 3, 4])
    expect(String(columns)).toBe('Tensor uint8[2,2] [1, 3, 2, 4]')
    expect(String(tensor('uint4', [3], [1, 15, 2], { packing: 'packed' }))).toBe('Tensor uint4[3] [1, 15, 2]')
  })

  test('as JSON: type and first values, no data', () => {
    const json = JSON.stringify({ x: tensor('s64', [2], [1n, 2n]) })
    expect(JSON.parse(json)).toEqual({ x: { dtype: 'int64', shape: [2], values: '[1, 2]' } })
  })

  test('dead memory and that of another device say so, and never throw', () => {
    const dead = tensor('f32', [2], [1, 2])
    structuredClone(null, { transfer: [dead.view().buffer as ArrayBuffer] })
    const away = tensor('f32', [2], gcAllocator.allocate(8), { device: { ...cpu, type: 2 } })
    for (const [x, reason] of [
      [dead, /^Tensor float32\[2\] \(.*detached.*\)$/],
      [away, /^Tensor float32\[2\] \(.* on device type 2\)$/],
    ] as const) {
      expect(String(x)).toMatch(reason)
      expect(inspect(x)).toMatch(reason)
      expect(JSON.stringify(x)).toContain('"shape":[2]')
    }
  })
})

test.each([[{}], [{ allocator: gcAllocator }], ['malloc'], [5], [Map]])('%j is no allocator', (allocator) => {
  expect(() => tensor('f32', [1], undefined, { allocator: allocator as never })).toThrow(
    /^allocator must have allocate\(byteSize, byteAlignment\), got .*\nHint: Use NativeScope\.ofConfined\(\)/,
  )
})
