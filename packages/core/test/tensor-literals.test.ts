import { describe, expect, test } from 'vitest'
import { ArgumentError, gcAllocator, tensor, type NativeAllocator } from '@tenon/core'

describe('the second argument of tensor() is a shape or a literal', () => {
  test('an array of numbers without a third argument is a shape', () => {
    expect(tensor('f32', [2, 3])).toMatchObject({ dtype: 'float32', shape: [2, 3] })
    expect(tensor('f32', [2, 3]).toArray()).toEqual([0, 0, 0, 0, 0, 0])
    expect(tensor('f32', [])).toMatchObject({ shape: [] })
    expect(tensor('c64', [2])).toMatchObject({ shape: [2] })
  })

  test('with a third argument the second one is always the shape', () => {
    expect(tensor('f32', [2], [2, 3]).toArray()).toEqual([2, 3])
    expect(() => tensor('f32', [[2]] as never, [2, 3])).toThrow(/shape\[0\] must be a number/)
  })

  test('anything else is a literal, also with options', () => {
    expect(tensor('s64', [2n, 3n])).toMatchObject({ shape: [2] })
    expect(tensor('s64', [[2, 3n]]).toArray()).toEqual([2n, 3n])
    expect(
      tensor('bool', [
        [true, 0],
        [1, false],
      ]).toArray(),
    ).toEqual([true, false, true, false])
    expect(tensor('f32', 1.5)).toMatchObject({ shape: [] })
    expect(tensor('f32', [[]])).toMatchObject({ shape: [1, 0] })
    expect(tensor('f32', [[], []])).toMatchObject({ shape: [2, 0] })
    const packed = tensor('int4', [[1, -2, 3]], undefined, { packing: 'packed' })
    expect([packed.packing, packed.shape, packed.toArray()]).toEqual(['packed', [1, 3], [1, -2, 3]])
  })

  test('flat values without their shape are refused with the form that takes them', () => {
    expect(() => tensor('f32', [0.5, 1])).toThrow(
      /^shape\[0\] must be .*, got 0.5\nHint: .*tensor\(dtype, \[2\], values\)/,
    )
    expect(() => tensor('f32', [1, -1])).toThrow(/^shape\[1\]/)
  })

  test('an array of numbers is one complex number', () => {
    expect(
      tensor('c64', [
        [1, 2],
        [3, -4],
      ]),
    ).toMatchObject({ shape: [2] })
    expect(
      tensor('c64', [
        [1, 2],
        [3, -4],
      ]).toArray(),
    ).toEqual([
      [1, 2],
      [3, -4],
    ])
    expect(tensor('c128', [[[1, 2]], [[3, 4]]]).shape).toEqual([2, 1])
    expect(tensor('c64', [5, [0, 1]]).toArray()).toEqual([
      [5, 0],
      [0, 1],
    ])
    expect(() => tensor('c64', [[1, 2, 3]])).toThrow(/^values\[0\] must be \[real, imaginary\]/)
    expect(() =>
      tensor('c64', [
        [1, [0, 1]],
        [2, 3],
      ]),
    ).toThrow(/^values\[1\] must be an array of length 2/)
  })
})

