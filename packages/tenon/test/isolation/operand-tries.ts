/** Operands and results that are closed, detached or shared while calls have them. */
import diagnostics from 'node:diagnostics_channel'
import { SharedMemory } from '@tenon/pools'
import { kernelLibrary } from '@tenon/kernels'
import { Library, tensor, type Tensor } from 'tenon'
import { Problems } from './problems.ts'
import { children, processFacts, remainingSince } from './process-facts.ts'

type IsolatedLibrary = Awaited<ReturnType<typeof Library.isolate>>
type Faulty = ReturnType<IsolatedLibrary['kernel']>

const [SLEEP, UNTIL_CANCELLED] = [29, 25]
const options = { deadline: 2000, grace: 20, restart: { limit: 1e6, window: 1000, backoff: 1 } }
const textOf = (y: unknown): string => (y as Tensor).toArray().join()
const LOST = ['ScopeClosedError', 'ScopeHeldError']

/** What happens to the memory of an operand in the middle of a call. Refused with an error, or without effect on the result. */
const effects: Readonly<Record<string, (memory: SharedMemory, x: Tensor) => unknown>> = {
  'the memory is closed': (memory) => memory.close(),
  'the memory is disposed': (memory) => memory[Symbol.dispose](),
  'the memory is read-only': (memory) => memory.readOnly(),
  'a frozen copy is made': (memory, x) => memory.freeze(x),
  'its buffer is transferred': (_, x) => (x.view() as Float32Array<ArrayBuffer>).buffer.transfer(),
  'its buffer is posted': (_, x) => {
    const { buffer } = x.view() as Float32Array<ArrayBuffer>
    try {
      structuredClone(buffer, { transfer: [buffer] })
    } catch (error) {
      // Native memory cannot be transferred.
      if ((error as Error).name !== 'DataCloneError') throw error
    }
  },
  'other memory is allocated': (memory) => {
    for (let i = 0; i < 50; i++) memory.allocate(1 << 12)
  },
}

export async function main({ path }: { readonly path: string }): Promise<readonly string[]> {
  const problems = new Problems()
  const before = await processFacts()
  await Promise.all([
    inCalls(problems, path),
    targets(problems, path),
    inListeners(problems, path),
    inFunctions(problems),
  ])
  problems.check('calls', children().length === 0, `children ${children().join()}`)
  await inSubscribers(problems, path)
  // The event loop and the first library keep some.
  const kept = { ...before, descriptors: before.descriptors + 4 }
  for (const remaining of await remainingSince(kept, ['descriptors', 'children'])) problems.add('the end', remaining)
  return problems.list
}

/** Runs a part with a library, which works at the end. */
async function withLibrary(
  problems: Problems,
  name: string,
  path: string,
  use: (library: IsolatedLibrary, faulty: Faulty) => Promise<void>,
): Promise<void> {
  const library = await Library.isolate(path, options)
  await use(library, library.kernel('faulty'))
  await problems.run(
    `${name}, at the end`,
    async () => {
      const y = await library.kernel('faulty').async(tensor([1, 2, 3]))
      problems.check(`${name}, at the end`, textOf(y) === '2,4,6', textOf(y))
    },
    [],
  )
  await library.closeAsync({ deadline: 1000 })
}

/** An operand that is 1, 2, 3, in memory of its own, in an arena, or in memory of this process. */
function* operands(): Generator<readonly [place: string, memory: SharedMemory, x: Tensor]> {
  const memory = SharedMemory.open({ chunk: '1 MiB' })
  yield ['shared', memory, tensor('f32', [3], [1, 2, 3], { allocator: memory })]
  const other = SharedMemory.open({ chunk: '1 MiB' })
  yield ['own', other, tensor('f32', [3], new Float32Array([1, 2, 3]))]
  const arenas = SharedMemory.open({ chunk: '1 MiB' })
  yield ['arena', arenas, tensor('f32', [3], [1, 2, 3], { allocator: arenas.arena() })]
}

