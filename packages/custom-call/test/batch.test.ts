import { ArgumentError, NativeLibrary, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import {
  AbortedError,
  ApiVersion,
  batch,
  f32,
  FunctionTarget,
  hostFunction,
  InternalError,
  s32,
  typedHandler,
  UnavailableError,
  UnknownError,
  type XlaError,
  type PreparedCall,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { cppKernels, filled, kernels, liveObjects, thrownBy } from './kernels.ts'

const runtime = NativeLibrary.open(kernelLibrary('kernels_runtime'))
const clip = (low: number, high: number): PreparedCall =>
  typedHandler(kernels, 'clip_v3').prepare({
    operands: [f32([2])],
    results: [f32([2])],
    attrs: { low: f32(low), high: f32(high) },
  })
const failing = (code: number): PreparedCall =>
  typedHandler(kernels, 'fail_with').prepare({ attrs: { code: s32(code), message: 'as asked' } })
const none = { operands: [], results: [] }

describe('a batch', () => {
  test('runs calls in order, including one call twice with other tensors', () => {
    const [x, y, z] = [filled([2], (i) => 4 * i), tensor('f32', [2]), tensor('f32', [2])]
    const call = clip(1, 3)
    const steps = batch([
      { call, operands: [x], results: [y] },
      { call: clip(2, 2), operands: [y], results: [y] },
      { call, operands: [y], results: [z] },
    ])
    expect(steps).toHaveLength(3)
    steps.run()
    expect([y.toArray(), z.toArray()]).toEqual([
      [2, 2],
      [2, 2],
    ])
    steps.run()
    steps.close()
    expect(() => steps.run()).toThrow(ScopeClosedError)
  })

  test('mixes typed and untyped calls', () => {
    const both = [tensor('s32', [4], [1, 2, 3, 4])]
    const increment = hostFunction(runtime, 'increment').prepare({ operands: both, results: both })
    const entry = { call: increment, operands: both, results: both }
    using steps = batch([entry, { call: failing(0), ...none }, entry])
    steps.run()
    expect(both[0]!.toArray()).toEqual([3, 4, 5, 6])
  })

  test('stops at the first error and reports its index', () => {
    const y = tensor('f32', [2])
    const x = filled([2], () => 5)
    using steps = batch([
      { call: failing(0), ...none },
      { call: failing(10), ...none },
      { call: clip(0, 9), operands: [x], results: [y] },
    ])
    const error = thrownBy(() => steps.run()) as XlaError
    expect(error).toBeInstanceOf(AbortedError)
    expect(error.batchIndex).toBe(1)
    expect(error.message).toContain('call 1 of the batch, fail_with, answered ABORTED: as asked')
    expect(y.toArray()).toEqual([0, 0])
    expect(thrownBy(() => failing(10).run([], []))).toMatchObject({ batchIndex: undefined })
  })

  test('reports the index of exceptions, failures with a status, and TypeScript functions', () => {
    using thrown = batch([{ call: typedHandler(cppKernels, 'throw_int').prepare({}), ...none }])
    expect(thrownBy(() => thrown.run())).toMatchObject({ batchIndex: 0, target: 'throw_int' })
    const options = { apiVersion: ApiVersion.STATUS_RETURNING } as const
    const [a, b, sum] = [tensor('s32', [], [2 ** 31 - 1]), tensor('s32', [], [1]), tensor('s32', [])]
    const add = hostFunction(runtime, 'checked_add', options).prepare({ operands: [a, b], results: [sum] })
    using overflow = batch([
      { call: failing(0), ...none },
      { call: add, operands: [a, b], results: [sum] },
    ])
    expect(thrownBy(() => overflow.run())).toMatchObject({ batchIndex: 1 })
    expect(thrownBy(() => overflow.run())).toBeInstanceOf(InternalError)
    const cause = new Error('of a function')
    const target = FunctionTarget.open('throwing', '() -> ()', () => {
      throw cause
    })
    using functions = batch([{ call: target.handler.prepare({}), ...none }])
    expect(thrownBy(() => functions.run())).toMatchObject({ batchIndex: 0, cause })
    functions.close()
    target.close()
  })

  test('keeps its tensors, calls and libraries open until it is closed', () => {
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const scope = NativeScope.ofConfined()
    const x = tensor('f32', [2], [1, 2], { allocator: scope })
    const call = typedHandler(library, 'clip_v1').prepare({
      operands: [x],
      results: [x],
      attrs: { low: f32(0), high: f32(1) },
    })
    const steps = batch([{ call, operands: [x], results: [x] }])
    for (const held of [scope, call, library]) expect(() => held.close()).toThrow(ScopeHeldError)
    steps.close()
    for (const held of [call, scope, library]) held.close()
  })

  test('holds nothing after an invalid entry', () => {
    const call = clip(0, 1)
    const x = filled([2], () => 1)
    expect(() =>
      batch([
        { call, operands: [x], results: [x] },
        { call, operands: [], results: [x] },
      ]),
    ).toThrow(ArgumentError)
    expect(() => batch([{ call, operands: [x], results: [x] }, {} as never])).toThrow(/call 1 of a batch/)
    expect(() => batch([])).toThrow(/entries must be an array of calls/)
    expect(() => batch(5 as never)).toThrow(ArgumentError)
    call.close()
  })

  test('throws ArgumentError when it is run inside itself', () => {
    let inner: unknown
    const target = FunctionTarget.open('again', '() -> ()', () => {
      inner = thrownBy(() => steps.run())
    })
    const steps = batch([{ call: target.handler.prepare({}), ...none }])
    steps.run()
    expect(inner).toBeInstanceOf(ArgumentError)
    steps.close()
    target.close()
  })
})

describe('runAsync() of a batch', () => {
  test('settles from the event loop and keeps the batch open until then', async () => {
    const [x, y] = [filled([2], (i) => 4 * i), tensor('f32', [2])]
    const steps = batch([
      { call: clip(1, 3), operands: [x], results: [y] },
      { call: clip(2, 9), operands: [y], results: [y] },
    ])
    const run = steps.runAsync()
    expect(() => steps.close()).toThrow(ScopeHeldError)
    await expect(steps.runAsync()).rejects.toThrow(/cannot run inside or beside its own run/)
    await run
    expect(y.toArray()).toEqual([2, 3])
    await steps.runAsync()
    steps.close()
    await expect(steps.runAsync()).rejects.toThrow(ScopeClosedError)
  })

  test('rejects with the first error and its index', async () => {
    using steps = batch([
      { call: failing(0), ...none },
      { call: typedHandler(cppKernels, 'throw_v2').prepare({}), ...none },
      { call: failing(3), ...none },
    ])
    const error = await steps.runAsync().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(UnknownError)
    expect(error).toMatchObject({ batchIndex: 1, target: 'throw_v2' })
  })

  test('rejects for TypeScript functions, and for an aborted signal', async () => {
    const target = FunctionTarget.open('here', '() -> ()', () => {})
    const steps = batch([{ call: target.handler.prepare({}), ...none }])
    await expect(steps.runAsync()).rejects.toThrow(UnavailableError as never)
    await expect(steps.runAsync({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    steps.close()
    target.close()
  })
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))