describe('literals without an element type', () => {
  test.each([
    [
      [
        [1, 2],
        [3, 4],
      ],
      'float32',
      [2, 2],
      [1, 2, 3, 4],
    ],
    [[2, 3], 'float32', [2], [2, 3]],
    [5, 'float32', [], [5]],
    [[[[1n]]], 'int64', [1, 1, 1], [1n]],
    [7n, 'int64', [], [7n]],
    [[[true], [false]], 'bool', [2, 1], [true, false]],
    [false, 'bool', [], [false]],
  ])('literal %#', (literal, dtype, shape, values) => {
    const x = tensor(literal as number[])
    expect([x.dtype, x.shape, x.toArray()]).toEqual([dtype, shape, values])
  })

  test.each([
    [
      [
        [1, 2],
        [1, 2, 3],
      ],
      'values[1] has 3 elements, values[0] has 2',
    ],
    [
      [
        [[1], [2]],
        [[1], [2, 3]],
      ],
      'values[1][1] has 2 elements, values[0][0] has 1',
    ],
    [[[1], []], 'values[1] has 0 elements, values[0] has 1'],
    [[[], [1]], 'values[1] has 1 element, values[0] has 0'],
    [[[1], 2], 'values[1] must be an array of length 1, got 2'],
    [[[], 2], 'values[1] must be an array of length 0, got 2'],
    [[1, [2]], 'values[1] must be an element, got an array of length 1'],
    [[1, 2n], 'values[1] must be a number as values[0] is, got 2n'],
    [[[true], [1]], 'values[1][0] must be a boolean as values[0][0] is, got 1'],
    [[1, 'x'], 'values[1] must be a number, a bigint or a boolean, or a nested array of them, got "x"'],
    [['x'], 'values[0] must be a number, a bigint or a boolean, or a nested array of them, got "x"'],
    [
      new Array<number>(2),
      'values[0] must be a number, a bigint or a boolean, or a nested array of them, got undefined',
    ],
    [[null], 'values[0] must be a number, a bigint or a boolean, or a nested array of them, got null'],
    [{}, 'values must be a number, a bigint, a boolean, or nested arrays of them, got an object'],
    [null, 'values must be a number, a bigint, a boolean, or nested arrays of them, got null'],
    [undefined, 'values must be a number, a bigint, a boolean, or nested arrays of them, got undefined'],
    [new Float32Array(2), 'values must be a number or nested arrays of numbers, got Float32Array(2)'],
    [[], 'an empty array must have an element type, got no dtype'],
    [[[], []], 'an empty array must have an element type, got no dtype'],
  ])('%o is refused with the path', (literal, message) => {
    expect(() => tensor(literal as number[])).toThrow(ArgumentError)
    expect(() => tensor(literal as number[])).toThrow(message)
  })

  test('an array in itself is refused', () => {
    const endless: unknown[] = []
    endless.push(endless, endless)
    expect(() => tensor(endless as number[])).toThrow(/nested at most 64 deep/)
    expect(() => tensor('f32', endless as number[])).toThrow(/nested at most 64 deep/)
  })
})

describe('literals of the user that change while they are read', () => {
  test('each element and each length is read once', () => {
    const reads: string[] = []
    const literal = new Proxy([1, 2], {
      get(target, key): unknown {
        reads.push(String(key))
        return Reflect.get(target, key)
      },
    })
    expect(tensor([literal]).toArray()).toEqual([1, 2])
    expect(reads).toEqual(['length', '0', '1'])
  })

  test('what a getter throws arrives, and an array that shrinks has holes', () => {
    const failing = Object.defineProperty([1, 2], 1, {
      get: () => {
        throw new Error('mine')
      },
    })
    expect(() => tensor([failing])).toThrow('mine')
    const shrinking: number[] = [1, 2]
    Object.defineProperty(shrinking, 0, { get: () => ((shrinking.length = 1), 1), configurable: true })
    expect(() => tensor([shrinking])).toThrow(ArgumentError)
  })

  test('values are read before the allocator of the user is asked, and its memory is not written if they are wrong', () => {
    const order: string[] = []
    const allocator: NativeAllocator = {
      allocate: (...sizes) => (order.push('allocate'), gcAllocator.allocate(...sizes)),
    }
    const values = Object.defineProperty([1, 2], 1, { get: () => (order.push('read'), 2) })
    expect(tensor('f32', [2], values, { allocator }).toArray()).toEqual([1, 2])
    expect(order).toEqual(['read', 'allocate'])
    expect(() => tensor('f32', [[1, 'x' as never]], undefined, { allocator })).toThrow(/must be a number/)
    expect(order).toEqual(['read', 'allocate'])
  })
})

test('a value that is not an element is named by its place', () => {
  expect(() => tensor('f32', [[1, true as never]])).toThrow(
    /^values\[0\]\[1\] of float32\[1, 2\] must be a number, got true/,
  )
  expect(() => tensor('int4', [2], [1, 8])).toThrow(
    /^values\[1\] of int4\[2\] must be a whole number from -8 to 7, got 8/,
  )
  expect(() => tensor('u8', [2, 2], [1, 2, 3, -1])).toThrow(/^values\[3\] of uint8\[2, 2\] must be/)
  expect(() => tensor('c64', [1], [[1] as never])).toThrow(/^values\[0\] of complex64\[1\] must be a number or \[real/)
  expect(() => tensor('bool', 2 as never)).toThrow(/^values of bool\[\] must be true or false, got 2/)
  expect(() => tensor('u8', [[1, 2]]).set([[1, 256]])).toThrow(/^values\[0\]\[1\] of uint8\[1, 2\] must be .* got 256/)
  const failing = Object.defineProperty([1, 2], 1, {
    get: () => {
      throw new ArgumentError('mine')
    },
  })
  expect(() => tensor('f32', [2], failing)).toThrow(/^mine/)
})
