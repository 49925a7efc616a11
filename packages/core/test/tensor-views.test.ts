import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  gcAllocator,
  ReadOnlyError,
  ScopeClosedError,
  Segment,
  tensor,
  tensorType,
  type Tensor,
} from '@tenon/core'
import type { SliceSpec } from '../src/types/tensor-views.ts'
import { READ_ONLY } from '@tenon/core/internal'

const counted = (...shape: number[]): Tensor<'int32'> => {
  const count = shape.reduce((total, size) => total * size, 1)
  return tensor(
    'int32',
    shape,
    Array.from({ length: count }, (_, i) => i),
  )
}

const packed = (...shape: number[]): Tensor<'int4'> =>
  tensor(
    'int4',
    shape,
    Array.from({ length: shape.reduce((total, size) => total * size, 1) }, (_, i) => (i % 16) - 8),
    { packing: 'packed' },
  )

const away = (x: Tensor): Tensor => tensor(x.dtype, x.shape, x.segment, { device: { type: 2, id: 0 } })

describe('views share memory', () => {
  const x = counted(2, 3)

  test('every view is in the block of its tensor, and sees what is written', () => {
    const y = counted(2, 3)
    const views = [y.reshape([3, 2]), y.transpose(), y.permute([1, 0]), y.squeeze(), y.unsqueeze(0)]
    for (const view of views) expect(view.segment).toBe(y.segment)
    const part = y.slice(1, [1])
    expect(part.segment.lifetime).toBe(y.segment.lifetime)
    expect([part.segment.byteSize, part.address - y.address]).toEqual([8, 16])
    part.set([70, 80])
    expect(y.transpose().toNested()).toEqual([
      [0, 3],
      [1, 70],
      [2, 80],
    ])
    ;(y.view().buffer as ArrayBuffer).transfer()
    for (const view of [...views, part]) expect(() => view.toArray()).toThrow(ScopeClosedError)
  })

  test('flags and device are those of the tensor', () => {
    const segment = gcAllocator.allocate(24)
    const readOnly = tensor('s32', [2, 3], new Segment(segment.block, segment.base, segment.byteSize, READ_ONLY))
    expect(() => readOnly.slice(0).set([1, 2, 3])).toThrow(ReadOnlyError)
    expect(readOnly.slice(1).segment.readOnly).toBe(true)
    const device = away(x).transpose().slice(0)
    expect(device.device).toEqual({ type: 2, id: 0 })
    expect(() => device.toArray()).toThrow(/on the CPU/)
    expect(() => away(x).copy()).toThrow(/on the CPU/)
    expect(() => away(x).equals(x)).toThrow(/on the CPU/)
    expect(() => x.equals(away(x).as('s32'))).toThrow(/on the CPU/)
    expect(() => away(x).set([[1]] as never)).toThrow(ArgumentError)
  })

  test('reshape finds the size of -1, and needs the same count', () => {
    expect(x.reshape([-1]).shape).toEqual([6])
    expect(x.reshape([3, -1]).shape).toEqual([3, 2])
    expect(counted(0, 3).reshape([3, -1]).shape).toEqual([3, 0])
    expect(counted(1).reshape([]).shape).toEqual([])
    for (const shape of [[4], [-1, -1], [4, -1], [0, -1], [-2, -3], [2.5, -1], [7, -1], 'x', null, [3n, 2n], [NaN]]) {
      expect(() => x.reshape(shape as number[])).toThrow(ArgumentError)
    }
    expect(() => counted(0).reshape([0, -1])).toThrow(/shape must have the 0 elements of int32\[0\], got \[0, -1\]/)
  })

  test('reshape of strided memory makes no copy, or says what to do', () => {
    const y = counted(4, 6)
    expect(y.slice(null, [0, 4]).reshape([2, 2, 2, 2]).strides).toEqual([12, 6, 2, 1])
    expect(y.slice([null, null, 2]).reshape([2, 3, 1, 2]).strides).toEqual([12, 2, 2, 1])
    expect(() => y.transpose().reshape([24])).toThrow(
      /int32\[6, 4\] with strides \[1, 6\] must be row-major to be reshaped to \[24\] .*\nHint: .*contiguous\(\)\.reshape\(\[24\]\)/,
    )
  })

  test('slice takes an index, a range or null for each axis', () => {
    const y = counted(3, 4)
    const cases: [SliceSpec[], unknown][] = [
      [[], y.toNested()],
      [[1], [4, 5, 6, 7]],
      [[-1, -2], 10],
      [
        [null, 0],
        [0, 4, 8],
      ],
      [
        [[1]],
        [
          [4, 5, 6, 7],
          [8, 9, 10, 11],
        ],
      ],
      [[[-1]], [[8, 9, 10, 11]]],
      [
        [
          [0, -2],
          [null, null, 3],
        ],
        [[0, 3]],
      ],
      [[[5, 9]], []],
      [[[2, 1]], []],
      [[[-9, 99]], y.toNested()],
      [[[-Infinity, Infinity]], y.toNested()],
      [
        [
          [undefined, 1],
          [null, 2],
        ],
        [[0, 1]],
      ],
      [
        [0, [1, 4, 2]],
        [1, 3],
      ],
      [[[null, null, 2 ** 53 - 1]], [[0, 1, 2, 3]]],
    ]
    for (const [specs, nested] of cases) expect(y.slice(...specs).toNested()).toEqual(nested)
  })

  test.each([
    [[3], BoundsError, /index of axis 0 must be from -3 to 2, got 3/],
    [[null, -5], BoundsError, /index of axis 1 must be from -4 to 3, got -5/],
    [[0.5], ArgumentRangeError, /a whole number, got 0.5/],
    [[NaN], ArgumentRangeError, /a whole number/],
    [[1n], ArgumentError, /an index, null or \[start, end, step\], got 1n/],
    [['1'], ArgumentError, /an index, null/],
    [[[0, 1, 1, 1]], ArgumentError, /got an array of length 4/],
    [[[0.5]], ArgumentRangeError, /the start of axis 0 must be a whole number, got 0.5/],
    [[['x']], ArgumentError, /the start of axis 0 must be a number/],
    [[[0, NaN]], ArgumentRangeError, /the end of axis 0/],
    [[[0, 3, 0]], ArgumentRangeError, /the step of axis 0 must be a whole number from 1, got 0/],
    [[[null, null, -1]], ArgumentRangeError, /got -1\nHint: .*copy\(\)/],
    [[0, 0, 0], ArgumentError, /at most one part for each of 2 axes, got 3/],
  ])('slice refuses case %#', (specs, kind, message) => {
    expect(() => counted(3, 4).slice(...(specs as SliceSpec[]))).toThrow(kind)
    expect(() => counted(3, 4).slice(...(specs as SliceSpec[]))).toThrow(message)
  })

  test('axes are checked', () => {
    expect(counted(2, 3, 4).permute([2, 0, -2]).shape).toEqual([4, 2, 3])
    for (const axes of [[0], [0, 0], [0, 1, 2], [0, 2], [0, -3], [0, 0.5], 'x', null, [0, 1n]]) {
      expect(() => x.permute(axes as number[])).toThrow(/^ax[ei]s|order/)
    }
    expect(counted(1, 2, 1).squeeze().shape).toEqual([2])
    expect(counted(1, 2, 1).squeeze(-1).shape).toEqual([1, 2])
    expect(counted(1, 2, 1).squeeze(0).shape).toEqual([2, 1])
    expect(() => x.squeeze(0)).toThrow(/axis 0 must have one element to be dropped, int32\[2, 3\] has 2/)
    expect(() => x.squeeze(2)).toThrow(BoundsError)
    expect(['0', '1', '2', '-1', '-3'].map((axis) => x.unsqueeze(Number(axis)).shape)).toEqual([
      [1, 2, 3],
      [2, 1, 3],
      [2, 3, 1],
      [2, 3, 1],
      [1, 2, 3],
    ])
    expect(() => x.unsqueeze(3)).toThrow(BoundsError)
    expect(() => x.unsqueeze(undefined as never)).toThrow(ArgumentError)
  })

  test('packed elements have views whose elements are adjacent and start at a whole byte', () => {
    const y = packed(4, 6)
    expect(y.reshape([2, 12]).toArray()).toEqual(y.toArray())
    expect(y.slice([1, 3]).toArray()).toEqual(y.toArray().slice(6, 18))
    expect(y.slice(2).toArray()).toEqual(y.toArray().slice(12, 18))
    expect(y.slice(1, [2, 4]).toArray()).toEqual(y.toArray().slice(8, 10))
    expect([...y].map((row) => row.toArray())).toEqual(y.toNested())
    expect(packed(5).transpose().toArray()).toEqual(packed(5).toArray())
    expect(() => y.slice(0, [1, 3])).toThrow(/must start at a whole byte, got element 1 of int4\[4, 6\]\nHint: .*copy/)
    expect(() => y.slice([null, null, 2])).toThrow(/packed elements must be row-major, got strides \[12, 1\]/)
    expect(() => y.slice(null, [0, 2])).toThrow(ArgumentError)
    expect(() => y.transpose()).toThrow(ArgumentError)
    expect(() => [...packed(3, 3)]).toThrow(/whole byte/)
  })

  test('set() of a packed view keeps the elements behind it', () => {
    const y = packed(4)
    y.slice([0, 3]).set([1, 2, 3])
    expect(y.toArray()).toEqual([1, 2, 3, -5])
  })
})

