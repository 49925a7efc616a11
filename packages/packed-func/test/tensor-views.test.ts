import { from, ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { fromDLPack, tensorView, toDLPack } from '../src/index.ts'
import { kernel } from './support.ts'

const addOne = kernel('add_one')
const echo = kernel('echo')
const close = (x: Tensor): void => (x.segment.lifetime as unknown as Disposable)[Symbol.dispose]()

describe('packed functions and DLPack get strides', () => {
  const table = tensor([
    [1, 2, 3],
    [4, 5, 6],
  ])

  it('a column is read and written in place', () => {
    const y = tensor('f32', [2])
    addOne(table.slice(null, 1), y)
    expect(y.toArray()).toEqual([3, 6])
    addOne(tensorView(table.slice(0, [null, null, 2])), y)
    expect(y.toArray()).toEqual([2, 4])
    const x = table.copy()
    addOne(x.slice(null, 2), x.slice(null, 0))
    expect(x.toArray()).toEqual([4, 2, 3, 7, 5, 6])
  })

  it('a view is the object that comes back', () => {
    const columns = table.transpose()
    expect(echo(columns)).toBe(columns)
  })

  it.each([true, false])(
    'a managed tensor of DLPack has the shape, the strides and the memory; versioned: %s',
    (versioned) => {
      for (const view of [
        table.transpose(),
        table.slice(1, [1]),
        table.slice(null, [null, null, 2]),
        table.unsqueeze(1),
      ]) {
        const back = fromDLPack(toDLPack(view, { versioned }), { versioned }) as Tensor
        expect([back.shape, back.strides, back.address]).toEqual([view.shape, view.strides, view.address])
        expect(back.toNested()).toEqual(view.toNested())
        expect(back.equals(view)).toBe(true)
        close(back)
      }
    },
  )
})

describe('the memory of from()', () => {
  it('is passed without a copy, and refused once it was transferred', async () => {
    const values = new Float32Array([1, 2])
    const [x, y] = [from(values), tensor('f32', [2])]
    addOne(x, y)
    addOne(x, x)
    expect([y.toArray(), [...values]]).toEqual([
      [2, 3],
      [2, 3],
    ])
    structuredClone(null, { transfer: [values.buffer] })
    expect(() => addOne(x, y)).toThrow(ScopeClosedError)
    expect(() => addOne(y, x)).toThrow(ScopeClosedError)
    expect(() => addOne(tensorView(x), y)).toThrow(ScopeClosedError)
    expect(() => toDLPack(x)).toThrow(ScopeClosedError)
    await expect((async () => addOne.async(x, y))()).rejects.toThrow(ScopeClosedError)
    expect(y.toArray()).toEqual([2, 3])
  })
})
