import { tensor, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import {
  dataType,
  device,
  float,
  getGlobal,
  KeyError,
  PackedFuncError,
  PackedFuncTypeError,
  shape,
  tensorView,
  ValueError,
  type Argument,
} from '@tenon/packed-func'
import { KernelCrashError } from '@tenon/isolate'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library, type IsolatedLibrary } from '../src/index.ts'
import { errorOf, fixturePath, outcome, outcomeAsync, plain } from './isolated.ts'

let values: IsolatedLibrary
let packed: IsolatedLibrary
let relaying: IsolatedLibrary

beforeAll(async () => {
  values = await Library.isolate(fixturePath('faulty_packed'), { restart: { limit: 1000, backoff: 0 } })
  packed = await Library.isolate(kernelLibrary('packed'))
  relaying = await Library.isolate(kernelLibrary('packed'), { callbacks: 'relay' })
})
afterAll(async () => {
  for (const library of [values, packed, relaying]) await library.closeAsync()
})

describe('packed() of an isolated library', () => {
  test('returns the values of packed functions, as text, numbers and containers of JavaScript', async () => {
    const echo = values.packed('echo')
    const tree: Argument = [
      1,
      2.5,
      'x'.repeat(100),
      null,
      true,
      new Map<Argument, Argument>([['k', [2]]]),
      new Uint8Array([1, 2]),
    ]
    for (const value of [
      null,
      3,
      -1.5,
      'ß',
      true,
      2n ** 60n,
      new Uint8Array(5000),
      'long '.repeat(9000),
      tree,
    ] as Argument[]) {
      expect(echo(value)).toEqual(value)
      expect(await echo.async(value)).toEqual(value)
    }
    expect(echo(undefined)).toBeNull()
    expect(echo(float(2))).toBe(2)
    expect(echo(shape([2, 3]))).toEqual([2, 3])
    expect(echo(dataType('float16x2'))).toEqual(dataType('float16x2'))
    expect(echo(device('cuda:1'))).toEqual(device('cuda:1'))
    expect(echo(getGlobal('ffi.Array')(1, 'two') as Argument)).toEqual([1, 'two'])
    const [first, wrong] = await echo.batch([[1], [1, 2]])
    expect(first).toEqual({ status: 'fulfilled', value: 1 })
    expect((wrong as PromiseRejectedResult).reason).toBeInstanceOf(PackedFuncTypeError)
  })

  test('agrees with packed() of a library in this process', async () => {
    using here = Library.open(kernelLibrary('packed'))
    const calls: readonly (readonly [string, () => readonly Argument[]])[] = [
      ['sum', () => [1, 2, 3.5]],
      ['sum', () => []],
      ['nothing', () => []],
      ['main', () => []],
      ['fail_as', () => ['ValueError', 'on purpose']],
      ['fail_as', () => ['KeyError', 'ü'.repeat(100)]],
      ['fail_as', () => ['MyOwnError', 'x']],
      ['fail_as_before', () => ['TypeError', 'x']],
      ['sum_in_parallel', () => [100]],
      ['make_range', () => [5]],
      ['type_index', () => ['text']],
      ['absent', () => []],
      ['sun', () => []],
    ]
    for (const [name, args] of calls) {
      const expected = outcome(() => here.packed(name)(...args()))
      expect([name, outcome(() => packed.packed(name)(...args()))]).toEqual([name, expected])
      expect([name, await outcomeAsync(async () => packed.packed(name).async(...args()))]).toEqual([name, expected])
    }
  })

  test('copies tensors to the worker and back, and returns an operand as itself', async () => {
    const [x, y] = [tensor([1, 2, 3]), tensor('f32', [3])]
    packed.packed('add_one')(x, y)
    expect(y.toArray()).toEqual([2, 3, 4])
    await packed.packed('add_one').async(tensorView(y), y)
    expect(y.toArray()).toEqual([3, 4, 5])
    expect(values.packed('echo')(x)).toBe(x)
    // In the memory of the library nothing is copied.
    const { copiedBytes } = packed.metrics()
    const shared = tensor('f32', [3], [1, 2, 3], { allocator: packed.memory })
    packed.packed('add_one')(shared, shared)
    expect(shared.toArray()).toEqual([2, 3, 4])
    expect(packed.metrics().copiedBytes).toBe(copiedBytes)
    // Views with strides are row-major in the worker.
    const square = tensor('f32', [2, 2], [1, 2, 3, 4])
    const turned = square.transpose()
    values.packed('faulty')(0, tensor([1, 2]), turned.slice(0) as Tensor)
    expect(square.toArray()).toEqual([2, 2, 4, 4])
  })

  test('a tensor that a function returns lies in the memory of the library', async () => {
    const small = values.packed('range')(4) as Tensor
    expect(small.toArray()).toEqual([0, 1, 2, 3])
    const large = (await values.packed('range').async(100_000)) as Tensor
    expect(large.shape).toEqual([100_000])
    expect(large.toArray().at(-1)).toBe(99_999)
    expect(large.segment.lifetime).toBe(values.memory)
    expect(plain(values.packed('columns')())).toEqual(plain(tensor('f32', [2, 3], [0, 1, 2, 3, 4, 5])))
  })

  test('text that does not fit into a slot crosses in both directions', async () => {
    expect(values.packed('text')(100_000)).toBe('x'.repeat(100_000))
    expect(await values.packed('text').async(16_390)).toHaveLength(16_390)
    const long = 'y'.repeat(1_000_000)
    expect(values.packed('echo')(long) === long).toBe(true)
  })

  test('errors have their class, cause and frames, and the worker', async () => {
    const error = (await errorOf(() => values.packed('fail')())) as PackedFuncError
    expect(error).toBeInstanceOf(ValueError)
    expect(error).toMatchObject({ kind: 'ValueError', sentence: 'failed on purpose', code: 'TENON_PACKED_FUNC' })
    expect(error.cause).toBeInstanceOf(KeyError)
    expect(error.nativeBacktrace).toContain('values.c')
    expect(error.details).toMatchObject({ worker: { index: 0, process: expect.any(Number) as number } })
  })

  test('values that belong to this process are refused by their place', () => {
    expect(() => values.packed('echo')(new Error('x'))).toThrow(
      'argument 1: a packed function in another process cannot take',
    )
    expect(() => values.packed('echo')(() => 1)).toThrow('argument 1 must not be a function')
    expect(() => values.packed('echo')([1, (): number => 1] as never)).toThrow('argument 1[1] must not be a function')
    expect(() => values.packed('pointer')()).toThrow(PackedFuncError)
  })

  test('with() has the options of calls', async () => {
    const faulty = values.packed('faulty')
    const error = await errorOf(async () => faulty.with({ deadline: 100 }).async(8, tensor([1]), tensor([1])))
    expect(error).toMatchObject({ code: 'TENON_KERNEL_DEADLINE', details: { stage: 'killed' } })
    expect(() => faulty.with({ deadline: 0 })).toThrow('deadline must be')
    expect(() => faulty.with({ into: 1 } as never)).toThrow('must not have the option "into"')
    const stopped = AbortSignal.abort(new Error('stop'))
    await expect(faulty.with({ signal: stopped }).async(0, tensor([1]), tensor([1]))).rejects.toThrow('stop')
    expect(String(faulty.name)).toBe('faulty')
  })

  test.each([1, 2, 4, 14])('fault %i of a packed function is an error of its call', async (fault) => {
    const faulty = values.packed('faulty')
    const y = tensor('f32', [16])
    expect(await errorOf(() => faulty(fault, tensor('f32', [16]), y))).toBeInstanceOf(KernelCrashError)
    expect(await errorOf(async () => faulty.async(fault, tensor('f32', [16]), y))).toBeInstanceOf(KernelCrashError)
    faulty(
      0,
      tensor(
        'f32',
        [16],
        Float32Array.from({ length: 16 }, (_, i) => i),
      ),
      y,
    )
    expect(y.toArray()[5]).toBe(10)
  })
})

