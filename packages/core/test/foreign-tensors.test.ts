import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  AlignmentError,
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  from,
  gcAllocator,
  ScopeClosedError,
  tensor,
  tensorSymbol,
  UnsupportedError,
  type FromOptions,
  type Tensor,
  type TensorDescription,
  type TensorLike,
} from '@tenon/core'
import { adopt, addressOf, asTensor } from '@tenon/core/internal'

// The structures of other libraries as they are in memory. `pnpm test:cookbook` runs the same pairs with the libraries themselves.

const bytes = Float32Array.of(1, 2, 3, 4, 5, 6)
const int = { typeId: 2, toString: () => 'Int32' }
const bool = { typeId: 6, toString: () => 'Bool' }
const float = (precision: number): object => ({ typeId: 3, precision })
const data = (type: object, values: unknown, length: number, more: object = {}): object => ({
  type,
  values,
  length,
  offset: 0,
  nullCount: 0,
  nullBitmap: new Uint8Array(0),
  valueOffsets: undefined,
  ...more,
})
const vector = (...chunks: object[]): object => ({ type: int, data: chunks, length: 0, numChildren: 0 })
const offer = (description: object): object => ({ [tensorSymbol]: () => ({ version: 1, ...description }) })
const take = (value: unknown, options?: FromOptions): Tensor => from(value as never, options)

