import { inspect } from 'node:util'
import { ArgumentError, NativeLibrary, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import {
  ApiVersion,
  array,
  batch,
  c64,
  callProvider,
  customCall,
  deviceFunction,
  f32,
  FunctionTarget,
  hostCall,
  hostFunction,
  pred,
  registeredHandler,
  registerType,
  s64,
  str,
  targetCall,
  TargetRegistry,
  temp,
  typedHandler,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { filled, kernels, liveObjects, thrownBy } from './kernels.ts'

const runtime = NativeLibrary.open(kernelLibrary('kernels_runtime'))
const [x, y] = [filled([2], (i) => 4 * i), tensor('f32', [2])]
const attrs = { low: f32(1), high: f32(3) }
const shape = { operands: [x], results: [y], attrs }
const clip = customCall(kernels, 'clip_v3')
const declared = targetCall('(x: f32[n]) -> (y: f32[n]); low: f32, high: f32 = 3', clip.handler)
const increment = hostCall(runtime, 'increment')
const registry = new TargetRegistry()

describe('an option that does not exist is refused, with a suggestion', () => {
  const code = { library: kernels, symbol: 'clip_v3' }
  const call = clip.prepare(shape)
  const never = <Options>(options: Options): never => options as never

  test.each<[string, () => unknown, string]>([
    ['customCall()', () => customCall(kernels, 'clip_v3', never({ platfrom: 'Host' })), 'platform'],
    ['customCall() with symbols', () => customCall(kernels, never({ execute: 'clip_v3', prepar: 'p' })), 'prepare'],
    ['a typed call', () => clip([x], never({ results: [y], atrs: attrs })), 'attrs'],
    ['a call that is kept', () => clip([x], never({ results: [y], attrs, allocater: 5 })), 'allocator'],
    ['hostCall()', () => hostCall(runtime, 'increment', never({ apiVersoin: 1 })), 'apiVersion'],
    ['an untyped call', () => increment([], never({ results: [], opaqe: '' })), 'opaque'],
    ['typedHandler()', () => typedHandler(kernels, 'clip_v3', never({ allowNewerAPIs: true })), 'allowNewerApi'],
    ['registeredHandler()', () => registeredHandler('negate', never({ platforms: 'Host' })), 'platform'],
    ['prepare() of a typed handler', () => clip.handler.prepare(never({ ...shape, operand: [] })), 'operands'],
    ['hostFunction()', () => hostFunction(runtime, 'increment', never({ apiversions: 1 })), 'apiVersion'],
    ['deviceFunction()', () => deviceFunction(runtime, 'increment', never({ platfor: 'CUDA' })), 'platform'],
    ['prepare() of a function', () => increment.function.prepare(never({ tuple: 'nested' })), 'tuples'],
    ['callProvider()', () => callProvider(kernels, 'provide_factor_type', never({ apis: '0.3' })), 'api'],
    ['registerType()', () => registerType(kernels, 'a_type', never({ id: 'factor_type_id', inf: 'x' })), 'info'],
    ['a declared call', () => declared(x, { low: 1 }, never({ result: y })), 'results'],
    ['a declared attribute', () => declared(x, never({ low: 1, hihg: 1 })), 'high'],
    ['prepare() of a declared call', () => declared.prepare([x], { low: 1 }, never({ alignmen: 8 })), 'alignment'],
    ['new TargetRegistry()', () => new TargetRegistry(never({ selfregistered: true })), 'selfRegistered'],
    ['registerUntyped()', () => registry.registerUntyped('u', code, never({ platform_: 'Host' })), 'platform'],
    ['registerTyped()', () => registry.registerTyped('t', { execute: code }, never({ platforn: 'Host' })), 'platform'],
    ['a bundle', () => registry.registerTyped('t', never({ execute: code, initialise: code })), 'initialize'],
    ['lookup()', () => registry.lookup('t', never({ platfom: 'Host' })), 'platform'],
    ['unregister()', () => registry.unregister('t', never({ plattform: 'Host' })), 'platform'],
    ['prepare() of a registry', () => registry.prepare('t', never({ apiVersio: 1 })), 'apiVersion'],
  ])('%s', (_, use, suggestion) => {
    clip([x], { results: [y], attrs })
    const error = thrownBy(use) as ArgumentError
    expect(error).toBeInstanceOf(ArgumentError)
    expect(error.hint).toContain(suggestion)
    expect(error.details).toMatchObject({ received: expect.any(String) })
  })

  test('the asynchronous forms reject', async () => {
    const wrong = { signl: AbortSignal.abort() }
    const bound = call.bind([x], [y])
    const steps = batch([{ call, operands: [x], results: [y] }])
    for (const run of [
      () => call.runAsync([x], [y], never(wrong)),
      () => bound.runAsync(never(wrong)),
      () => steps.runAsync(never(wrong)),
      () => clip.async([x], never({ results: [y], attrs, ...wrong })),
      () => declared.async(x, { low: 1 }, never(wrong)),
    ]) {
      await expect(run()).rejects.toThrow(/signal/)
    }
    steps.close()
    bound.close()
  })

  test('signal is an option of the asynchronous form alone', () => {
    expect(() => clip([x], never({ results: [y], attrs, signal: AbortSignal.abort() }))).toThrow(ArgumentError)
  })
})

describe('the asynchronous form of a call as a function', () => {
  test('resolves with the result, as the synchronous form returns it', async () => {
    expect((await clip.async([x], { results: [f32([2])], attrs })).toArray()).toEqual([1, 3])
    expect((await declared.async(x, { low: 2 })).toArray()).toEqual([2, 3])
    const both = tensor('s32', [4], [1, 2, 3, 4])
    expect(await increment.async([both], { results: [both] })).toBe(both)
    expect(both.toArray()).toEqual([2, 3, 4, 5])
  })

  test('overlapping calls, also of both forms, do not disturb each other', async () => {
    const inputs = Array.from({ length: 20 }, (_, i) => filled([2], () => i))
    const runs = inputs.map((input) => clip.async([input], { results: [f32([2])], attrs }))
    const now = inputs.map((input) => clip([input], { results: [f32([2])], attrs }).toArray())
    const later = (await Promise.all(runs)).map((result) => result.toArray())
    expect(later).toEqual(now)
    expect(later[19]).toEqual([3, 3])
  })

  test('rejects with the errors of the call, and with the reason of an aborted signal', async () => {
    const wrong = { results: [y], attrs: { ...attrs, low: s64(1) } }
    await expect(clip.async([x], wrong)).rejects.toThrow(/Wrong scalar data type/)
    await expect(clip.async([5 as never], { results: [y], attrs })).rejects.toThrow(ArgumentError)
    await expect(clip.async([x], undefined as never)).rejects.toThrow(/results must be an array/)
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(clip.async([x], { results: [y], attrs, signal })).rejects.toThrow('enough')
    expect(clip([x], { results: [y], attrs }).toArray()).toEqual([1, 3])
  })
})

describe('a bound call on a thread of the core', () => {
  test('runs once at a time, and keeps itself open until then', async () => {
    const call = clip.prepare(shape)
    const bound = call.bind([x], [y])
    const run = bound.runAsync()
    expect(() => bound.close()).toThrow(ScopeHeldError)
    expect(() => bound.run()).toThrow(/cannot run inside or beside its own run/)
    await expect(bound.runAsync()).rejects.toThrow(ArgumentError)
    await run
    expect(y.toArray()).toEqual([1, 3])
    await bound.runAsync()
    bound.close()
    await expect(bound.runAsync()).rejects.toThrow(ScopeClosedError)
    call.close()
  })
})

describe('a close action', () => {
  test('cannot start an asynchronous run on memory that is being closed, and the scope closes', async () => {
    const scope = NativeScope.ofConfined()
    const [from, to] = [x, y].map(() => tensor('f32', [2], [1, 2], { allocator: scope }))
    const call = clip.prepare(shape)
    const started: Promise<unknown>[] = []
    scope.addCloseAction(() => {
      expect(from!.toArray()).toEqual([1, 2])
      started.push(
        call.runAsync([from!], [to!]),
        clip.async([from!], { results: [to!], attrs }),
        Promise.resolve().then(() => call.run([from!], [to!])),
      )
      expect(() => call.run([from!], [to!])).toThrow(ScopeClosedError)
      expect(() => call.bind([from!], [to!])).toThrow(ScopeClosedError)
    })
    const outcomes = Promise.all(started)
    scope.close()
    await outcomes
    for (const run of started) await expect(run).rejects.toThrow(ScopeClosedError)
    expect(scope.isAlive).toBe(false)
    call.close()
  })

  test('of a call cannot run the call', async () => {
    const call = clip.prepare(shape)
    let run: Promise<void> | undefined
    call.addCloseAction(() => {
      run = call.runAsync([x], [y])
      expect(() => call.run([x], [y])).toThrow(ScopeClosedError)
    })
    call.close()
    await expect(run).rejects.toThrow(/is being closed|closed already/)
  })
})

describe('console.log prints one line', () => {
  const call = clip.prepare(shape)
  const bound = call.bind([x], [y])
  const steps = batch([{ call, operands: [x], results: [y] }])
  const double = FunctionTarget.open('double', '(x: f32[2]) -> (y: f32[2])', () => {})
  const named = new TargetRegistry()
  named.registerUntyped('add', { library: runtime, symbol: 'increment' })

  test.each<[unknown, string]>([
    [clip.handler, 'TypedHandler clip_v3 (XLA FFI 0.3, Host)'],
    [increment.function, 'UntypedFunction increment (API_VERSION_ORIGINAL, Host)'],
    [call, 'PreparedCall clip_v3(float32[2]) -> (float32[2])'],
    [bound, 'BoundCall clip_v3'],
    [steps, 'Batch of 1 calls'],
    [double, 'FunctionTarget double'],
    [named, 'TargetRegistry of 1 targets'],
    [temp(f32([4])), 'temp(float32[4])'],
    [f32(0.5), 'f32(0.5)'],
    [s64(7n), 's64(7)'],
    [pred(true), 'pred(true)'],
    [c64(1, -2), 'c64(1,-2)'],
    [str('relu'), 'str("relu")'],
    [array('f32', [1, 2.5]), "array('f32', [1, 2.5])"],
    [array('u8', new Uint8Array(10)), "array('u8', [0, 0, 0, 0, 0, 0, 0, 0, ... 2 more])"],
    [clip, '[Function: clip_v3]'],
    [increment, '[Function: increment]'],
    [declared, '[Function: clip_v3]'],
    [f32, '[Function: f32]'],
    [c64, '[Function: c64]'],
    [ApiVersion.ORIGINAL, '1'],
  ])('%#', (object, text) => expect(inspect(object)).toBe(text))

  test('that says what is closed', () => {
    const closed = clip.prepare(shape)
    closed.close()
    expect(inspect(closed)).toBe('PreparedCall clip_v3(float32[2]) -> (float32[2]) (closed)')
    for (const lifetime of [steps, bound, double]) {
      lifetime.close()
      expect(inspect(lifetime)).toMatch(/ \(closed\)$/)
    }
    call.close()
  })
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))

describe('a wrong argument is named, with what it was and what to do', () => {
  const rmsNorm = customCall(kernels, 'rms_norm')
  const t = tensor('f32', [2, 4])
  const epsilon = { eps: f32(1e-5) }
  const call = rmsNorm.prepare({ operands: [t], results: [t], attrs: epsilon })
  const values = new Float32Array(8)

  test.each<[message: string, hint: RegExp, run: () => unknown]>([
    [
      'operand 0 must be a tensor, got null',
      /tensor\('f32'/,
      () => rmsNorm([null as never], { results: [t], attrs: epsilon }),
    ],
    [
      'operand 0 must be a tensor, got an array of length 1',
      /tensor\('f32'/,
      () => rmsNorm([[values] as never], { results: [t], attrs: epsilon }),
    ],
    [
      'operand 0 of rms_norm must be float32[2, 4], got float32[8]',
      /copy the tensor/,
      () => call.run([values as never], [t]),
    ],
    [
      'result 0 of rms_norm must be a tensor of float32[2, 4], got undefined',
      /tensor\('float32', \[2, 4\], values\)/,
      () => call.run([t], [undefined as never]),
    ],
    [
      'call 0 of a batch must be a prepared call, got an object of class BoundCall',
      /handler\.prepare/,
      () => batch([{ call: call.bind([t], [t]) as never, operands: [t], results: [t] }]),
    ],
    ['library must be a NativeLibrary, got "x"', /NativeLibrary\.open/, () => customCall('x' as never, 'rms_norm')],
    ['library must be a NativeLibrary, got null', /NativeLibrary\.open/, () => hostFunction(null as never, 'f')],
    ['library must be a NativeLibrary, got an object', /Open it/, () => deviceFunction({} as never, 'f')],
    ['library must be a NativeLibrary, got an object', /Open it/, () => callProvider({} as never, 'f')],
    ['library must be a NativeLibrary, got 5', /Open it/, () => registerType(5 as never, 'f', { id: 'f' })],
  ])('%s', (message, hint, run) => {
    const error = thrownBy(run) as ArgumentError
    expect(error).toBeInstanceOf(ArgumentError)
    expect(error.sentence).toBe(message)
    expect(error.hint).toMatch(hint)
  })
})