/** Effects between the stages of asynchronous calls and batches. */
async function inCalls(problems: Problems, path: string): Promise<void> {
  await withLibrary(problems, 'in calls', path, async (_, faulty) => {
    for (const [effectName, effect] of Object.entries(effects)) {
      for (const [place, memory, x] of operands()) {
        const name = `${effectName} in a call, ${place}`
        const calls = [
          faulty.async(x, { fault: SLEEP } as never),
          ...(await Promise.resolve([faulty.async(x)])),
          faulty.batch([[x], [x, {}, { into: tensor('f32', [3]) } as never]]),
        ]
        await problems.run(name, () => effect(memory, x), [...LOST, 'ArgumentError']).catch(() => undefined)
        for (const settled of await Promise.allSettled(calls)) {
          const outcomes = settled.status === 'fulfilled' && Array.isArray(settled.value) ? settled.value : [settled]
          for (const outcome of outcomes as PromiseSettledResult<Tensor>[]) {
            if (outcome.status === 'rejected') problems.add(name, outcome.reason)
            else problems.check(name, textOf(outcome.value) === '2,4,6', textOf(outcome.value))
          }
        }
      }
    }
  })
}

/** Results that go to operands, overlap them, cannot be written, or are gone. */
async function targets(problems: Problems, path: string): Promise<void> {
  await withLibrary(problems, 'into', path, async (library, faulty) => {
    for (const place of ['shared', 'own', 'of the library'] as const) {
      const memory = SharedMemory.open({ chunk: '1 MiB' })
      const allocator =
        place === 'shared' ? { allocator: memory } : place === 'own' ? {} : { allocator: library.memory }
      const make = (): Tensor => tensor('f32', [6], [1, 2, 3, 4, 5, 6], allocator)
      const forms: readonly ((x: Tensor, into: Tensor) => unknown)[] = [
        (x, into) => faulty(x, {}, { into } as never),
        (x, into) => faulty.async(x, {}, { into } as never),
        async (x, into) => {
          const [one] = await faulty.batch([[x, {}, { into } as never]])
          if (one!.status === 'rejected') throw one!.reason
        },
      ]
      for (const [i, form] of forms.entries()) {
        const name = `${place}, form ${i}`
        const whole = make()
        await problems.run(`${name}, the operand`, () => form(whole, whole), [])
        problems.check(`${name}, the operand`, textOf(whole) === '2,4,6,8,10,12', textOf(whole))
        // The kernel goes from the first element to the last one, so the values are those of any loop over shared memory.
        const overlapped = make()
        const [low, high] = [overlapped.slice([0, 4]), overlapped.slice([2, 6])]
        const error = await problems.run(`${name}, overlap`, () => form(low, high), ['ArgumentError'])
        const expected = error === undefined ? '1,2,2,4,4,8' : '1,2,3,4,5,6'
        problems.check(`${name}, overlap`, textOf(overlapped) === expected, textOf(overlapped))
        const frozen = memory.freeze(make())
        await problems.fails(`${name}, frozen`, () => form(make(), frozen), 'ReadOnlyError')
        await problems.fails(
          `${name}, another size`,
          () => form(make(), tensor('f32', [5])),
          'ArgumentError',
          'ShapeError',
        )
        const gone = SharedMemory.open()
        const lost = tensor('f32', [6], undefined, { allocator: gone })
        gone.close()
        await problems.fails(`${name}, closed`, () => form(make(), lost), 'ScopeClosedError')
        await problems.fails(`${name}, closed operand`, () => form(lost, make()), 'ScopeClosedError')
        const other = SharedMemory.open()
        const far = tensor('f32', [6], undefined, { allocator: other })
        await problems.run(`${name}, other memory`, () => form(make(), far), [])
        problems.check(`${name}, other memory`, textOf(far) === '2,4,6,8,10,12', textOf(far))
        await problems.run(`${name}, close`, () => other.close(), [])
      }
      await problems.run(`${place}, close`, () => memory.close(), [])
    }
  })
}

/** Effects in the listener of a signal. */
async function inListeners(problems: Problems, path: string): Promise<void> {
  await withLibrary(problems, 'in listeners', path, async (library, faulty) => {
    for (const [effectName, effect] of Object.entries(effects)) {
      for (const [place, memory, x] of operands()) {
        const name = `${effectName} in a listener, ${place}`
        const abort = new AbortController()
        abort.signal.addEventListener('abort', () => {
          try {
            effect(memory, x)
          } catch {
            // The error of the effect is the subject of another part.
          }
          void library
            .kernel('faulty')
            .async(x)
            .catch(() => undefined)
        })
        const call = faulty.async(x, { fault: UNTIL_CANCELLED } as never, { signal: abort.signal } as never)
        const settled = Promise.allSettled([call])
        setImmediate(() => abort.abort())
        const [{ status }] = await settled
        problems.check(name, status === 'rejected', 'the call was not aborted')
      }
    }
  })
}

