import { tracingChannel } from 'node:diagnostics_channel'
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tensor, type CallTrace } from '@tenon/core'
import { batch, f32 as scalar, hostCall, typedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { t } from '@tenon/packed-func'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { f32, Library, type IsolatedLibrary } from '../src/index.ts'
import { compileLibrary } from './signature-library.ts'

const calls = tracingChannel<object, CallTrace>('tenon:call')
const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const
type Event = (typeof EVENTS)[number]
type Subscriber = (message: CallTrace) => void

/** Subscribes until the test ends. */
function subscribe(subscribers: Partial<Record<Event, Subscriber>>): void {
  const entries = EVENTS.map((event) => [event, subscribers[event] ?? ((): void => {})] as const)
  const all = Object.fromEntries(entries) as unknown as Record<Event, Subscriber>
  calls.subscribe(all)
  onTestFinished(() => void calls.unsubscribe(all))
}

/** Notes the events until the test ends. */
function record(): { readonly events: Event[]; readonly messages: CallTrace[] } {
  const [events, messages]: [Event[], CallTrace[]] = [[], []]
  const noteOf =
    (event: Event): Subscriber =>
    (message) => {
      events.push(event)
      messages.push(message)
    }
  subscribe(Object.fromEntries(EVENTS.map((event) => [event, noteOf(event)])))
  return { events, messages }
}

const library = Library.open(kernelLibrary('kernels'))
const directory = mkdtempSync(join(tmpdir(), 'tenon-traces-'))
const functions = compileLibrary(directory, 'int plus_one(int x) { return x + 1; }')
const packed = Library.open(kernelLibrary('packed'))
let isolated: IsolatedLibrary
let isolatedPacked: IsolatedLibrary
let isolatedFunctions: IsolatedLibrary
beforeAll(async () => {
  isolated = await Library.isolate(kernelLibrary('kernels'))
  isolatedPacked = await Library.isolate(kernelLibrary('packed'))
  isolatedFunctions = await Library.isolate(functions)
})
afterAll(async () => {
  await isolated.closeAsync()
  await isolatedPacked.closeAsync()
  await isolatedFunctions.closeAsync()
  rmSync(directory, { recursive: true })
  for (const one of [library, packed]) one.close()
})

const SIGNATURE = '(x: f32[n, d]) -> (y: f32[n, d]); eps: f32 = 1e-5'
const x = tensor([[1, 2, 3, 4]])
const kernel = library.kernel('rms_norm', { signature: SIGNATURE })
const handler = typedHandler(library.native, 'rms_norm')
const prepare = () => handler.prepare({ operands: [x], results: [f32([1, 4])], attrs: { eps: scalar(1e-5) } })
const y = tensor('f32', [1, 4])
const add = hostCall(library.native, 'do_custom_call')
const [b, c] = [tensor('f32', [128]), tensor('f32', [2048])]
const sums = { operands: [b, c], results: [f32([2048])] } as const
const sum = packed.packed('sum')
const fail = packed.packed('fail_as')
const callFunction = packed.packed('call')
const typedSum = sum.typed([t.int, t.float], t.float)
const abs = { result: 'int32', parameters: ['int32'] } as const
const copy = { result: 'void', parameters: ['pointer', 'pointer', 'uint64'] } as const
const libc = Library.open('libc.so.6')
afterAll(() => libc.close())

interface Row {
  readonly label: string
  readonly run: () => unknown
  readonly kernel: string
  readonly convention: CallTrace['convention']
  readonly types: readonly string[]
  readonly isIsolated?: boolean
}

const row = (label: string, facts: Omit<Row, 'label' | 'run'>, run: () => unknown): Row => ({ label, ...facts, run })
const typed = { kernel: 'rms_norm', convention: 'typed', types: ['float32[1, 4]'] } as const
const host = { kernel: 'do_custom_call', convention: 'host', types: ['float32[128]', 'float32[2048]'] } as const
const packedSum = { kernel: 'sum', convention: 'packed', types: ['int', 'float'] } as const
const isolatedKernel = (): ReturnType<IsolatedLibrary['kernel']> =>
  isolated.kernel('rms_norm', { signature: SIGNATURE })
const absolute = { kernel: 'abs', convention: 'function', types: ['int32'] } as const
const plusOne = { ...absolute, kernel: 'plus_one' } as const
const both = { kernel: 'rms_norm,rms_norm', convention: 'batch', types: ['float32[1, 4]', 'float32[1, 4]'] } as const

const withPrepared = (run: (call: ReturnType<typeof prepare>) => unknown): unknown => {
  const call = prepare()
  const result = run(call)
  if (!(result instanceof Promise)) return void call.close()
  return result.finally(() => call.close())
}
const bound = (isAsync: boolean) => (call: ReturnType<typeof prepare>) => {
  const one = call.bind([x], [y])
  if (isAsync) return one.runAsync().finally(() => one.close())
  one.run()
  return one.close()
}
const batched = (isAsync: boolean) => (call: ReturnType<typeof prepare>) => {
  const other = tensor('f32', [1, 4])
  const one = batch([
    { call, operands: [x], results: [y] },
    { call, operands: [x], results: [other] },
  ])
  if (isAsync) return one.runAsync().finally(() => one.close())
  one.run()
  return one.close()
}

const synchronous: readonly Row[] = [
  row('a kernel with a signature', typed, () => kernel(x)),
  row('a prepared call', typed, () => withPrepared((call) => call.run([x], [y]))),
  row('a bound call', typed, () => withPrepared(bound(false))),
  row('a batch', both, () => withPrepared(batched(false))),
  row('an untyped function', host, () => add(sums.operands, { results: sums.results })),
  row('a packed function', packedSum, () => sum(1, 2.5)),
  row('a packed function with many values', { ...packedSum, types: ['int', 'int', 'int', 'int'] }, () =>
    sum(1, 2, 3, 4),
  ),
  row('a typed packed function', packedSum, () => typedSum(1, 2.5)),
  row('tryCall() of a packed function', packedSum, () => sum.tryCall(1, 2.5)),
  row('a C function', absolute, () => libc.function('abs', abs)(-1)),
  row(
    'a C function with memory',
    { ...absolute, kernel: 'memcpy', types: ['float32[1, 4]', 'pointer', 'uint64'] },
    () => libc.function('memcpy', copy)(y, x.segment, 16),
  ),
  row('an isolated kernel', { ...typed, isIsolated: true }, () => isolatedKernel()(x)),
  row('an isolated packed function', { ...packedSum, isIsolated: true }, () => isolatedPacked.packed('sum')(1, 2.5)),
  row('an isolated C function', { ...plusOne, isIsolated: true }, () => isolatedFunctions.function('plus_one', abs)(1)),
]

const asynchronous: readonly Row[] = [
  row('a kernel with a signature', typed, () => kernel.async(x)),
  row('a prepared call', typed, () => withPrepared((call) => call.runAsync([x], [y]))),
  row('a bound call', typed, () => withPrepared(bound(true))),
  row('a batch', both, () => withPrepared(batched(true))),
  row('an untyped function', host, () => add.async(sums.operands, { results: sums.results })),
  row('a packed function', packedSum, () => sum.async(1, 2.5)),
  row('a typed packed function', packedSum, () => typedSum.async(1, 2.5)),
  row('a C function', absolute, () => libc.function('abs', abs).async(-1)),
  row('an isolated kernel', { ...typed, isIsolated: true }, () => isolatedKernel().async(x)),
  row('a batch of an isolated kernel', { ...typed, isIsolated: true }, () => isolatedKernel().batch([[x]])),
  row('an isolated packed function', { ...packedSum, isIsolated: true }, () =>
    isolatedPacked.packed('sum').async(1, 2.5),
  ),
  row('an isolated C function', { ...plusOne, isIsolated: true }, () =>
    isolatedFunctions.function('plus_one', abs).async(1),
  ),
]

function expectMessage(messages: readonly CallTrace[], isAsync: boolean, facts: Row): void {
  const [message] = messages as [CallTrace]
  expect(new Set(messages).size).toBe(1)
  const { kernel: name, convention, types, isIsolated = false } = facts
  expect({ ...message, types: message.types.map(String) }).toMatchObject({
    kernel: name,
    convention,
    types,
    isAsync,
    error: undefined,
  })
  expect(message.startTime).toBeGreaterThan(0)
  expect(message.runTime).toBeGreaterThan(0)
  expect(message.queueTime).toBeGreaterThanOrEqual(0)
  if (isIsolated) expect(message.worker).toBeGreaterThan(0)
  else expect([message.worker, message.queueTime > 0]).toEqual([undefined, isAsync && process.platform !== 'win32'])
}

describe('the tracing channel tenon:call', () => {
  test.each(synchronous)('has the start and the end of $label', (facts) => {
    const { events, messages } = record()
    facts.run()
    expect(events).toEqual(['start', 'end'])
    expectMessage(messages, false, facts)
  })

  test.each(asynchronous)('has the events of an asynchronous call of $label', async (facts) => {
    const { events, messages } = record()
    await facts.run()
    expect(events).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
    expectMessage(messages, true, facts)
  })

  test('counts the bytes that are copied for a worker, and none for operands in its memory', () => {
    const { messages } = record()
    const run = isolatedKernel()
    run(x)
    run(tensor('f32', [1, 4], [1, 2, 3, 4], { allocator: isolated.memory }))
    expect(messages.filter((_, i) => i % 2 === 1).map(({ copiedBytes }) => copiedBytes)).toEqual([16, 0])
  })

  test('counts the bytes of operands that are copied into the layout of a call', () => {
    const { messages } = record()
    const m = tensor([
      [1, 2],
      [3, 4],
    ])
    const text = '(x: f32[n, d]@cm) -> (y: f32[n, d]@cm); eps: f32 = 1e-5'
    library.kernel('rms_norm', { signature: text })(m)
    library.kernel('rms_norm', { signature: text })(m.toLayout('cm'))
    expect([messages[1]!.copiedBytes, messages[3]!.copiedBytes]).toEqual([16, 0])
  })

  test.each([
    ['in this process', () => fail('ValueError', 'no'), false],
    ['on another thread', () => fail.async('ValueError', 'no'), true],
  ])('has the error of a call %s', async (_, run, isAsync) => {
    const { events, messages } = record()
    let thrown: unknown
    try {
      await run()
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(Error)
    expect(events).toEqual(isAsync ? ['start', 'end', 'error', 'asyncStart', 'asyncEnd'] : ['start', 'error', 'end'])
    expect(messages[1]!.error).toBe(thrown)
  })

  test('has the error of a call that is refused in a batch of an isolated kernel', async () => {
    const { events, messages } = record()
    const [outcome] = await isolatedKernel().batch([[x, {}, { deadline: -1 }] as never])
    expect(outcome!.status).toBe('rejected')
    expect(events).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd'])
    expect(messages[0]).toMatchObject({ worker: 0, error: { name: 'ArgumentRangeError' } })
  })

  test('publishes nothing after the last subscriber has left', () => {
    let count = 0
    const subscribers = Object.fromEntries(EVENTS.map((event) => [event, () => count++])) as never
    calls.subscribe(subscribers)
    sum(1, 2)
    calls.unsubscribe(subscribers)
    for (const { run } of synchronous) run()
    expect(count).toBe(2)
  })

  test('runs calls in the asynchronous context that is bound to start', () => {
    const storage = new AsyncLocalStorage<CallTrace>()
    calls.start.bindStore(storage, (message) => message)
    onTestFinished(() => void calls.start.unbindStore(storage))
    const { messages } = record()
    let seen: CallTrace | undefined
    callFunction(() => void (seen = storage.getStore()), 1)
    expect(seen).toBeDefined()
    expect(messages).toContain(seen)
    expect(storage.getStore()).toBeUndefined()
  })
})

describe('a subscriber of tenon:call', () => {
  test.each(synchronous)('can make the same call again in start: $label', (facts) => {
    let depth = 0
    const results: unknown[] = []
    subscribe({
      start: () => {
        if (depth++ === 0) results.push(facts.run())
      },
    })
    results.push(facts.run())
    expect(depth).toBe(2)
  })

  test('is refused if it runs a prepared call that is about to run', () => {
    const refusals: unknown[] = []
    const call = prepare()
    subscribe({
      start: () => {
        try {
          call.run([x], [y])
        } catch (error) {
          refusals.push(error)
        }
      },
    })
    call.run([x], [y])
    expect(refusals).toEqual([
      expect.objectContaining({ sentence: expect.stringContaining('cannot run inside itself') }),
    ])
    call.close()
  })

  test.each([
    ['a kernel', (own: Library) => own.kernel('rms_norm', { signature: SIGNATURE })(x)],
    [
      'a prepared call',
      (own: Library) =>
        typedHandler(own.native, 'rms_norm')
          .prepare({ operands: [x], results: [y], attrs: { eps: scalar(1e-5) } })
          .run([x], [y]),
    ],
    [
      'a C function',
      (own: Library) =>
        own.function('do_custom_call', { result: 'void', parameters: ['pointer', 'pointer'] })(null, null),
    ],
    ['an asynchronous kernel', (own: Library) => own.kernel('rms_norm', { signature: SIGNATURE }).async(x)],
  ])('can close the library in start, so that the call is refused and leaves no hold: %s', async (_, run) => {
    const own = Library.open(kernelLibrary('kernels'))
    const { messages } = record()
    subscribe({ start: () => own[Symbol.dispose]() })
    await expect((async () => run(own))()).rejects.toMatchObject({ name: 'ScopeClosedError' })
    expect(messages[0]!.error).toMatchObject({ name: 'ScopeClosedError' })
    expect(own.native.isAlive).toBe(false)
  })

  test('cannot close the library of a bound call in start, and closing the call itself refuses the run', () => {
    const own = Library.open(kernelLibrary('kernels'))
    const call = typedHandler(own.native, 'rms_norm').prepare({
      operands: [x],
      results: [y],
      attrs: { eps: scalar(1e-5) },
    })
    const one = call.bind([x], [y])
    const refusals: unknown[] = []
    subscribe({
      start: () => {
        try {
          own.close()
        } catch (error) {
          refusals.push((error as Error).name)
        }
        one.close()
        call.close()
        own.close()
      },
    })
    expect(() => one.run()).toThrow(expect.objectContaining({ name: 'ScopeClosedError' }))
    expect(refusals).toEqual(['ScopeHeldError'])
  })

  test('can close the memory of an operand in start, so that the call is refused', () => {
    for (const run of [kernel, isolatedKernel()]) {
      const arena = isolated.memory.arena()
      const operand = tensor('f32', [1, 4], [1, 2, 3, 4], { allocator: arena })
      const close = (): void => arena.close()
      calls.start.subscribe(close)
      expect(() => run(operand)).toThrow(expect.objectContaining({ name: 'ScopeClosedError' }))
      calls.start.unsubscribe(close)
    }
  })

  test('that throws does not disturb the call, and its error is an uncaught exception', async () => {
    const uncaught: unknown[] = []
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', (error) => uncaught.push(error.message))
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException')
      for (const listener of listeners) process.on('uncaughtException', listener)
    })
    subscribe({
      start: () => {
        throw new RangeError('of start')
      },
      end: () => {
        throw new RangeError('of end')
      },
    })
    const own = Library.open(kernelLibrary('kernels'))
    expect(own.kernel('rms_norm', { signature: SIGNATURE })(x).shape).toEqual([1, 4])
    own.close()
    expect(sum(1, 2)).toBe(3)
    await new Promise((resolve) => setImmediate(resolve))
    expect(uncaught).toEqual(['of start', 'of end', 'of start', 'of end'])
  })
})
