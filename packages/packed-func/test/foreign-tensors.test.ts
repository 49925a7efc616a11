import { from, tensor, tensorSymbol, type Tensor } from '@tenon/core'
import { addressOf } from '@tenon/core/internal'
import { describe, expect, test } from 'vitest'
import { fromDLPack, readOnly, t, tensorView, toDLPack } from '../src/index.ts'
import { collect, kernel, live } from './support.ts'

const addOne = kernel('add_one')
const echo = kernel('echo')

const make: Record<string, (data: Float32Array) => object> = {
  'a TypedArray': (data) => data,
  onnxruntime: (data) => ({ type: 'float32', data, dims: [data.length], location: 'cpu' }),
  'an ndarray': (data) => ({ data, shape: [data.length], stride: [1], offset: 0 }),
  'an offer': (data) => ({
    [tensorSymbol]: () => ({ version: 1, dtype: 'float32', shape: [data.length], buffer: data.buffer }),
  }),
}

describe.each(Object.entries(make))('%s is an argument', (_, foreign) => {
  test('of packed functions, also of typed and asynchronous ones', async () => {
    const [x, y] = [Float32Array.of(1, 2), new Float32Array(2)]
    addOne(foreign(x) as Tensor, foreign(y) as Tensor)
    expect([...y]).toEqual([2, 3])
    await addOne.async(foreign(y) as Tensor, foreign(x) as Tensor)
    expect([...x]).toEqual([3, 4])
    addOne(readOnly(foreign(x) as Tensor), tensorView(foreign(y) as Tensor))
    expect([...y]).toEqual([4, 5])
    addOne.typed([t.tensor, t.tensor], t.none)(foreign(y) as Tensor, foreign(x) as Tensor)
    expect([...x]).toEqual([5, 6])
    const back = echo(foreign(x) as Tensor) as Tensor
    expect(back.address).toBe(addressOf(x.buffer))
  })

  test('of toDLPack(), in place', () => {
    const x = Float32Array.of(1, 2)
    const back = fromDLPack(toDLPack(foreign(x) as Tensor)) as Tensor
    expect([back.address, back.toArray()]).toEqual([addressOf(x.buffer), [1, 2]])
  })
})

test('native code keeps the memory after a call, and releases it', async () => {
  const before = live().foreign
  let x: Float32Array | undefined = Float32Array.of(7, 8)
  kernel('keep')(x as unknown as Tensor)
  x = undefined
  globalThis.gc?.()
  expect((kernel('kept')() as Tensor).toArray()).toEqual([7, 8])
  kernel('keep')(null)
  await collect(() => live().foreign <= before)
  expect(live().foreign).toBeLessThanOrEqual(before)
})

test('strided tensors keep their strides, bytes stay bytes, and other objects are refused', () => {
  const data = Float32Array.of(1, 2, 3, 4)
  const strided = { data, shape: [2, 2], stride: [1, 2], offset: 0 }
  const back = echo(strided as never) as Tensor
  expect([back.strides, back.toNested()]).toEqual([
    [1, 2],
    [
      [1, 3],
      [2, 4],
    ],
  ])
  expect(echo(Uint8Array.of(1, 2))).toEqual(Uint8Array.of(1, 2))
  expect(() => echo({ data, shape: [4], stride: [-1], offset: 3 } as never)).toThrow(/no negative strides/)
  expect(() => echo({ a: 1 } as never)).toThrow(/cannot take an object/)
  expect((echo(from(data)) as Tensor).toArray()).toEqual(tensor([1, 2, 3, 4]).toArray())
})