describe('set() and copies', () => {
  test('set() writes to any strides, from nested arrays or a TypedArray', () => {
    const x = counted(2, 3)
    x.transpose().set([
      [1, 2],
      [3, 4],
      [5, 6],
    ])
    expect(x.toArray()).toEqual([1, 3, 5, 2, 4, 6])
    x.slice(null, [null, null, 2]).set(new Int32Array([7, 8, 9, 10]))
    expect(x.toArray()).toEqual([7, 3, 8, 9, 4, 10])
    x.slice(0, 0).set(5)
    expect(x.item.call(x.slice(0, 0))).toBe(5)
    const c = tensor('c64', [2, 2])
    c.set([
      [1, [2, 3]],
      [[4, 5], 6],
    ])
    expect(c.toArray()).toEqual([
      [1, 0],
      [2, 3],
      [4, 5],
      [6, 0],
    ])
    const wide = tensor('f64', [2, 2])
    wide.transpose().set([
      [0.1, 0.2],
      [0.3, NaN],
    ])
    expect(wide.toArray()).toEqual([0.1, 0.3, 0.2, NaN])
  })

  test('set() reads its own memory before it writes', () => {
    const x = counted(2, 2)
    x.transpose().set(x.view())
    expect(x.toArray()).toEqual([0, 2, 1, 3])
  })

  test('set() does not broadcast, and writes nothing if a value is wrong', () => {
    const x = counted(2, 2)
    expect(() => x.set(1)).toThrow(/values must be an array of length 2, got 1/)
    expect(() => x.set([1, 2])).toThrow(/values\[0\] must be an array of length 2, got 1/)
    expect(() => x.set([[1, 2]])).toThrow(/values has 1 element, the tensor has 2/)
    expect(() => x.set([[1, 2], [3]])).toThrow(/values\[1\] has 1 element, .* 2/)
    expect(() =>
      x.set([
        [1, 2],
        [3, [4]],
      ]),
    ).toThrow(/values\[1\]\[1\] must be an element, got an array/)
    expect(() =>
      x.set([
        [1, 2],
        [3, 0.5],
      ]),
    ).toThrow(ArgumentRangeError)
    expect(() => x.set(new Int32Array(3))).toThrow(/a Int32Array\(4\), got Int32Array\(3\)/)
    expect(() => x.set(new Float32Array(4) as never)).toThrow(ArgumentError)
    expect(() => x.set(null as never)).toThrow(ArgumentError)
    expect(x.toArray()).toEqual([0, 1, 2, 3])
  })

  test('set() checks the memory after the last value is read', () => {
    const x = tensor('f32', [2])
    const { buffer } = x.view()
    const values = Object.defineProperty([1, 2], 1, {
      get: () => ((buffer as ArrayBuffer).transfer(), 2),
    })
    expect(() => x.set(values)).toThrow(ScopeClosedError)
  })

  test('copy() is row-major memory of its own, contiguous() only for strides', () => {
    const x = counted(2, 3)
    expect(x.contiguous()).toBe(x)
    const columns = x.transpose()
    expect([x.isContiguous, columns.isContiguous, columns.strides]).toEqual([true, false, [1, 3]])
    const rows = columns.contiguous()
    expect([rows.isContiguous, rows.address % 64, rows.toArray()]).toEqual([true, 0, [0, 3, 1, 4, 2, 5]])
    const copy = x.copy()
    x.set([
      [9, 9, 9],
      [9, 9, 9],
    ])
    expect([copy.toArray(), rows.toArray()]).toEqual([
      [0, 1, 2, 3, 4, 5],
      [0, 3, 1, 4, 2, 5],
    ])
    expect(packed(3, 3).copy().toArray()).toEqual(packed(3, 3).toArray())
    expect(counted(0, 3).copy().shape).toEqual([0, 3])
    const spread = tensor('u8', [2, 3], gcAllocator.allocate(1), { strides: [0, 0] })
    expect(spread.copy().toArray()).toEqual([0, 0, 0, 0, 0, 0])
  })

  test('toLayout() stores axes from major to minor, and the indices stay', () => {
    const x = counted(2, 3, 4)
    const y = x.toLayout([2, 0, 1])
    expect([y.strides, y.toNested()]).toEqual([[3, 1, 6], x.toNested()])
    expect(x.toLayout('cm').strides).toEqual([12, 1, 3])
    expect([x.toLayout([0, 1, 2]), y.toLayout([2, 0, -2])]).toEqual([x, y])
    expect(y.toLayout([0, 1, 2]).isContiguous).toBe(true)
    expect(() => x.toLayout([0, 1])).toThrow(/order must contain each of the 3 axes once/)
    expect(() => counted(3).toLayout('cm')).toThrow(/at least 2 axes/)
    expect(() => x.toLayout('rm' as never)).toThrow(ArgumentError)
    expect(() => packed(2, 2).toLayout('cm')).toThrow(ArgumentError)
  })
})