/** Effects in functions that the worker calls, which also end the library or call it again. */
async function inFunctions(problems: Problems): Promise<void> {
  const actions: Readonly<Record<string, (library: IsolatedLibrary, memory: SharedMemory, x: Tensor) => unknown>> = {
    ...Object.fromEntries(
      Object.entries(effects).map(([name, effect]) => [
        name,
        (_: unknown, memory: SharedMemory, x: Tensor) => effect(memory, x),
      ]),
    ),
    closes: (library) => void library.closeAsync({ deadline: 100 }).catch(() => undefined),
    restarts: (library) => void library.restart().catch(() => undefined),
    'calls again': (library) => library.packed('echo')(1),
    'calls again later': (library) =>
      void library
        .packed('echo')
        .async(1)
        .catch(() => undefined),
    throws: () => {
      throw new RangeError('on purpose')
    },
    'throws nothing': () => {
      throw undefined
    },
    'returns a symbol': () => Symbol('result'),
    'kills the worker': (library) => process.kill(library.health().workers[0]!.process, 'SIGKILL'),
  }
  for (const [name, action] of Object.entries(actions)) {
    for (const isAsync of [false, true]) {
      const library = await Library.isolate(kernelLibrary('packed'), { ...options, callbacks: 'relay' })
      const memory = SharedMemory.open({ chunk: '1 MiB' })
      const x = tensor('f32', [3], [1, 2, 3], { allocator: memory })
      const f = (): unknown => {
        const result = action(library, memory, x)
        return result ?? 1
      }
      const call = library.packed('call')
      try {
        if (isAsync) await call.async(f as never, x as never)
        else call(f as never, x as never)
      } catch (error) {
        const isOwn =
          name.startsWith('throws') &&
          (error === undefined || error instanceof RangeError || error instanceof TypeError)
        if (!isOwn)
          await problems.run(`a function that ${name}, ${isAsync}`, () => {
            throw error
          })
      }
      await problems.run(`a function that ${name}, close`, () => library.closeAsync({ deadline: 1000 }), [])
    }
  }
}

/** Subscribers of the channels that throw, close, restart and call again. */
async function inSubscribers(problems: Problems, path: string): Promise<void> {
  // Errors of subscribers are reported as those of event listeners are, and nothing else is.
  process.on('uncaughtException', ({ message, stack }) => {
    if (message !== 'of a subscriber') problems.add('uncaught', stack)
  })
  const names = ['start', 'ready', 'exit', 'crash', 'deadline', 'memory', 'restart', 'failed', 'output'].map(
    (name) => `tenon:isolate:${name}`,
  )
  const channels = [
    ...names,
    ...['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((name) => `tracing:tenon:call:${name}`),
  ]
  const actions: Readonly<Record<string, (library: IsolatedLibrary) => unknown>> = {
    throws: () => {
      throw new RangeError('of a subscriber')
    },
    closes: (library) => void library.closeAsync({ deadline: 50 }).catch(() => undefined),
    restarts: (library) => void library.restart().catch(() => undefined),
    'calls again': (library) => {
      try {
        library.kernel('faulty')(tensor([1, 2, 3]))
      } catch {
        // It is closed, or crashes too often.
      }
    },
  }
  for (const [name, action] of Object.entries(actions)) {
    for (const channel of channels) {
      const library = await Library.isolate(path, {
        ...options,
        deadline: 100,
        restart: { limit: 3, window: 10_000, backoff: 1 },
      })
      let depth = 0
      const subscriber = (): void => {
        if (depth > 0) return
        depth++
        try {
          action(library)
        } finally {
          depth--
        }
      }
      diagnostics.subscribe(channel, subscriber)
      const label = `a subscriber of ${channel} that ${name}`
      const faulty = library.kernel('faulty')
      const { length } = problems.list
      const attempts: readonly (() => unknown)[] = [
        () => faulty(tensor([1, 2, 3])),
        () => faulty.async(tensor([1, 2, 3]), { fault: 2 } as never),
        () => faulty(tensor([1, 2, 3]), { fault: 2 } as never),
        () => faulty.async(tensor([1, 2, 3]), { fault: 8 } as never),
      ]
      for (const attempt of attempts) {
        let timer: NodeJS.Timeout | undefined
        const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('late')), 5000)))
        await problems.run(label, () => Promise.race([attempt(), late]))
        clearTimeout(timer)
        if (problems.list.length > length) break
      }
      diagnostics.unsubscribe(channel, subscriber)
      await problems.run(`${label}, close`, () => library.closeAsync({ deadline: 500 }), [])
      problems.check(label, children().length === 0, `children ${children().join()}`)
    }
  }
}
