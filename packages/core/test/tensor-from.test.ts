import { runInNewContext } from 'node:vm'
import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  from,
  ScopeClosedError,
  Segment,
  tensor,
  type Tensor,
  type TypedArray,
} from '@tenon/core'
import { addressOf, Block, ManagedLifetime } from '@tenon/core/internal'

describe('from() lies over the memory of a TypedArray', () => {
  test.each([
    [new Int8Array(2), 'int8'],
    [new Uint8Array(2), 'uint8'],
    [Buffer.alloc(2), 'uint8'],
    [new Uint8ClampedArray(2), 'uint8'],
    [new Int16Array(2), 'int16'],
    [new Uint16Array(2), 'uint16'],
    [new Int32Array(2), 'int32'],
    [new Uint32Array(2), 'uint32'],
    [new BigInt64Array(2), 'int64'],
    [new BigUint64Array(2), 'uint64'],
    [new Float32Array(2), 'float32'],
    [new Float64Array(2), 'float64'],
    [new Float32Array(new SharedArrayBuffer(8)), 'float32'],
    [runInNewContext('new Float32Array(2)') as Float32Array, 'float32'],
  ] as const)('case %#', (array, dtype) => {
    const x: Tensor = from(array as TypedArray)
    expect([x.dtype, x.shape]).toEqual([dtype, [2]])
    const one = dtype.endsWith('64') && dtype !== 'float64' ? 1n : 1
    x.set([one, one])
    expect(Array.from(array as Iterable<unknown>)).toEqual([one, one])
    array[1] = (typeof one === 'bigint' ? 0n : 0) as never
    expect(Number(x.at(1))).toBe(0)
  })

  test('the element type is part of the type', () => {
    expectTypeOf(from(new Float32Array(1))).toEqualTypeOf<Tensor<'float32'>>()
    expectTypeOf(from(new BigUint64Array(1))).toEqualTypeOf<Tensor<'uint64'>>()
    expectTypeOf(from(Buffer.alloc(1))).toEqualTypeOf<Tensor<'uint8'>>()
    expectTypeOf(from(new Uint8Array(1) as TypedArray).dtype).toExtend<string>()
  })

  if ('Float16Array' in globalThis) {
    test('a Float16Array is float16', () => {
      const values = new Float16Array([1.5, -2])
      const x = from(values)
      expectTypeOf(x).toEqualTypeOf<Tensor<'float16'>>()
      expect([x.dtype, x.toArray()]).toEqual(['float16', [1.5, -2]])
      x.set(new Float16Array([3, 4]))
      expect([...values]).toEqual([3, 4])
    })
  }

  test('a part of a buffer keeps its place, and takes a shape', () => {
    const buffer = new Float32Array([0, 1, 2, 3, 4, 5, 6, 7])
    const x = from(buffer.subarray(2), [2, 3])
    expect(x.toNested()).toEqual([
      [2, 3, 4],
      [5, 6, 7],
    ])
    x.transpose().slice(0).set([20, 50])
    expect([...buffer]).toEqual([0, 1, 20, 3, 4, 50, 6, 7])
    expect(x.segment.byteSize).toBe(24)
    expect(from(new Float32Array(0))).toMatchObject({ shape: [0] })
    expect(from(new Float32Array(0), [2, 0]).toNested()).toEqual([[], []])
    expect(from(new Float32Array(1), []).item()).toBe(0)
  })

  test('a buffer that was transferred, before or after, is refused', () => {
    const array = new Float32Array(2)
    const x = from(array)
    const y = x.reshape([2, 1])
    structuredClone(null, { transfer: [array.buffer] })
    for (const one of [x, y]) {
      expect(() => one.toArray()).toThrow(ScopeClosedError)
      expect(() => one.view()).toThrow(ScopeClosedError)
      expect(() => one.copy()).toThrow(ScopeClosedError)
      expect(String(one)).toMatch(/detached/)
    }
    expect(() => x.set([1, 2])).toThrow(ScopeClosedError)
    expect(() => from(array)).toThrow(/source must be attached, got one of a detached buffer/)
    const other = new Float32Array(2)
    const shape = Object.defineProperty([2], 0, {
      get: () => (structuredClone(null, { transfer: [other.buffer] }), 2),
    })
    expect(() => from(other, shape)).toThrow(/detached buffer/)
  })

  test('memory that a lifetime owns ends with it', () => {
    class Owner extends ManagedLifetime {
      protected readonly label = 'the owner'
      protected release(): void {}
    }
    const owner = new Owner()
    const buffer = new SharedArrayBuffer(8)
    const block = new Block(owner.gate, new DataView(buffer), Buffer.from(buffer), addressOf(buffer))
    const view = new Segment(block, 0, 8, 0).view()
    const x = from(new Float32Array(view.buffer as SharedArrayBuffer))
    expect(x.segment.lifetime).toBe(owner)
    owner.close()
    expect(() => x.toArray()).toThrow(ScopeClosedError)
  })

  test.each([
    [
      new DataView(new ArrayBuffer(8)),
      /must be a TypedArray .*, got .*DataView\nHint: .*tensor\(dtype, shape, array\)/,
    ],
    [
      new Float32Array(new ArrayBuffer(8, { maxByteLength: 16 })),
      /a fixed size, got a resizable one\nHint: .*tensor\(dtype/,
    ],
    [new Float32Array(new SharedArrayBuffer(8, { maxByteLength: 16 })), /a fixed size, got a resizable one/],
    [[1, 2], /must be a TypedArray .*, got an array of length 2/],
    [new ArrayBuffer(8), /must be a TypedArray/],
    [new Proxy(new Float32Array(2), {}), /must be a TypedArray/],
    [null, /got null/],
    [undefined, /got undefined/],
  ])('case %# is refused', (array, message) => {
    expect(() => from(array as never)).toThrow(ArgumentError)
    expect(() => from(array as never)).toThrow(message)
  })

  test('a shape with another count is refused', () => {
    for (const shape of [[3], [], [0], [1, 1]]) {
      expect(() => from(new Float32Array(2), shape)).toThrow(/shape must have the 2 elements of the array, got \[/)
    }
    expect(() => from(new Float32Array(2), [-2, -1])).toThrow(ArgumentError)
    expect(() => from(new Float32Array(2), 'x' as never)).toThrow(ArgumentError)
  })

  test('strides may leave out or repeat elements, and stay inside the array', () => {
    const values = new Float32Array([1, 2, 3, 4, 5, 6])
    const x = from(values, [3, 2], { strides: [1, 3] })
    expectTypeOf(x).toEqualTypeOf<Tensor<'float32'>>()
    values[3] = 7
    expect(x.toNested()).toEqual([
      [1, 7],
      [2, 5],
      [3, 6],
    ])
    expect(from(values, [2], { strides: [3] }).toArray()).toEqual([1, 7])
    expect(from(values, [3], { strides: [1] }).toArray()).toEqual([1, 2, 3])
    expect(from(values, [2, 3], { strides: [0, 1] }).toArray()).toEqual([1, 2, 3, 1, 2, 3])
    expect(() => from(values, [3, 2], { strides: [1, 4] })).toThrow(BoundsError)
    expect(() => from(values, [3], { strides: [1, 1] })).toThrow(ArgumentError)
    expect(() => from(values, undefined, { strides: [1] })).toThrow(/strides must come with a shape/)
  })

  test.each([{ stride: [1] }, { packing: 'packed' }, { device: {} }, [1], 5, 'f32', null])(
    '%j is refused as options',
    (options) => {
      expect(() => from(new Float32Array(2), [2], options as never)).toThrow(/^options must /)
    },
  )

  test('properties of the array that lie are not read', () => {
    class Liar extends Float32Array {
      override get buffer(): ArrayBuffer {
        return new ArrayBuffer(1 << 20)
      }
      override get byteOffset(): number {
        return 4096
      }
      override get length(): number {
        return 1e9
      }
      override get [Symbol.toStringTag](): 'Float32Array' {
        return 'Float64Array' as never
      }
    }
    const liar = new Liar(2)
    expect(from(liar)).toMatchObject({ dtype: 'float32', shape: [2] })
    expect(tensor('f32', [2], liar).toArray()).toEqual([0, 0])
    expect(() => tensor('f32', [1e9], liar)).toThrow(ArgumentError)
  })
})

test('nested arrays have at most 64 levels, and not more arrays than memory has room for', () => {
  expect(JSON.stringify(tensor('f32', Array(64).fill(1), [5]).toNested())).toBe(`${'['.repeat(64)}5${']'.repeat(64)}`)
  expect(() => tensor('f32', Array(65).fill(1)).toNested()).toThrow(/at most 64 levels, got a tensor with 65 axes/)
  expect(() => tensor('f32', Array(20_000).fill(1)).toNested()).toThrow(ArgumentRangeError)
  expect(tensor('f32', [3, 0, 2 ** 40]).toNested()).toEqual([[], [], []])
  expect(() => tensor('f32', [2 ** 33, 0]).toNested()).toThrow(
    /at most 16777216 nested arrays, got 8589934593 of float32\[8589934592, 0\]/,
  )
})