describe('a tensor lies over the memory of a structure', () => {
  const image = new Uint8ClampedArray(8)
  const half = Uint16Array.of(0x3c00)
  const wide = BigInt64Array.of(1n, 2n)
  test.each<[string, unknown, ArrayBufferView, string, readonly number[], (readonly number[])?]>([
    ['an array', bytes, bytes, 'float32', [6]],
    ['{ data, dims }', { data: bytes, dims: [2, 3] }, bytes, 'float32', [2, 3]],
    ['onnxruntime', { type: 'float32', data: bytes, dims: [3, 2], location: 'cpu' }, bytes, 'float32', [3, 2]],
    ['onnxruntime, int64', { type: 'int64', data: wide, dims: [2] }, wide, 'int64', [2]],
    ['onnxruntime, float16', { type: 'float16', data: half, dims: [] }, half, 'float16', []],
    ['tfjs', { dtype: 'float32', shape: [6, 1], dataSync: () => bytes }, bytes, 'float32', [6, 1]],
    ['ndarray', { data: bytes, shape: [2, 3], stride: [3, 1], offset: 0 }, bytes, 'float32', [2, 3]],
    [
      'ndarray, transposed',
      { data: bytes, shape: [3, 2], stride: [1, 3], offset: 0 },
      bytes,
      'float32',
      [3, 2],
      [1, 3],
    ],
    ['an image', { width: 2, height: 1, data: image, colorSpace: 'srgb' }, image, 'uint8', [1, 2, 4]],
    ['sharp', { data: image, info: { width: 2, height: 2, channels: 2 } }, image, 'uint8', [2, 2, 2]],
    ['arrow, a vector', vector(data(float(1), bytes, 6)), bytes, 'float32', [6]],
    ['arrow, a chunk with padding', data(float(1), bytes, 4), bytes, 'float32', [4]],
    ['arrow, float16', data(float(0), half, 1), half, 'float16', [1]],
    ['polars', { dtype: 'Float32', nullCount: () => 0, toTypedArray: () => bytes }, bytes, 'float32', [6]],
    ['an offer', offer({ dtype: 'float32', shape: [6], buffer: bytes.buffer }), bytes, 'float32', [6]],
  ])('%s', (_, value, memory, dtype, shape, strides) => {
    const x = take(value)
    expect([x.dtype, x.shape, x.strides]).toEqual([dtype, shape, strides])
    const { buffer, byteOffset } = memory
    expect(x.address).toBe(addressOf(buffer) + byteOffset)
    const whole = from(new Uint8Array(buffer as ArrayBuffer, byteOffset, 2))
    const before = whole.toArray()
    x.segment.view().setUint8(0, before[0]! ^ 1)
    expect(whole.toArray()).toEqual([before[0]! ^ 1, before[1]])
    x.segment.view().setUint8(0, before[0]!)
    expect(asTensor(value, 'x').address).toBe(x.address)
  })

  test('a slice starts inside the array, and elements of 0 axes or 0 elements are read', () => {
    const x = take({ data: bytes, shape: [2], stride: [3], offset: 1 })
    expect([x.toArray(), x.address]).toEqual([[2, 5], addressOf(bytes.buffer) + 4])
    expect(take({ data: bytes.subarray(2, 3), dims: [] }).item()).toBe(3)
    expect(take({ data: bytes, shape: [], stride: [], offset: 5 }).item()).toBe(6)
    expect(take({ data: new Float32Array(0), dims: [0, 3] }).toNested()).toEqual([])
    expect(take({ data: bytes, shape: [0, 2], stride: [-5, 7], offset: 3 }).shape).toEqual([0, 2])
    expect(
      take(offer({ dtype: 'float32', shape: [2, 1], strides: [2, -9], byteOffset: 4, buffer: bytes.buffer })).toArray(),
    ).toEqual([2, 4])
  })

  test('types without an array of their own are named by the object', () => {
    const one = { buffer: new Uint8Array([1, 0, 1, 0]).buffer, shape: [4] }
    expect(take(offer({ ...one, dtype: 'bool' })).toArray()).toEqual([true, false, true, false])
    expect(take({ type: 'bool', data: new Uint8Array([1, 0]), dims: [2] }).toArray()).toEqual([true, false])
    expect(take({ type: 'int4', data: new Uint8Array([0x21]), dims: [2] }).toArray()).toEqual([1, 2])
    expect(take(offer({ ...one, shape: [2, 4], dtype: 'uint4', packing: 'packed' })).toNested()).toEqual([
      [1, 0, 0, 0],
      [1, 0, 0, 0],
    ])
    expect(take({ dtype: 'complex64', shape: [3], dataSync: () => bytes }).toArray()).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ])
  })

  test('a Proxy is read if it is a series of polars', () => {
    const series = { dtype: 'Float32', nullCount: () => 0, toTypedArray: () => bytes }
    expect(take(new Proxy(series, {})).address).toBe(addressOf(bytes.buffer))
    const { proxy, revoke } = Proxy.revocable(series, {})
    revoke()
    const throws = new Proxy(series, {
      has() {
        throw new Error('from the handler')
      },
    })
    for (const other of [proxy, throws, new Proxy({ data: bytes, dims: [6] }, {})]) {
      expect(adopt(other, 'x')).toBeUndefined()
    }
  })

  test('a segment is its bytes, and a tensor is itself', () => {
    const segment = gcAllocator.allocate(4)
    const x = take(segment)
    expect([x.dtype, x.shape, x.address]).toEqual(['uint8', [4], segment.block.address + segment.base])
    expect(from(x)).toBe(x)
    expect(from(x, { copy: true }).address).not.toBe(x.address)
    expect(adopt({ a: 1 }, 'x')).toBeUndefined()
    expect(adopt(null, 'x')).toBeUndefined()
    expect(adopt(1, 'x')).toBeUndefined()
  })
})

