import { AssertionError } from 'node:assert'
import { ArgumentError, ScopeClosedError, tensor } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { assertClose } from '../src/entries/testing.ts'

describe('assertClose()', () => {
  test.each([
    [tensor([1, 2]), tensor([1, 2.00001])],
    [tensor([1, 2]), [1, 2]],
    [tensor('f64', [1], [0.1]), [0.1]],
    [tensor('f32', [1], [0.1]), [0.1]],
    [tensor([[1, 2]]), new Float64Array([1, 2])],
    [new Float32Array(3), new Float32Array(3)],
    [tensor([Infinity, -Infinity]), [Infinity, -Infinity]],
    [tensor('s64', [1], [2n ** 62n]), [2n ** 62n + 1n]],
    [tensor('bool', [1], [true]), [1]],
    [tensor('c64', [[1, 2]]), [[1, 2.000001]]],
    [tensor('c64', [2], [1, 2]), [[1, 0], 2]],
    [tensor('f32', [0, 3]), tensor('f64', [0, 3])],
    [5, 5],
    [
      tensor([
        [1, 3],
        [2, 4],
      ]).transpose(),
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [tensor('bf16', [1], [0.1]), tensor('f32', [1], [0.1]), { rtol: 1e-2 }],
    [[1], [2], { atol: 1 }],
  ] as const)('case %# is close', (actual, expected, options?: object) => {
    assertClose(actual as never, expected as never, options)
  })

  test.each([
    [
      tensor([1, 2]),
      [1, 2.1],
      /^actual\[1\] must be 2.1 within 0.0000210\d*, got 2. It is the worst of 1 elements that are not close, of 2$/,
    ],
    [
      tensor([
        [1, 2],
        [3, 4],
      ]),
      [
        [2, 2],
        [3, 9],
      ],
      /^actual\[1\]\[1\] must be 9 .*, got 4\. .* 2 elements .* of 4$/,
    ],
    [tensor([NaN, 2]), [NaN, 9], /^actual\[0\] must be NaN/],
    [tensor([Infinity]), [1], /^actual\[0\] must be 1 within .*, got Infinity$/],
    [tensor([1]), [Infinity], /^actual\[0\] must be Infinity/],
    [tensor([Infinity]), [-Infinity], /^actual\[0\] must be -Infinity/],
    [tensor('s64', [1], [2n ** 60n]), [0n], /^actual\[0\] must be 0 within 1e-8, got 1152921504606846976$/],
    [tensor('c64', [[1, 2]]), [[1, -2]], /^actual\[0\] must be \[1, -2\] .*, got \[1, 2\]$/],
    [5, 6, /^actual must be 6/],
    [new Float32Array([1]), new Float32Array([2]), /^actual\[0\]/],
    [tensor([1, 2]), [1], /^actual must have the shape \[1\], got \[2\]$/],
    [tensor([1, 2]), 1, /^actual must have the shape \[\], got \[2\]$/],
    [tensor([[1, 2]]), tensor([1, 2]), /^actual must have the shape \[2\], got \[1, 2\]$/],
    [tensor([[1, 2]]), new Float32Array(3), /^actual must have the shape \[3\], got \[1, 2\]$/],
  ] as const)('case %# names the worst element', (actual, expected, message) => {
    const run = (): void => assertClose(actual as never, expected as never)
    expect(run).toThrow(AssertionError)
    expect(run).toThrow(message)
  })

  test('the tolerance is atol + rtol * |expected|, and no more', () => {
    assertClose([1.5], [1], { rtol: 0.25, atol: 0.25 })
    expect(() => assertClose([1.5000001], [1], { rtol: 0.25, atol: 0.25 })).toThrow(AssertionError)
    assertClose([0], [0], { rtol: 0, atol: 0 })
    expect(() => assertClose([5e-324], [0], { rtol: 0, atol: 0 })).toThrow(AssertionError)
  })

  test.each([
    [[null, [1]], /must be a tensor, a TypedArray, or nested arrays of numbers, got null/],
    [[[1], 'x'], /expected must be a tensor/],
    [[[1], [undefined]], /values\[0\] must be a number, a bigint or a boolean/],
    [[[1], new DataView(new ArrayBuffer(4))], /expected must be a tensor/],
    [[[[1], [1, 2]], [1]], /values\[1\] has 2 elements, values\[0\] has 1/],
    [[1, 1, { rtol: -1 }], /rtol must be a finite number from 0, got -1/],
    [[1, 1, { atol: NaN }], /atol must be a finite number/],
    [[1, 1, { atol: '1' }], /atol must be a number from 0/],
    [[1, 1, { tol: 1 }], /must not have the option "tol"/],
  ])('case %# is not an assertion', (args, message) => {
    expect(() => assertClose(...(args as unknown as [number, number]))).toThrow(ArgumentError)
    expect(() => assertClose(...(args as unknown as [number, number]))).toThrow(message)
  })

  test('a tensor of closed memory is refused', () => {
    const x = tensor([1])
    ;(x.view().buffer as ArrayBuffer).transfer()
    expect(() => assertClose(x, [1])).toThrow(ScopeClosedError)
  })
})