describe('kernels of packed functions', () => {
  test('with a signature allocate their results', async () => {
    const double = values.kernel('faulty')
    expect(double(tensor([1, 2])).toArray()).toEqual([2, 4])
    expect((await double.async(tensor([3]), { fault: 0 }, { deadline: 1000 })).toArray()).toEqual([6])
    const [one, two] = await double.batch([[tensor([1])], [tensor([2]), { fault: 24 }]])
    expect((one as PromiseFulfilledResult<Tensor>).value.toArray()).toEqual([2])
    expect((two as PromiseRejectedResult).reason).toMatchObject({ kind: 'RuntimeError', sentence: 'failed on purpose' })
    const into = tensor('f32', [2])
    expect(double(tensor([4, 5]), {}, { into })).toBe(into)
    expect(into.toArray()).toEqual([8, 10])
    expect(() => (double as never as { prepare(types: unknown): unknown }).prepare([tensor([1])])).toThrow(
      'without prepare()',
    )
  })

  test('without a signature pass their values on', () => {
    expect((packed.kernel('sum') as never as (...values: number[]) => unknown)(1, 2)).toBe(3)
    const add = packed.kernel('add_one', { signature: '(x: f32[n]) -> (y: f32[n])' })
    expect(add(tensor([1, 2])).toArray()).toEqual([2, 3])
  })

  test('of TVM before 0.21 run in a worker that has its runtime', async () => {
    for (const name of ['packed_legacy_plain', 'packed_tvm_021', 'packed_tvm_022', 'packed_tvm_026']) {
      using here = Library.open(kernelLibrary(name))
      await using there = await Library.isolate(kernelLibrary(name))
      const names = here.kernels().map((one) => one.name)
      expect(there.kernels().map((one) => one.name)).toEqual(names)
      for (const each of names) {
        const args = (): Argument[] => [tensor([1, 2, 3, 4]), tensor('f32', [4])]
        const results = [args(), args()]
        const expected = outcome(() => here.packed(each)(...results[0]!))
        expect([name, each, outcome(() => there.packed(each)(...results[1]!))]).toEqual([name, each, expected])
        expect(plain(results[1])).toEqual(plain(results[0]))
      }
    }
  })
})

