import { from, tensor, type Tensor } from '@tenon/core'
import { StringTensor } from '@tenon/tstring'
import { expect, test } from 'vitest'
import { donated } from '../src/call/donated.ts'
import { openTestKernel, valuesOf } from './open-kernels.ts'

const onnx = (data: Float32Array): object => ({ type: 'float32', data, dims: [data.length], location: 'cpu' })

test('a tensor of another library is an operand and a result', async () => {
  const scale = openTestKernel('Scale')
  const [values, out] = [Float32Array.of(1, 2), new Float32Array(2)]
  for (const x of [values, onnx(values), { data: values, dims: [2] }]) {
    expect(valuesOf(scale(x as Tensor))).toEqual([2, 4])
    expect(valuesOf(await scale.async(x as Tensor))).toEqual([2, 4])
  }
  for (const into of [out, onnx(out), { data: out, dims: [2] }]) {
    out.fill(0)
    scale(onnx(values) as Tensor, {}, { into })
    expect([...out]).toEqual([2, 4])
  }
  expect(donated(onnx(values) as Tensor).tensor.address).toBe(from(values).address)
  expect(() => scale({ data: values, dims: [3] } as never)).toThrow(/must lie inside its memory/)
  expect(() => scale(tensor([1]), {}, { into: { data: out } as never })).toThrow(/no result data/)
})

test('strings of Arrow are an operand of a kernel with strings', () => {
  const decorate = openTestKernel('Decorate')
  const column = {
    type: { typeId: 5 },
    offset: 0,
    length: 2,
    nullCount: 0,
    nullBitmap: undefined,
    valueOffsets: Int32Array.of(0, 1, 5),
    values: Buffer.from('hello'),
  }
  const result = decorate(column as never, { suffix: '!' }) as StringTensor
  expect(result).toBeInstanceOf(StringTensor)
  expect(result.toArray()).toEqual(['h!', 'ello!'])
  const texts = { type: 'string', data: ['a', 'b'], dims: [2] }
  expect((decorate(texts as never, { suffix: '?' }) as StringTensor).toArray()).toEqual(['a?', 'b?'])
})