describe('reading', () => {
  test('item(), at() and toNested()', () => {
    const x = counted(2, 3)
    expect([x.at(1, 2), x.at(-1, -3), x.transpose().at(2, 1)]).toEqual([5, 3, 5])
    expect(tensor(5).at()).toBe(5)
    expect(tensor('s64', [[7n]]).item()).toBe(7n)
    expect(tensor(5).toNested()).toBe(5)
    expect(counted(2, 0).toNested()).toEqual([[], []])
    expect(() => x.item()).toThrow(/item\(\) takes a tensor with one element, got int32\[2, 3\]/)
    expect(() => x.at(1)).toThrow(/an index for each of the 2 axes of int32\[2, 3\], got 1/)
    expect(() => x.at(2, 0)).toThrow(BoundsError)
    expect(() => x.at(0.5, 0)).toThrow(ArgumentRangeError)
    expect(() => x.at('0' as never, 0)).toThrow(ArgumentError)
  })

  test('is() and as() compare element types by any name', () => {
    const x: Tensor = tensor('f32', [2])
    expect([x.is('f32'), x.is('float32'), x.is('f64')]).toEqual([true, true, false])
    expect(x.as('f32').view()).toBeInstanceOf(Float32Array)
    expect(() => x.as('s32')).toThrow(/the tensor must be int32, got float32\[2\]/)
    expect(() => x.is('f99' as never)).toThrow(ArgumentError)
  })

  test('view() refuses strides and packed elements', () => {
    expect(() => counted(2, 3).transpose().view()).toThrow(
      /got int32\[3, 2\] with strides \[1, 3\]\nHint: .*contiguous/,
    )
    expect(() => packed(2).view()).toThrow(/got int4\[2\], packed\nHint: .*toArray\(\)/)
  })

  test('equals() compares type, shape and bits', () => {
    const x = tensor('f32', [2], [NaN, 0])
    expect(x.equals(tensor('f32', [2], [NaN, 0]))).toBe(true)
    expect(x.equals(tensor('f32', [2], [NaN, -0]))).toBe(false)
    const otherNaN = tensor('f32', [2])
    new Int32Array(otherNaN.view().buffer)[0] = 0x7fc00001
    expect(x.equals(otherNaN)).toBe(false)
    expect(x.equals(tensor('f32', [1, 2], [NaN, 0]))).toBe(false)
    expect(x.equals(tensor('f32', [3]))).toBe(false)
    expect(x.equals(tensor('f64', [2], [NaN, 0]) as never)).toBe(false)
    expect(counted(2, 3).transpose().equals(counted(2, 3).transpose().copy())).toBe(true)
    expect(packed(3).equals(tensor('int4', [3], packed(3).toArray()))).toBe(true)
    expect(packed(5).slice([0, 3]).equals(packed(3))).toBe(true)
    expect(packed(3).equals(tensor('int4', [3], [-8, -7, -5]))).toBe(false)
    for (const other of [5, null, undefined, {}, new Proxy(x, {})]) {
      expect(() => x.equals(other as never)).toThrow(/the other value must be a tensor, got /)
    }
  })
})

