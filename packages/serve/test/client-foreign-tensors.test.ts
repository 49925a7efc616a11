import { gcAllocator, tensor, tensorSymbol, type OfferedTensor } from '@tenon/core'
import { ArgumentError } from '@tenon/core/errors'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { readInput } from '../src/client/read-input.ts'
import { createClient, type ClientInputs } from '../src/client.ts'
import { double } from './models.ts'
import { Served } from './support.ts'

// The structures of other libraries. `pnpm test:cookbook` shows that the libraries have them.

const data = Float32Array.of(1, 2, 3, 4, 5, 6)
const offer = (description: object): object => ({
  [tensorSymbol]: () => ({ version: 1, dtype: 'float32', shape: [2, 3], buffer: data.buffer, ...description }),
})
const vector = (values: unknown, nullCount: unknown = 0): object => ({
  type: { typeId: 3 },
  data: [],
  length: 6,
  nullCount,
  numChildren: 0,
  toArray: () => values,
})
const series = (values: unknown, nulls = 0): object => ({ nullCount: () => nulls, toTypedArray: () => values })

/** Returns the tensor that is sent for an input. */
function sent(value: unknown, datatype = 'FP32'): { shape: readonly number[]; elements: number[] } {
  const { shape, bytes } = readInput({ name: 'x', datatype, shape: [] }, value)
  const Elements = datatype === 'FP32' ? Float32Array : Uint8Array
  return { shape, elements: Array.from(new Elements(new Uint8Array(bytes).buffer)) }
}

describe('inputs of other libraries', () => {
  const inOrder = [1, 2, 3, 4, 5, 6]
  test.each<[string, unknown, readonly number[], readonly number[]]>([
    ['{ data, dims }', { data, dims: [3, 2] }, [3, 2], inOrder],
    ['onnxruntime', { type: 'float32', data, dims: [2, 3], location: 'cpu' }, [2, 3], inOrder],
    ['tfjs', { dtype: 'float32', shape: [6], dataSync: () => data }, [6], inOrder],
    ['ndarray', { data, shape: [2, 3], stride: [3, 1], offset: 0 }, [2, 3], inOrder],
    ['ndarray, transposed', { data, shape: [3, 2], stride: [1, 3], offset: 0 }, [3, 2], [1, 4, 2, 5, 3, 6]],
    ['ndarray, reversed', { data, shape: [2, 3], stride: [3, -1], offset: 2 }, [2, 3], [3, 2, 1, 6, 5, 4]],
    ['ndarray, sliced', { data, shape: [2, 2], stride: [3, 1], offset: 1 }, [2, 2], [2, 3, 5, 6]],
    ['ndarray, without elements', { data, shape: [0, 3], stride: [3, 1], offset: 6 }, [0, 3], []],
    ['ndarray, without axes', { data, shape: [], stride: [], offset: 4 }, [], [5]],
    ['apache-arrow', vector(data), [6], inOrder],
    ['nodejs-polars', series(data), [6], inOrder],
    ['an offer', offer({}), [2, 3], inOrder],
    ['an offer with strides', offer({ shape: [2], strides: [-3], byteOffset: 16 }), [2], [5, 2]],
    ['an offer of a part', offer({ shape: [2], byteOffset: 8 }), [2], [3, 4]],
    ['an offer that repeats an element', offer({ shape: [3], strides: [0], byteOffset: 4 }), [3], [2, 2, 2]],
  ])('%s', (_, value, shape, elements) => {
    expect(sent(value)).toEqual({ shape, elements })
  })

  test('images and segments are bytes', () => {
    const pixels = new Uint8ClampedArray(8).fill(7)
    const bytes = Array.from(pixels)
    expect(sent({ width: 2, height: 1, data: new Uint8Array(pixels) }, 'UINT8')).toEqual({
      shape: [1, 2, 4],
      elements: bytes,
    })
    const raw = { data: new Uint8Array(pixels), info: { width: 4, height: 2, channels: 1 } }
    expect(sent(raw, 'UINT8')).toEqual({ shape: [2, 4, 1], elements: bytes })
    expect(sent(gcAllocator.allocate(3), 'UINT8')).toEqual({ shape: [3], elements: [0, 0, 0] })
  })

  test.each<[unknown, RegExp]>([
    [{ data: new Int32Array(6), dims: [6] }, /the input x must have elements of float32, got Int32Array/],
    [{ type: 'int32', data, dims: [6] }, /must have elements of float32, got a tensor of int32/],
    [{ data, dims: [7] }, /7 elements for its shape \[7\], got 6/],
    [{ data, dims: 'x' }, /got an object without shape and data/],
    [{ data, shape: [2, 4], stride: [3, 1], offset: 0 }, /must lie inside its memory, got element 6/],
    [{ data, shape: [2, 3], stride: [-3, 1], offset: 0 }, /must lie inside its memory, got element -3/],
    [{ data, shape: [2, 3], stride: [3], offset: 0 }, /sizes and steps for each axis/],
    [{ data, shape: [2, 3], stride: [0.5, 1], offset: 0 }, /must lie inside its memory, got element 0.5/],
    [{ data, shape: [2 ** 50], stride: [0], offset: 0 }, /./],
    [vector(data, 2), /must have no nulls, got 2/],
    [vector(undefined), /./],
    [series(data, 1), /must have no nulls, got 1/],
    [offer({ dtype: 'float99' }), /must offer numbers without nulls in a buffer, got float99/],
    [offer({ dtype: 'int32' }), /must have elements of float32, got a tensor of int32/],
    [offer({ buffer: undefined, address: 4096n }), /in a buffer/],
    [offer({ validity: Uint8Array.of(1) }), /without nulls/],
    [offer({ byteOffset: 2 }), /an aligned first element/],
    [offer({ byteOffset: -4 }), /an aligned first element/],
    [offer({ byteOffset: 4 }), /6 elements for its shape \[2, 3\], got 5/],
    [{ [tensorSymbol]: 1 }, /./],
    [{ [tensorSymbol]: () => null }, /./],
    [{ nullCount: 0 }, /./],
    [{}, /got an object without shape and data/],
    [
      {
        dataSync() {
          throw new Error('Tensor is disposed.')
        },
      },
      /Tensor is disposed/,
    ],
  ])('case %# is refused with an error that names the input', (value, message) => {
    expect(() => sent(value)).toThrow(ArgumentError)
    expect(() => sent(value)).toThrow(message)
  })

  test('a client sends them, and their types are inputs', async () => {
    const { server } = await Served.start([double])
    await using client = createClient<{ double: typeof double }>(`http://127.0.0.1:${server.port}`)
    const { y } = await client.infer('double', { x: { data, shape: [1, 4], stride: [4, 1], offset: 2 } })
    expect(y).toEqual({ dtype: 'float32', shape: [1, 4], data: Float32Array.of(6, 8, 10, 12) })
    type Input = ClientInputs<'(x: f32[n]) -> (y: f32[n])'>['x']
    expectTypeOf<{ data: Float32Array; dims: readonly number[] }>().toExtend<Input>()
    expectTypeOf<OfferedTensor<'float32'>>().toExtend<Input>()
    expectTypeOf<OfferedTensor<'int32'>>().not.toExtend<Input>()
    expectTypeOf(tensor([1])).toExtend<Input>()
    expectTypeOf<Int32Array>().not.toExtend<Input>()
  })
})
