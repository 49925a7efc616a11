import { NativeLibrary, parseSignature, ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import { coreFunctions, globalGate } from '@tenon/core/internal'
import {
  customCall,
  f32,
  FunctionTarget,
  PreparedCall,
  ptr,
  s32,
  s64,
  str,
  targetCall,
  typedHandler,
  TypedHandler,
  type Attribute,
  type CustomCall,
} from '@tenon/custom-call'
import { makeKernel, type FrameCall } from '@tenon/custom-call/internal'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { callFunction } from '../src/call/call-function.ts'
import { listedArguments } from '../src/call/listed-arguments.ts'
import { kernels, liveObjects } from './kernels.ts'

afterEach(() => {
  vi.restoreAllMocks()
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
})

const rows = (count: number): Tensor => tensor('f32', [count, 4], new Float32Array(4 * count).fill(count))
const [full, last] = [rows(32), rows(7)]
/** A tensor with so many axes, for which a function needs another frame. */
const axes = (count: number): Tensor =>
  tensor('f32', [...Array<number>(count - 1).fill(1), 4], Float32Array.of(1, 1, 1, 1))

function run(rmsNorm: CustomCall, x: Tensor, eps: number): void {
  const y = rmsNorm([x], { results: [x.type], attrs: { eps: f32(eps) } })
  expect((y.toArray()[0] as number).toFixed(3)).toBe('1.000')
}

/** Counts the calls that are prepared and closed. */
function countFrames(): () => [prepared: number, closed: number] {
  const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
  const close = vi.spyOn(PreparedCall.prototype, 'close')
  return () => [prepare.mock.calls.length, close.mock.calls.length]
}

test('a function keeps a frame for each combination of ranks and attributes, up to 8', () => {
  const count = countFrames()
  const rmsNorm = customCall(kernels, 'rms_norm')
  for (let epoch = 0; epoch < 20; epoch++) {
    for (let i = 0; i < 5; i++) run(rmsNorm, full, 1e-5)
    run(rmsNorm, last, 1e-5)
    run(rmsNorm, last, 1e-6)
  }
  expect(count()).toStrictEqual([2, 0])
  const ranks = [1, 2, 3, 4, 5, 6, 7].map(axes)
  for (let epoch = 0; epoch < 3; epoch++) for (const x of ranks) run(rmsNorm, x, 1e-5)
  expect(count()).toStrictEqual([8, 0])
})

test('the frame that was unused for the longest time is closed for a new one', () => {
  const count = countFrames()
  const rmsNorm = customCall(kernels, 'rms_norm')
  const shapes = [1, 2, 3, 4, 5, 6, 7, 8].map(axes)
  for (const x of shapes) run(rmsNorm, x, 1e-5)
  run(rmsNorm, shapes[0]!, 1e-5)
  run(rmsNorm, axes(9), 1e-5)
  expect(count()).toStrictEqual([9, 1])
  // The frame of the first rank was used after that of the second one, which is closed.
  for (const x of [shapes[0]!, ...shapes.slice(2)]) run(rmsNorm, x, 1e-5)
  expect(count()).toStrictEqual([9, 1])
  run(rmsNorm, shapes[1]!, 1e-5)
  expect(count()).toStrictEqual([10, 2])
})

test('a frame that was guessed and did not fit counts as unused', () => {
  const count = countFrames()
  const rmsNorm = customCall(kernels, 'rms_norm')
  const shapes = [1, 2, 3, 4, 5, 6, 7, 8].map(axes)
  // In turn, so that the next call guesses the frame behind that of the last one.
  for (let round = 0; round < 2; round++) for (const x of shapes) run(rmsNorm, x, 1e-5)
  run(rmsNorm, shapes[7]!, 1e-5)
  run(rmsNorm, axes(9), 1e-5)
  expect(count()).toStrictEqual([9, 1])
  for (const x of shapes.slice(1)) run(rmsNorm, x, 1e-5)
  expect(count()).toStrictEqual([9, 1])
  run(rmsNorm, shapes[0]!, 1e-5)
  expect(count()).toStrictEqual([10, 2])
})

test('attributes are compared by their bits, whatever the order of their names', () => {
  const count = countFrames()
  const clip = customCall(kernels, 'clip_v3')
  const [x, y] = [tensor('f32', [2], [-1, 7]), tensor('f32', [2])]
  const call = (attrs: Record<string, Attribute>): unknown[] => {
    clip([x], { results: [y], attrs })
    return y.toArray()
  }
  const [low, high] = [f32(0), f32(1)]
  expect(call({ low, high })).toStrictEqual([0, 1])
  expect(call({ high: f32(1), low: f32(0) })).toStrictEqual([0, 1])
  expect(count()).toStrictEqual([1, 0])
  expect(call({ low: f32(-0), high })).toStrictEqual([-0, 1])
  expect(call({ low: high, high: f32(2) })).toStrictEqual([1, 2])
  expect(call({ low, high })).toStrictEqual([0, 1])
  expect(count()).toStrictEqual([3, 0])
  expect(() => call({ low })).toThrow(/attributes/)
  expect(call({ high, low })).toStrictEqual([0, 1])
})

describe('attributes of a kernel that can be any values', () => {
  const x = rows(1)

  /** Returns a kernel, and what its calls were prepared with, as JSON. */
  function makeRecorder(): { kernel: (x: Tensor, attributes: object) => unknown; prepared: string[] } {
    const prepared: string[] = []
    const signature = parseSignature('any', '(x: f32[n, 4]) -> (y: f32[n, 4]); options: dictionary')
    const kernel = makeKernel<FrameCall, undefined>(signature, undefined, {
      frames: { limit: 8, gate: globalGate },
      prepare: ({ values }) => {
        prepared.push(JSON.stringify(values['options']))
        return {
          frame: { running: false },
          shape: { types: [x.type, x.type] },
          isAlive: true,
          closeAfterRuns: () => {},
        }
      },
      run: ({ frame }) => (frame.running = false),
      runAsync: async () => {},
    })
    return { kernel: kernel as never, prepared }
  }

  test.each<[string, Record<number, number>]>([
    ['an object', { 0: 1 }],
    ['an array', [1]],
    ['a typed array', Float32Array.of(1)],
    ['a Buffer', Buffer.of(1)],
  ])('%s in an array is compared by its contents', (_, part) => {
    const { kernel, prepared } = makeRecorder()
    const value = ['first', [{ part }, part]]
    for (let i = 0; i < 2; i++) kernel(x, { options: { value } })
    expect(prepared).toHaveLength(1)
    part[0] = 2
    for (let i = 0; i < 2; i++) kernel(x, { options: { value } })
    expect(prepared).toHaveLength(2)
    expect(prepared[1]).not.toBe(prepared[0])
  })

  test('a value that is not copied keeps no frame', () => {
    class Own {
      a = 1
    }
    const own = new Own()
    const deep = { a: 1 }
    let nested: object = deep
    for (let i = 0; i < 30; i++) nested = i % 2 === 0 ? [nested] : { nested }
    for (const [value, change] of [
      [own, () => own.a++],
      [[own], () => own.a++],
      [nested, () => deep.a++],
    ] as const) {
      const { kernel, prepared } = makeRecorder()
      for (let i = 0; i < 3; i++) {
        kernel(x, { options: { value } })
        change()
      }
      expect(new Set(prepared).size).toBe(3)
    }
  })

  test('arrays may contain themselves, and a revoked Proxy is refused', () => {
    const { kernel } = makeRecorder()
    const loop: unknown[] = []
    loop.push(loop, loop, loop)
    expect(() => kernel(x, { options: { loop } })).toThrow(/circular/)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(() => kernel(x, { options: { list: [proxy] } })).toThrow(
      /attribute options\.list\[0\] must be a value that can be read/,
    )
  })
})

test('frames of large attributes are closed for new ones, other than the last one', () => {
  const count = countFrames()
  const fail = customCall(kernels, 'fail_with')
  const call = (length: number, first: number): void => {
    const message = new Uint8Array(length).fill(97)
    message[0] = first
    expect(() => fail([], { results: [], attrs: { code: s32(3), message: str(message) } })).toThrow(/fail_with/)
  }
  const MIB = 2 ** 20
  for (let i = 0; i < 20; i++) call(1000, i)
  expect(count()).toStrictEqual([20, 12])
  // Up to 4 MiB are kept, which is less than 4 calls with a code as well.
  for (let i = 0; i < 20; i++) call(MIB, i)
  expect(count()).toStrictEqual([40, 37])
  for (let i = 17; i < 20; i++) call(MIB, i)
  expect(count()).toStrictEqual([40, 37])
  for (let i = 0; i < 3; i++) call(5 * MIB, 0)
  expect(count()).toStrictEqual([41, 40])
  call(1000, 0)
  expect(count()).toStrictEqual([42, 41])
})

describe('a frame whose run throws at its entry, as it does if the stack of JavaScript is full', () => {
  const [x, y] = [rows(1), rows(1)]
  const overflow = new RangeError('Maximum call stack size exceeded')

  /** Makes a convention whose runs fail, before they clear the mark of their call, while `isFull`. */
  function makeCallee() {
    const state = { isFull: false, prepared: 0 }
    const callee = {
      frames: { limit: 8, gate: globalGate },
      prepare: (): FrameCall => {
        state.prepared++
        return {
          frame: { running: false },
          shape: { types: [x.type, y.type] },
          isAlive: true,
          closeAfterRuns: () => {},
        }
      },
      run: ({ frame }: FrameCall): void => {
        if (state.isFull) throw overflow
        frame.running = false
      },
      runAsync: async (): Promise<void> => {},
    }
    return { state, callee }
  }

  const signature = parseSignature('written', '(x: f32[n, 4]) -> (y: f32[n, 4])')
  const forms: Readonly<Record<string, (callee: ReturnType<typeof makeCallee>['callee']) => () => unknown>> = {
    'customCall()': (callee) => {
      const { call } = callFunction('written', listedArguments<FrameCall>('attrs', callee), callee)
      return () => call([x], { results: [y] })
    },
    'a kernel with a result': (callee) => {
      const kernel = makeKernel<FrameCall, undefined>(signature, undefined, callee)
      return () => kernel(x as never, { into: y } as never)
    },
    'a kernel without a result': (callee) => {
      const kernel = makeKernel<FrameCall, undefined>(signature, undefined, callee)
      return () => kernel(x as never)
    },
    'a kernel with options': (callee) => {
      const kernel = makeKernel<FrameCall, undefined>(signature, undefined, callee)
      return () => kernel(x as never, { alignment: 4 } as never)
    },
  }

  test.each(Object.keys(forms))('serves the next call of %s', (form) => {
    const { state, callee } = makeCallee()
    const call = forms[form]!(callee)
    for (let i = 0; i < 2; i++) {
      // The first run of the frame fails too.
      state.isFull = true
      expect(call).toThrow(overflow)
      state.isFull = false
      call()
      expect(state.prepared).toBe(1)
    }
  })
})

test('a frame that runs serves no call from inside its run', () => {
  const count = countFrames()
  const [x, y] = [rows(1), rows(1)]
  let depth = 0
  const nested = '(x: f32[1, 4]) -> (y: f32[1, 4])'
  using target = FunctionTarget.open('nested', nested, () => {
    if (++depth <= 10) call(x, { into: y })
  })
  const call = targetCall(nested, target.handler)
  call(x, { into: y })
  // Each of the eleven calls has a frame of its own. Eight are kept.
  expect(count()).toStrictEqual([11, 3])
})

test('calls with a state, and attributes with memory, keep no frame', () => {
  const count = countFrames()
  const counter = customCall(kernels, { execute: 'counter_v3', instantiate: 'counter_v3_instantiate' })
  const n = tensor('s64', [])
  for (let i = 0; i < 3; i++) counter([], { results: [n], attrs: { start: s64(5) } })
  expect([n.toArray(), ...count()]).toStrictEqual([[5n], 3, 3])
  const describeAttributes = customCall(kernels, 'describe_attrs')
  const text = tensor('u8', [64])
  const scope = NativeScope.ofConfined()
  const memory = scope.allocate(16)
  for (let i = 0; i < 2; i++) describeAttributes([], { results: [text], attrs: { at: ptr(memory), n: 5n } })
  expect(count()).toStrictEqual([5, 5])
  scope.close()
})

test('closing the library closes the frames, and refuses calls', () => {
  const count = countFrames()
  const library = NativeLibrary.open(kernelLibrary('kernels'))
  const rmsNorm = customCall(library, 'rms_norm')
  run(rmsNorm, full, 1e-5)
  run(rmsNorm, axes(3), 1e-5)
  library.close()
  expect(count()).toStrictEqual([2, 2])
  expect(() => run(rmsNorm, full, 1e-5)).toThrow(ScopeClosedError)
})

test('frames of a function that is dropped are collected, and the memory of their calls is free', async () => {
  const holds = globalGate.holds
  const scope = NativeScope.ofConfined()
  const made: WeakRef<object>[] = []
  const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
  ;((): void => {
    const rmsNorm = customCall(kernels, 'rms_norm')
    const x = tensor('f32', [2, 4], [1, 1, 1, 1, 1, 1, 1, 1], { allocator: scope })
    for (const one of [x, axes(1), axes(3), full, x]) run(rmsNorm, one, 1e-5)
    for (const { value } of prepare.mock.results) made.push(new WeakRef(value as PreparedCall))
  })()
  prepare.mockRestore()
  // The kept frame holds no memory.
  scope.close()
  for (let i = 0; i < 20 && made.some((one) => one.deref() !== undefined); i++) {
    await new Promise((resolve) => setTimeout(resolve))
    globalThis.gc!()
  }
  expect(made.map((one) => one.deref())).toStrictEqual([undefined, undefined, undefined])
  expect(globalGate.holds).toBe(holds)
})

test('ten thousand changes of the frame leave memory and states as they were', async () => {
  const rmsNorm = customCall(kernels, 'rms_norm')
  const x = Array.from({ length: 9 }, (_, i) => axes(i + 1))
  const y = x.map((_, i) => axes(i + 1))
  const attrs = { eps: f32(1e-5) }
  const states = coreFunctions().tn_xla_live_states()
  /** Returns the memory after as many calls. */
  const measure = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i++) rmsNorm([x[i % 9]!], { results: [y[i % 9]!], attrs })
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      globalThis.gc!()
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  await measure(10_000)
  const before = await measure(10_000)
  expect((await measure(10_000)) - before).toBeLessThan(2 ** 19)
  expect(coreFunctions().tn_xla_live_states()).toBe(states)
})

test('collecting a kernel closes its frames, and its library forgets it', async () => {
  const made: WeakRef<object>[] = []
  const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
  const library = NativeLibrary.open(kernelLibrary('kernels'))
  ;((): void => {
    const text = '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1'
    const softmax = targetCall(text, typedHandler(library, 'softmax'))
    for (const x of [full, axes(3)]) softmax(x)
    made.push(new WeakRef(softmax))
    for (const { value } of prepare.mock.results) made.push(new WeakRef(value as PreparedCall))
  })()
  prepare.mockRestore()
  for (let i = 0; i < 20 && made.some((one) => one.deref() !== undefined); i++) {
    await new Promise((resolve) => setTimeout(resolve))
    globalThis.gc!()
  }
  expect(made.map((one) => one.deref())).toStrictEqual([undefined, undefined, undefined])
  library.close()
})