describe('iteration, and what a type keeps', () => {
  test('iterating gives views along the first axis', () => {
    const x = counted(2, 3)
    const rows = [...x]
    expect(rows.map((row) => row.toArray())).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ])
    rows[1]!.set([9, 9, 9])
    expect(x.toArray()).toEqual([0, 1, 2, 9, 9, 9])
    expect([...counted(0, 3)]).toEqual([])
    const [first] = counted(3)
    expect(first!.item()).toBe(0)
  })

  test('a scalar is not iterable', () => {
    expect(() => [...tensor(1)]).toThrow(TypeError)
    expect(() => {
      for (const _ of tensor(1)) throw new Error('unreachable')
    }).toThrow(TypeError)
    expect(() => Array.from(tensor(1))).not.toThrow()
  })

  test('the transpose and the row-major form are found once', () => {
    const type = tensorType('f32', [7, 5])
    const x = tensor('f32', [7, 5])
    expect(x.transpose().type).toBe(x.transpose().type)
    expect(type.transposed).toBe(x.transpose().type)
    expect(x.transpose().copy().type).toBe(tensorType('f32', [5, 7]))
    expect(x.transpose().type.rowMajor).toBe(tensorType('f32', [5, 7]))
    expect(x.transpose().transpose().type).toBe(type)
  })
})