describe('what cannot be used in place is refused, and copied on request', () => {
  test('negative strides', () => {
    const reversed = { data: bytes, shape: [3, 2], stride: [-2, -1], offset: 5 }
    expect(() => take(reversed)).toThrow(/source must have no negative strides, got \[-2, -1\]\nHint: .*copy: true/)
    expect(take(reversed, { copy: true }).toNested()).toEqual([
      [6, 5],
      [4, 3],
      [2, 1],
    ])
    const half = { data: bytes, shape: [2, 3], stride: [3, -1], offset: 2 }
    expect(take(half, { copy: true }).toNested()).toEqual([
      [3, 2, 1],
      [6, 5, 4],
    ])
    const x = take({ data: bytes, shape: [3, 2], stride: [1, 3], offset: 0 }, { copy: true })
    expect([x.toNested(), x.strides]).toEqual([
      [
        [1, 4],
        [2, 5],
        [3, 6],
      ],
      undefined,
    ])
  })

  test('booleans of one bit, also from the middle of a byte', () => {
    const bits = data(bool, Uint8Array.of(0b10110100, 0b1), 7, { offset: 2 })
    expect(() => take(bits)).toThrow(/a byte for each boolean/)
    expect(take(bits, { copy: true }).toArray()).toEqual([true, false, true, true, false, true, true])
    expect(() => take(data(bool, Uint8Array.of(1), 8, { offset: 1 }), { copy: true })).toThrow(BoundsError)
  })

  test('chunks', () => {
    const chunks = vector(data(float(1), bytes, 2), data(float(1), bytes.subarray(3), 2))
    expect(() => take(chunks)).toThrow(/in one piece, got a column of Arrow of 2 chunks/)
    expect(take(chunks, { copy: true }).toArray()).toEqual([1, 2, 4, 5])
    expect(() => take(vector(), { copy: true })).toThrow(/got no chunk/)
    const mixed = vector(data(float(1), bytes, 2), data(int, new Int32Array(2), 2))
    expect(() => take(mixed, { copy: true })).toThrow(/chunks of one type/)
  })

  test('nulls', () => {
    const nullable = { nullCount: 1, nullBitmap: Uint8Array.of(0b1011_0100), offset: 2 }
    const column = data(float(1), bytes, 4, nullable)
    expect(() => take(column)).toThrow(/no nulls, got a column of Arrow whose element 1 is null\nHint: .*nulls: 0/)
    expect(() => take(column, { copy: true })).toThrow(ArgumentError)
    expect(take(column, { nulls: NaN }).toArray()).toEqual([1, NaN, 3, 4])
    expect(bytes[1]).toBe(2)
    expect(() => take(column, { nulls: 'x' })).toThrow(ArgumentError)
    const valid = offer({ dtype: 'float32', shape: [6], buffer: bytes.buffer, validity: Uint8Array.of(255) })
    expect(take(valid).address).toBe(addressOf(bytes.buffer))
    expect(() =>
      take(offer({ dtype: 'float32', shape: [6], buffer: bytes.buffer, validity: new Uint8Array(0) })),
    ).toThrow(/a Uint8Array with 6 bits/)
    const series = (variant: string, values: readonly unknown[], filled?: ArrayBufferView): object => ({
      dtype: { variant },
      nullCount: () => values.filter((one) => one === null).length,
      isNotNull: () => ({ toArray: () => values.map((one) => one !== null) }),
      fillNull: () => ({ toTypedArray: () => filled }),
      toTypedArray() {
        throw new Error('data contains nulls, unable to convert to TypedArray')
      },
      toArray: () => values,
    })
    const flags = series('Bool', [true, null, false])
    expect(() => take(flags)).toThrow(/no nulls, got a series of polars whose element 1 is null/)
    expect(take(flags, { nulls: true }).toArray()).toEqual([true, true, false])
    const prices = series('Float32', [1, null, 3], Float32Array.of(1, 0, 3))
    expect(() => take(prices)).toThrow(/whose element 1 is null\nHint: .*nulls: 0/)
    expect(take(prices, { nulls: -1 }).toArray()).toEqual([1, -1, 3])
    const booleans = data(bool, Uint8Array.of(0b111), 3, { nullCount: 1, nullBitmap: Uint8Array.of(0b101) })
    expect(take(booleans, { copy: true, nulls: false }).toArray()).toEqual([true, false, true])
  })

  test('elements at a wrong address', () => {
    const { buffer } = new Uint8Array(9)
    new DataView(buffer).setFloat32(1, 1.5, true)
    const shifted = offer({ dtype: 'float32', shape: [2], byteOffset: 1, buffer })
    expect(() => take(shifted)).toThrow(AlignmentError)
    expect(take(shifted, { copy: true }).toArray()).toEqual([1.5, 0])
  })
})

