import { describe, expect, it } from 'vitest'
import { gcAllocator, ScopeClosedError, tensor, Tensor, type DType } from '@tenon/core'
import { usersOf } from '@tenon/core/internal'
import type { NativeArray, PackedFuncError } from '../src/index.ts'
import { fromDLPack, getGlobal, packedFunc, t, tensorView, toDLPack } from '../src/index.ts'
import { LentMemory } from './lent-memory.ts'
import { collect, collectAll, isOwnLibrary, kernel, live, thrownBy } from './support.ts'

const addOne = kernel('add_one')
const echo = kernel('echo')
const call = kernel('call')
const makeRange = kernel('make_range')

describe('a tensor of JavaScript', () => {
  it('is read and written without a copy', () => {
    const x = tensor('float32', [4], [1, 2, 3, 4])
    const y = tensor('float32', [4])
    addOne(x, y)
    expect(y.toArray()).toEqual([2, 3, 4, 5])
    addOne(y, y)
    expect(y.toArray()).toEqual([3, 4, 5, 6])
  })

  it('is borrowed until the call ends, also during nested calls', () => {
    for (let i = 0; i < 3; i++) {
      const x = tensor('float32', [2], [1, 2])
      const typeIndex = kernel('type_index')
      const left = kernel('read_after')(x, () => void typeIndex(x))
      expect(left).toBe(1)
      expect(echo(x)).toBe(x)
      expect(x.toArray()).toEqual([1, 2])
    }
  })

  it('can be passed as a DLTensor*, which cannot be kept', () => {
    const x = tensor('float32', [2], [1, 2])
    addOne(tensorView(x), tensorView(x))
    expect(x.toArray()).toEqual([2, 3])
    const error = thrownBy(() => echo(tensorView(x))) as PackedFuncError
    expect(error.kind).toBe(isOwnLibrary ? 'RuntimeError' : 'InternalError')
    expect(error.sentence).toMatch(/DLTensor\*|only lent/)
    expect(() => tensorView(1 as never)).toThrow('must be a tensor')
  })

  it('is returned as the same tensor', () => {
    const x = tensor('int32', [2])
    expect(echo(x)).toBe(x)
    expect(call((given: Tensor) => given, x)).toBe(x)
    expect(x.segment.lifetime.isAlive).toBe(true)
  })

  it('is passed with its strides', () => {
    const x = tensor('float32', [3], gcAllocator.allocate(64, 64), { strides: [2] })
    const y = tensor('float32', [3])
    new Float32Array(x.segment.view().buffer, x.segment.view().byteOffset, 5).set([1, 0, 2, 0, 3])
    addOne(x, y)
    expect(y.toArray()).toEqual([2, 3, 4])
  })

  it('can be an element of an array, and 40 arguments', () => {
    const x = tensor('float32', [1], [5])
    const array = echo([x, [x]]) as never as { get(i: number): Tensor }
    expect(array.get(0)).toBe(x)
    const count = packedFunc((...values: unknown[]) => values.filter((value) => value === x).length)
    expect(count(...Array.from({ length: 40 }, () => x))).toBe(40)
  })

  it('can be kept by native code, which keeps its memory alive', async () => {
    await collectAll()
    const before = live()
    ;(() => {
      const x = tensor('float32', [2], [7, 8])
      kernel('keep')(x)
    })()
    await collectAll()
    expect(live().foreign).toBe(before.foreign + 1)
    expect((kernel('kept')() as Tensor).toArray()).toEqual([7, 8])
    kernel('keep')(null)
    await collect(() => live().foreign === before.foreign)
    expect(live().foreign).toBe(before.foreign)
  })

  it('that is kept twice is held once for each object', () => {
    const before = live().foreign
    const x = tensor('float32', [2])
    kernel('keep')(x)
    kernel('keep')(x)
    addOne(x, x)
    expect(x.toArray()).toEqual([1, 1])
    kernel('keep')(null)
    expect(live().foreign).toBeLessThanOrEqual(before + 1)
  })

  it('can be closed once native code has released it', async () => {
    const lifetime = new LentMemory()
    const x = lifetime.tensor()
    addOne(x, x)
    await addOne.async(x, x)
    const array = echo([x]) as NativeArray
    expect(() => lifetime.close()).toThrow('1 hold')
    array.close()
    kernel('keep')(x)
    expect(() => lifetime.close()).toThrow('1 hold')
    kernel('keep')(null)
    lifetime.close()
    expect(() => addOne(x, x)).toThrow('closed already')
  })

  it('throws ScopeClosedError from the moment that closing of its memory begins', async () => {
    const lifetime = new LentMemory()
    const [x, unused] = [lifetime.tensor(), lifetime.tensor()]
    addOne(x, x)
    const refused: unknown[] = []
    const values: unknown[] = []
    const pending: Promise<unknown>[] = []
    lifetime.addCloseAction(() => {
      values.push(...x.toArray())
      for (const given of [x, unused, tensorView(x), tensorView(unused), [x]]) refused.push(thrownBy(() => echo(given)))
      refused.push(
        thrownBy(() => echo.typed([t.tensor], t.any)(x)),
        thrownBy(() => toDLPack(x)),
      )
      pending.push(addOne.async(x, x))
    })
    lifetime.close()
    expect(values).toEqual([2, 3])
    expect(refused).toHaveLength(7)
    for (const error of refused) expect(error).toBeInstanceOf(ScopeClosedError)
    await expect(pending[0]).rejects.toThrow('being closed')
  })

  it('is held when native code keeps it although closing has begun during the call', () => {
    const lifetime = new LentMemory()
    const x = lifetime.tensor()
    const closing = Object.defineProperty([0], 0, {
      get: () => {
        lifetime.gate.open = false
        return 1
      },
    })
    const kept = getGlobal('ffi.Array')(x, closing) as NativeArray
    expect(lifetime.gate.holds).toBe(1)
    kept.close()
    // Counting the live objects drains the queue of releases.
    live()
    expect(lifetime.gate.holds).toBe(0)
  })

  it('of elements smaller than a byte is passed packed, and refused with a hint otherwise', () => {
    expect((echo(tensor('int4', [3], [1, 2, -3], { packing: 'packed' })) as Tensor).toArray()).toEqual([1, 2, -3])
    const error = thrownBy(() => echo(tensor('int4', [3]))) as PackedFuncError
    expect(error.sentence).toBe('Subbyte type padded is not yet supported')
    expect(error.hint).toBe("Make it with { packing: 'packed' }.")
  })

  it.each<[DType]>([['bool'], ['float64'], ['bfloat16'], ['complex64'], ['float8_e4m3fn'], ['uint16'], ['int64']])(
    'of %s keeps its type through a callback',
    (dtype) => {
      const x = tensor(dtype, [2, 3])
      let type = ''
      call((lent: Tensor) => {
        type = String(lent.type)
      }, tensorView(x))
      expect(type).toBe(`${dtype}[2, 3]`)
    },
  )

  it.each([[[0, 2 ** 40, 2 ** 40]], [[2 ** 40, 2 ** 40, 0]], [[2 ** 52, 0, 2 ** 52, 2 ** 52]]])(
    'without elements may have the sizes %j',
    (shape) => {
      const empty = tensor('float32', shape)
      expect(kernel('echo')(empty)).toBe(empty)
      expect(kernel('type_index')(tensorView(empty))).toBe(7)
      const copy = fromDLPack(toDLPack(empty)) as Tensor
      expect(copy.type.shape).toEqual(shape)
    },
  )

  it('may have no elements or no axes', () => {
    expect(echo(tensor('float32', [0, 3]))).toBeInstanceOf(Tensor)
    const scalar = tensor('float32', [], [3])
    expect((echo(scalar) as Tensor).toArray()).toEqual([3])
  })
})