describe("callbacks: 'relay'", () => {
  test('a packed function calls a function of this process', async () => {
    const call = relaying.packed('call')
    expect(call((a: number, b: number) => a + b, 2, 3)).toBe(5)
    expect(await call.async((text: string) => `${text}!`, 'hello')).toBe('hello!')
  })

  test('an error that the function throws returns as itself', async () => {
    const own = new RangeError('mine')
    const fail = (): never => {
      throw own
    }
    expect(await errorOf(() => relaying.packed('call')(fail))).toBe(own)
    expect(await errorOf(async () => relaying.packed('call').async(fail))).toBe(own)
    const later = await errorOf(() => relaying.packed('call')(async () => 1))
    expect(later.message).toContain('asynchronous function used as packed function')
  })

  test('tensors, containers and large results cross', async () => {
    const x = tensor([1, 2])
    expect(relaying.packed('call')((one: Tensor) => one, x)).toBe(x)
    expect(relaying.packed('call')((one: Tensor) => one.set([7, 2]), x)).toBeNull()
    expect(x.toArray()).toEqual([7, 2])
    const made = relaying.packed('call')(() => tensor([5, 6])) as Tensor
    expect(made.toArray()).toEqual([5, 6])
    expect(relaying.packed('call')((list: unknown) => list, [1, [2, 'three']])).toEqual([1, [2, 'three']])
    const error = await errorOf(() => relaying.packed('call')(() => 'x'.repeat(20_000)))
    expect(error.message).toContain('at most 16384 bytes')
  })
})
