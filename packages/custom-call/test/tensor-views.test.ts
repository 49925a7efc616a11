import { ArgumentError, from, ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import { customCall, f32, hostCall, typedHandler } from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { kernels } from './kernels.ts'

const saxpy = customCall(kernels, 'saxpy')
const attrs = { a: f32(2) }
const square = tensor([
  [1, 2],
  [3, 4],
])

describe('calls of XLA describe no strides', () => {
  test('a strided operand is refused with its strides, and a contiguous copy is taken', () => {
    const [column, ones] = [square.slice(null, 1), tensor([1, 1])]
    expect(() => saxpy([column, ones], { results: [f32([2])], attrs })).toThrow(ArgumentError)
    expect(() => saxpy([column, ones], { results: [f32([2])], attrs })).toThrow(/row-major.*strides \[2\]/)
    const y = saxpy([column.contiguous(), ones], { results: [f32([2])], attrs })
    expect(y.toArray()).toEqual([5, 9])
  })

  test('a strided result is refused, and a row of a larger tensor is written in place', () => {
    const [x, table] = [tensor([1, 2]), tensor('f32', [2, 2])]
    expect(() => saxpy([x, x], { results: [table.slice(null, 1)], attrs })).toThrow(/row-major.*strides \[2\]/)
    saxpy([x, x], { results: [table.slice(1)], attrs })
    expect(table.toNested()).toEqual([
      [0, 0],
      [3, 6],
    ])
  })

  test('a prepared call refuses a strided tensor of the same shape', () => {
    using call = typedHandler(kernels, 'saxpy').prepare({
      operands: [f32([2]), f32([2])],
      results: [f32([2])],
      attrs,
    })
    const x = tensor([1, 2])
    expect(() => call.run([square.slice(null, 0), x], [x])).toThrow(/strides \[2\]/)
    call.run([square.slice(0), square.slice(-1)], [x])
    expect(x.toArray()).toEqual([5, 8])
  })

  test('untyped calls take row-major memory only', () => {
    const sum = hostCall(kernels, 'do_custom_call')
    const x = tensor(
      'f32',
      [128],
      Array.from({ length: 128 }, (_, i) => i),
    )
    const spread = tensor('f32', [128, 2]).slice(null, 0)
    expect(() => sum([spread, x], { results: [f32([128])] })).toThrow(/row-major.*strides \[2\]/)
    expect(() => sum([x, x], { results: [spread] })).toThrow(/row-major/)
  })

  test('views that are row-major are taken as they are', () => {
    const x = tensor([[1], [2]])
    const y = saxpy([x.reshape([2]), x.transpose().squeeze()], { results: [f32([2])], attrs })
    expect(y.toArray()).toEqual([3, 6])
  })
})

describe('each run checks that the memory of from() was not transferred', () => {
  const transfer = ({ buffer }: Float32Array): void => void (buffer as ArrayBuffer).transfer()

  test.each(['customCall', 'run', 'bind', 'runAsync'])('%s', async (kind) => {
    const values = new Float32Array([1, 2])
    const [x, y] = [from(values), tensor('f32', [2])]
    using call = typedHandler(kernels, 'saxpy').prepare({ operands: [x, x], results: [y], attrs })
    const bound = call.bind([x, x], [y])
    const once = async (): Promise<unknown> => {
      if (kind === 'customCall') return saxpy([x, x], { results: [y], attrs })
      if (kind === 'runAsync') return call.runAsync([x, x], [y])
      return kind === 'run' ? call.run([x, x], [y]) : bound.run()
    }
    await once()
    expect(y.toArray()).toEqual([3, 6])
    values[1] = 5
    await once()
    expect(y.toArray()).toEqual([3, 15])
    transfer(values)
    await expect(once()).rejects.toThrow(ScopeClosedError)
    expect(y.toArray()).toEqual([3, 15])
    bound.close()
  })

  test('a kernel writes results into the memory of an array', () => {
    const results = new Float32Array(4)
    const x: Tensor = tensor([1, 2])
    saxpy([x, x], { results: [from(results.subarray(2))], attrs })
    expect([...results]).toEqual([0, 0, 3, 6])
  })
})
