/** A program whose arguments and options do what no program should. */
import { SharedMemory } from '@tenon/pools'
import { Library, tensor, TenonError, type Tensor } from 'tenon'
import { processFacts, remainingSince } from './process-facts.ts'

type IsolatedLibrary = Awaited<ReturnType<typeof Library.isolate>>

/** What tries have shown. `foreign`, `late` and `left` are empty if all ended well. */
export interface UserReport {
  readonly tries: number
  readonly foreign: string[]
  readonly late: string[]
  readonly left: string[]
}

/** The error that a getter or a listener throws. It may reach the caller. */
class OwnError extends Error {}

/** How long a try may take once it has made its calls, in ms. */
const LONGEST = 5000
const x = (): Tensor => tensor([1, 2, 3])
const isTwice = (y: unknown): boolean => (y as Tensor).toArray().join() === '2,4,6'

type Try = (library: IsolatedLibrary, memory: SharedMemory) => unknown
type NamedTry = readonly [name: string, run: Try]

/** Values that an option may have by mistake or on purpose. */
const values: Readonly<Record<string, unknown>> = {
  NaN: Number.NaN,
  zero: 0,
  'minus one': -1,
  huge: 1e300,
  Infinity,
  bigint: 2n ** 70n,
  symbol: Symbol('option'),
  text: 'text',
  empty: '',
  null: null,
  array: [],
  function: () => 1,
  'an object that throws': {
    [Symbol.toPrimitive]() {
      throw new OwnError()
    },
  },
  'a proxy that throws': throwing(),
  'a revoked proxy': revoked(),
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function throwing(): object {
  const fail = (): never => {
    throw new OwnError()
  }
  return new Proxy({}, { get: fail, getPrototypeOf: fail, has: fail, ownKeys: fail, getOwnPropertyDescriptor: fail })
}

/** What a getter does before it returns undefined. */
const effects: Readonly<Record<string, (library: IsolatedLibrary, memory: SharedMemory, operand: Tensor) => void>> = {
  throws: () => {
    throw new OwnError()
  },
  closes: (library) => void library.closeAsync({ deadline: 200 }),
  restarts: (library) => void library.restart().catch(() => undefined),
  'closes the memory': (_, memory) => memory.close(),
  'calls again': (library) => void library.kernel('faulty')(x()),
}

const CALL_OPTIONS = ['deadline', 'signal', 'priority', 'affinity', 'idempotent', 'into', 'allocator']
const OPEN_OPTIONS = ['workers', 'deadline', 'memory', 'guard', 'queue', 'grace', 'restart', 'env', 'output', 'recycle']
const MEMORY_OPTIONS = ['chunk', 'limit', 'label', 'guard', 'backing', 'name']

const forms: readonly ((library: IsolatedLibrary, operand: Tensor, options: object) => unknown)[] = [
  (library, operand, options) => library.kernel('faulty')(operand, {}, options as never),
  (library, operand, options) => library.kernel('faulty').async(operand, {}, options as never),
  (library, operand, options) => library.kernel('faulty').batch([[operand, {}, options as never], [operand]]),
]

/** The tries of each family. */
export const families: Readonly<Record<string, (path: string) => readonly NamedTry[]>> = {
  'values of call options': () =>
    CALL_OPTIONS.flatMap<NamedTry>((option) =>
      Object.entries(values).map<NamedTry>(([name, value], i) => [
        `${option}: ${name}`,
        (library) => forms[i % 3]!(library, x(), { [option]: value }),
      ]),
    ),
  'values of attributes': () =>
    Object.entries(values).flatMap<NamedTry>(([name, value]) => [
      [`fault: ${name}`, (library) => library.kernel('faulty')(x(), { fault: value } as never)],
      [`attributes: ${name}`, (library) => library.kernel('faulty').async(x(), value as never)],
      [`path: ${name}`, async () => void (await Library.isolate(value as never))],
    ]),
  'getters of call options': () =>
    CALL_OPTIONS.flatMap<NamedTry>((option) =>
      Object.entries(effects).flatMap<NamedTry>(([name, effect]) =>
        forms.map<NamedTry>((form, i) => [
          `${option} ${name} ${i}`,
          (library, memory) => {
            const operand = tensor('f32', [3], [1, 2, 3], { allocator: memory })
            let reads = 0
            const result = form(library, operand, {
              get [option]() {
                reads++
                effect(library, memory, operand)
                return undefined
              },
            })
            if (reads !== 1) throw new Error(`the option was read ${reads} times`)
            return result
          },
        ]),
      ),
    ),
  'values of isolate': (path) =>
    OPEN_OPTIONS.flatMap<NamedTry>((option) =>
      Object.entries(values).map<NamedTry>(([name, value]) => [
        `${option}: ${name}`,
        async () => {
          const library = await Library.isolate(path, { [option]: value } as never)
          await library.closeAsync({ deadline: 200 })
        },
      ]),
    ),
  'values of SharedMemory': () =>
    MEMORY_OPTIONS.flatMap<NamedTry>((option) =>
      Object.entries(values).map<NamedTry>(([name, value]) => [
        `${option}: ${name}`,
        () => SharedMemory.open({ [option]: value } as never).close(),
      ]),
    ),
  'ends of calls': () => [
    ...[0, 1, 5, 20].flatMap<NamedTry>((delay) =>
      (['close', 'restart', 'abort'] as const).flatMap<NamedTry>((end) =>
        [8, 25, 29].map<NamedTry>((fault) => [
          `${end} after ${delay} ms of fault ${fault}`,
          async (library) => {
            const abort = new AbortController()
            const options = { deadline: 150, signal: abort.signal }
            const calls = Array.from({ length: 8 }, () =>
              library.kernel('faulty').async(x(), { fault } as never, options as never),
            )
            const settled = Promise.allSettled(calls)
            await new Promise<void>((resolve) => void setTimeout(resolve, delay))
            if (end === 'abort') abort.abort(new OwnError())
            else if (end === 'restart') await library.restart()
            else await library.closeAsync({ deadline: 50 })
            return settled
          },
        ]),
      ),
    ),
    [
      'a queue of 10,000 calls that is closed',
      async (library) => {
        const faulty = library.kernel('faulty')
        const calls = Array.from({ length: 10_000 }, () => faulty.async(x()))
        const settled = Promise.allSettled(calls)
        await library.closeAsync({ deadline: 20 })
        return settled
      },
    ],
  ],
}

async function attempt(name: string, one: Try, library: IsolatedLibrary, report: UserReport): Promise<void> {
  const memory = SharedMemory.open({ limit: '16 MiB' })
  const note = (error: unknown): void => {
    if (error instanceof TenonError || error instanceof OwnError) return
    report.foreign.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`)
  }
  let timer: NodeJS.Timeout | undefined
  try {
    const running = one(library, memory)
    // Counted from here on, because making 10,000 calls takes seconds on a busy machine, in which nothing else runs.
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        report.late.push(name)
        reject(new OwnError())
      }, LONGEST)
    })
    const result = await Promise.race([running, late])
    for (const { status, reason } of Array.isArray(result) ? (result as PromiseRejectedResult[]) : []) {
      if (status === 'rejected') note(reason)
    }
  } catch (error) {
    note(error)
  } finally {
    clearTimeout(timer)
    if (memory.isAlive) memory.close()
  }
}

export async function main({ path, family }: { readonly path: string; readonly family: string }): Promise<UserReport> {
  const tries = families[family]!(path)
  const report: UserReport = { tries: tries.length, foreign: [], late: [], left: [] }
  const open = (): Promise<IsolatedLibrary> =>
    Library.isolate(path, { deadline: 2000, grace: 20, restart: { limit: 1e6, window: 1000, backoff: 1 } })
  await (await open()).closeAsync()
  const before = await processFacts()
  let library = await open()
  for (const [name, one] of tries) {
    await attempt(name, one, library, report)
    if (library.health().state === 'closed') {
      await library.closeAsync()
      library = await open()
    }
    try {
      if (!isTwice(await library.kernel('faulty').async(x()))) report.foreign.push(`${name}: a wrong result afterwards`)
    } catch (error) {
      report.foreign.push(`${name}: afterwards ${String(error)}`)
    }
  }
  await library.closeAsync()
  const kept = { ...before, descriptors: before.descriptors + 2 }
  report.left.push(...(await remainingSince(kept, ['descriptors', 'children'])))
  return report
}