describe('a tensor that a kernel makes', () => {
  it('gets aligned memory from Tenon', () => {
    const x = makeRange(5) as Tensor
    expect(x).toBeInstanceOf(Tensor)
    expect(x.toArray()).toEqual([0, 1, 2, 3, 4])
    expect(x.address % 64).toBe(0)
    expect(x.view()).toBeInstanceOf(Float32Array)
  })

  it('is passed back as the same tensor', () => {
    const x = makeRange(3) as Tensor
    expect(echo(x)).toBe(x)
    addOne(x, x)
    expect(x.toArray()).toEqual([1, 2, 3])
    kernel('keep')(x)
    expect(kernel('kept')()).toBe(x)
    kernel('keep')(null)
    expect(x.toArray()).toEqual([1, 2, 3])
  })

  it('detaches all views when its lifetime is closed', () => {
    const before = live().native
    const x = makeRange(3) as Tensor
    const view = x.view()
    ;(x.segment.lifetime as unknown as Disposable)[Symbol.dispose]()
    expect(view.length).toBe(0)
    expect(() => x.toArray()).toThrow('native tensor')
    expect(() => addOne(x, x)).toThrow('native tensor')
    expect(live().native).toBe(before)
  })

  it('is released by the garbage collector', async () => {
    const before = live().native
    for (let i = 0; i < 50; i++) makeRange(10)
    await collect(() => live().native <= before)
    expect(live().native).toBeLessThanOrEqual(before)
  })

  it('may have no elements', () => {
    expect((makeRange(0) as Tensor).toArray()).toEqual([])
  })

  it('cannot have a negative size', () => {
    const error = thrownBy(() => makeRange(-1)) as PackedFuncError
    expect(error.kind).toBe('MemoryError')
  })
})

it('a Proxy of a tensor cannot make a call enter one lifetime and leave another', () => {
  const sum = kernel('sum')
  const x = tensor('float32', [1])
  const other = new LentMemory()
  let reads = 0
  const handler: ProxyHandler<Tensor> = {
    get: (target, key) => (key === 'gate' && reads++ % 2 === 1 ? other.gate : Reflect.get(target, key, target)),
  }
  for (const count of [1, 3, 4]) {
    const before = [usersOf(x.gate), usersOf(other.gate)]
    const values = Array.from({ length: count }, () => new Proxy(x, handler))
    expect(() => sum(...values)).toThrow('sum takes numbers')
    expect([usersOf(x.gate), usersOf(other.gate)]).toEqual(before)
  }
})