describe('what is outside of the memory or is not memory is refused', () => {
  const nd = (more: object): object => ({ data: bytes, shape: [2, 3], stride: [3, 1], offset: 0, ...more })
  test.each<[unknown, unknown, RegExp]>([
    [nd({ offset: 1 }), BoundsError, /inside its memory of 24 bytes, got bytes 4 to 28/],
    [nd({ stride: [-3, 1] }), BoundsError, /got bytes -12/],
    [nd({ stride: [2 ** 52, 1] }), BoundsError, /inside its memory/],
    [nd({ shape: [2 ** 30, 2 ** 30], stride: [2 ** 50, -(2 ** 50)] }), BoundsError, /inside its memory/],
    [nd({ data: bytes.subarray(1) }), BoundsError, /memory of 20 bytes/],
    [nd({ stride: [1] }), ArgumentError, /2 numbers, got 1/],
    [nd({ stride: [1.5, 1] }), ArgumentRangeError, /stride 0 of source/],
    [nd({ stride: 'x' }), ArgumentError, /must be an array/],
    [nd({ shape: [-1, 3] }), ArgumentRangeError, /shape\[0\]/],
    [nd({ shape: { length: 2 } }), ArgumentError, /must be an array/],
    [nd({ offset: -1 }), ArgumentRangeError, /offset of source/],
    [nd({ data: [1, 2, 3, 4, 5, 6] }), ArgumentError, /memory of source must be a TypedArray, got an array/],
    [nd({ data: new DataView(bytes.buffer) }), ArgumentError, /must be a TypedArray/],
    [{ data: bytes, dims: [2, 2] }, ArgumentError, /elements of its shape \[2, 2\], got 6/],
    [{ data: bytes, dims: [2, 4] }, BoundsError, /24 bytes, got bytes 0 to 32/],
    [{ data: bytes, dims: [2 ** 53, 2 ** 53] }, ArgumentRangeError, /shape\[0\]/],
    [{ data: undefined, dims: [1] }, ArgumentError, /must be a TypedArray/],
    [{ data: bytes, dims: { length: 2 ** 40 } }, ArgumentError, /must be an array/],
    [{ type: 'int32', data: bytes, dims: [6] }, ArgumentError, /of int32, must have an Int32Array, got a Float32Array/],
    [{ type: 'float99', data: bytes, dims: [6] }, ArgumentError, /element type of Tenon/],
    [{ dtype: 'float32', shape: [7], dataSync: () => bytes }, BoundsError, /inside its memory/],
    [{ dtype: 'float32', shape: [2], dataSync: () => null }, ArgumentError, /must be a TypedArray/],
    [
      data({ typeId: 10, toString: () => 'Timestamp' }, new BigInt64Array(1), 1),
      ArgumentError,
      /the type of a column of Arrow must be numbers, booleans or texts, got "Timestamp"/,
    ],
    [data({ typeId: 16, toString: () => 'FixedSizeList' }, undefined, 1), ArgumentError, /got "FixedSizeList"/],
    [{ type: null, length: 1, valueOffsets: undefined }, ArgumentError, /got "null"/],
    [data(float(1), bytes, 7), BoundsError, /inside its memory/],
    [{ width: 2, height: 2, data: bytes }, BoundsError, /inside its memory/],
    [{ data: bytes, info: { width: 1, height: 1, channels: 1.5 } }, ArgumentRangeError, /shape\[2\]/],
    [offer({ dtype: 'float32', shape: [1] }), ArgumentError, /either a buffer or an address/],
    [offer({ dtype: 'float32', shape: [1], buffer: bytes.buffer, address: 1n }), ArgumentError, /either a buffer/],
    [offer({ dtype: 'float32', shape: [1], buffer: {} }), ArgumentError, /must be a TypedArray/],
    [offer({ dtype: 5, shape: [1], buffer: bytes.buffer }), ArgumentError, /element type of Tenon, got 5/],
    [offer({ dtype: 'float32', shape: [7], buffer: bytes.buffer }), BoundsError, /inside its memory/],
    [offer({ dtype: 'uint4', packing: 'x', shape: [7], buffer: bytes.buffer }), ArgumentError, /packing must be/],
    [
      offer({ dtype: 'float32', shape: [1], buffer: bytes.buffer, device: { type: 2, id: 0 } }),
      UnsupportedError,
      /memory of the CPU/,
    ],
    [
      offer({ dtype: 'float32', shape: [1], address: 4096n, byteSize: 4 }),
      ArgumentError,
      /got an address\nHint: .*trustAddress/,
    ],
    [
      offer({ dtype: 'float32', shape: [1], buffer: bytes.buffer, owner: 1 }),
      ArgumentError,
      /owner of an offered tensor/,
    ],
    [
      offer({ dtype: 'float32', shape: [1], buffer: bytes.buffer, hold: 1 }),
      ArgumentError,
      /hold of an offered tensor/,
    ],
    [offer({ version: 2 }), ArgumentRangeError, /version of the offered tensor must be 1, got 2/],
    [{ [tensorSymbol]: 1 }, ArgumentError, /must be a method, got 1/],
    [{ [tensorSymbol]: () => 1 }, ArgumentError, /must be a description, got 1/],
    [{ data: new Float32Array(new ArrayBuffer(8, { maxByteLength: 16 })), dims: [2] }, ArgumentError, /a fixed size/],
    [new Proxy(tensor([1]), {}), ArgumentError, /a tensor of a known library/],
  ])('case %#', (value, kind, message) => {
    expect(() => take(value)).toThrow(kind as typeof ArgumentError)
    expect(() => take(value)).toThrow(message)
  })

  test('each property is read once', () => {
    const reads: string[] = []
    const spiedList = (list: readonly number[], path: string): readonly number[] =>
      new Proxy(list, {
        get(of, key) {
          if (typeof key === 'string' && key !== 'length') reads.push(`${path}.${key}`)
          return Reflect.get(of, key) as unknown
        },
      })
    const spied = {}
    for (const [key, value] of Object.entries({ data: bytes, shape: [3, 2], stride: [1, 3], offset: 0 })) {
      const get = (): unknown => (reads.push(key), Array.isArray(value) ? spiedList(value, key) : value)
      Object.defineProperty(spied, key, { get })
    }
    take(spied)
    expect(reads.toSorted()).toEqual([
      'data',
      'offset',
      'shape',
      'shape.0',
      'shape.1',
      'stride',
      'stride.0',
      'stride.1',
    ])
    let size = 1
    const growing = {
      data: bytes,
      get dims() {
        return [size++]
      },
    }
    expect(() => take(growing)).toThrow(/got 6/)
    const away = new Float32Array(2)
    const dims = Object.defineProperty([2], 0, { get: () => (structuredClone(null, { transfer: [away.buffer] }), 2) })
    const x = take({ data: away, dims })
    expect(() => x.toArray()).toThrow(ScopeClosedError)
  })

  test('errors of the object reach the caller', () => {
    const disposed = {
      dtype: 'float32',
      shape: [1],
      dataSync: () => {
        throw new Error('Tensor is disposed.')
      },
    }
    expect(() => take(disposed)).toThrow('Tensor is disposed.')
  })
})

test('types of sources', () => {
  expectTypeOf(from(new Float32Array(1), { copy: true })).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(from(tensor([1]))).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(from({ data: new Float32Array(1), dims: [1] })).toEqualTypeOf<Tensor>()
  expectTypeOf(
    from({
      [tensorSymbol]: (): TensorDescription<'int8'> => ({
        version: 1,
        dtype: 'int8',
        shape: [0],
        buffer: new ArrayBuffer(0),
      }),
    }),
  ).toEqualTypeOf<Tensor<'int8'>>()
  expectTypeOf<Tensor<'float32'>>().toExtend<TensorLike<'float32'>>()
  expectTypeOf<Tensor<'float64'>>().not.toExtend<TensorLike<'float32'>>()
  expectTypeOf<Float64Array>().not.toExtend<TensorLike<'float32'>>()
  expectTypeOf<string>().not.toExtend<TensorLike>()
})
