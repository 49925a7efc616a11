/** Many libraries, results and crashes, and numbers at and behind the ends of what options allow. */
import { isSanitized } from '@tenon/config/sanitizer'
import { setImmediate as turn } from 'node:timers/promises'
import { Library, tensor, type IsolateOptions, type Tensor } from 'tenon'
import { Problems } from './problems.ts'
import { children, processFacts, type ProcessFacts, remainingSince } from './process-facts.ts'

const x = (): Tensor => tensor([1, 2, 3])
const isTwice = (y: Tensor): boolean => y.toArray().join() === '2,4,6'

/** The most that the heaps of the process grow in a part, in bytes. A leak of 150 KiB in each round is more. */
const MOST_GROWTH = 20 * 2 ** 20

export async function main({ path }: { readonly path: string }): Promise<readonly string[]> {
  const problems = new Problems()
  await oneByOne(path, 5)
  await atOnce(problems, path, 4)
  // The first crashes load the readers of debug information, and the heap of young objects grows to its size.
  for (let i = 0; i < 3; i++) await retries(problems, path)
  await part(problems, '150 libraries in turn', () => oneByOne(path, 150))
  await part(problems, '50 libraries at once', () => atOnce(problems, path, 50))
  await part(problems, '10,000 results', () => dropResults(problems, path))
  await part(problems, 'crashes that are repeated', () => retries(problems, path))
  await part(problems, 'numbers', () => numbers(problems, path))
  return problems.list
}

/** Looks whether a part leaves nothing. */
async function part(problems: Problems, name: string, work: () => Promise<unknown>): Promise<void> {
  const before: ProcessFacts = await processFacts()
  await work()
  for (const remaining of await remainingSince(before)) problems.add(name, remaining)
  const after = await processFacts()
  problems.check(name, after.rssAnon - before.rssAnon < MOST_GROWTH, `${after.rssAnon - before.rssAnon} bytes`)
}

async function oneByOne(path: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const library = await Library.isolate(path)
    if (i % 4 === 0) library.kernel('faulty')(x())
    if (i % 4 === 1)
      void library
        .kernel('faulty')
        .async(x())
        .catch(() => undefined)
    await library.closeAsync(i % 2 === 0 ? {} : { deadline: 1 })
  }
}

async function atOnce(problems: Problems, path: string, count: number): Promise<void> {
  const libraries = await Promise.all(Array.from({ length: count }, () => Library.isolate(path)))
  const results = await Promise.all(libraries.map((library) => library.kernel('faulty').async(x())))
  problems.check('at once', results.every(isTwice), 'a wrong result')
  problems.check('at once', children().length === count, `${children().length} children`)
  await Promise.all(libraries.map((library) => library.closeAsync()))
}

/** Results that nobody closes. Their memory is used again. */
async function dropResults(problems: Problems, path: string): Promise<void> {
  const library = await Library.isolate(path)
  const faulty = library.kernel('faulty')
  const big = tensor('float32', [4096], undefined, { allocator: library.memory })
  let most = 0
  for (let i = 0; i < 10_000; i++) {
    faulty(big)
    if (i % 500 === 0) {
      globalThis.gc!()
      await turn()
      most = Math.max(most, library.memory.usage.byteSize)
    }
  }
  problems.check('10,000 results', most <= 128 * 2 ** 20, `${most} bytes`)
  await library.closeAsync()
}

/** Calls that crash each time, and may be repeated. */
async function retries(problems: Problems, path: string): Promise<void> {
  const library = await Library.isolate(path, {
    idempotent: true,
    workers: 3,
    restart: { limit: 1e6, window: 1000, backoff: 1 },
  })
  const faulty = library.kernel('faulty')
  const calls = Array.from({ length: 60 }, (_, i) => faulty.async(x(), { fault: i % 5 === 0 ? 0 : 2 } as never))
  const [settled, batch] = await Promise.all([
    Promise.allSettled(calls),
    faulty.batch([[x(), { fault: 2 } as never], [x()], [x(), { fault: 4 } as never]]),
  ])
  for (const [i, one] of [...settled, ...batch].entries()) {
    if (one.status === 'fulfilled') problems.check(`call ${i}`, isTwice(one.value as Tensor), 'a wrong result')
    else await problems.run(`call ${i}`, () => Promise.reject(one.reason), ['KernelCrashError', 'WorkerLostError'])
  }
  const { retries: repeated, failures } = library.metrics()
  problems.check('retries', repeated <= 50 && repeated >= 48, `${repeated} retries`)
  problems.check('failures', failures['KernelCrashError'] === 50, JSON.stringify(failures))
  await problems.run(
    'afterwards',
    async () => problems.check('afterwards', isTwice(await faulty.async(x())), 'a wrong result'),
    [],
  )
  await library.closeAsync()
}

/** Options at the ends of what is allowed, and behind them. */
async function numbers(problems: Problems, path: string): Promise<void> {
  const valid: readonly IsolateOptions[] = [
    { workers: 64 },
    // AddressSanitizer reserves more memory than a worker with a limit may.
    ...(isSanitized ? [] : [{ memory: '1 GiB' }]),
    { memory: Number.MAX_SAFE_INTEGER },
    { deadline: Infinity },
    { deadline: Number.MAX_VALUE },
    { grace: 0 },
    { grace: Infinity },
    { queue: 0 },
    { queue: Infinity },
    { recycle: 1 },
    { restart: { limit: 0, window: 0, backoff: 0 } },
    { restart: { limit: Infinity, window: Infinity, backoff: Infinity } },
  ]
  for (const options of valid) {
    const name = JSON.stringify(options)
    await problems.run(name, async () => {
      const library = await Library.isolate(path, options)
      problems.check(name, isTwice(library.kernel('faulty')(x())), 'a wrong result')
      problems.check(name, isTwice(await library.kernel('faulty').async(x())), 'a wrong result')
      await library.closeAsync()
    }, [])
  }
  const invalid: readonly (readonly [option: string, values: readonly unknown[]])[] = [
    ['workers', [0, 65, 1e9, 1.5, NaN, -1, Infinity, '2']],
    ['memory', ['0', '1 EiB', 'x', '', '-1 MiB', '0 MiB', NaN, -1, 0, Infinity, 1.5, 2 ** 60]],
    ['deadline', [0, NaN, -1, -Infinity, '1s']],
    ['grace', [NaN, -1, '1']],
    ['queue', [-1, NaN, 1.5]],
    ['recycle', [0, -1, NaN, 1.5]],
  ]
  for (const [option, values] of invalid) {
    for (const value of values) {
      const name = `${option}: ${String(value)}`
      await problems.fails(
        name,
        () => Library.isolate(path, { [option]: value }),
        'ArgumentError',
        'ArgumentRangeError',
      )
    }
  }
  const library = await Library.isolate(path, { restart: { limit: 1e6, window: 1000, backoff: 1 } })
  const faulty = library.kernel('faulty')
  for (const deadline of [0, NaN, -1, -Infinity]) {
    await problems.fails(
      `deadline ${deadline}`,
      () => faulty(x(), {}, { deadline } as never),
      'ArgumentError',
      'ArgumentRangeError',
    )
    await problems.fails(
      `deadline ${deadline}`,
      () => faulty.async(x(), {}, { deadline } as never),
      'ArgumentError',
      'ArgumentRangeError',
    )
  }
  for (const deadline of [1e-300, 1e-6, 0.5, 1]) {
    // A call may be in time.
    for (const fault of [0, 29]) {
      const allowed = ['KernelDeadlineError']
      await problems.run(`deadline ${deadline}`, () => faulty(x(), { fault } as never, { deadline } as never), allowed)
      await problems.run(
        `deadline ${deadline}`,
        () => faulty.async(x(), { fault } as never, { deadline } as never),
        allowed,
      )
    }
  }
  for (const deadline of [Infinity, Number.MAX_VALUE, 2 ** 31, 2 ** 53]) {
    await problems.run(
      `deadline ${deadline}`,
      async () => {
        problems.check(`deadline ${deadline}`, isTwice(faulty(x(), {}, { deadline } as never)), 'a wrong result')
        problems.check(
          `deadline ${deadline}`,
          isTwice(await faulty.async(x(), { fault: 29 } as never, { deadline } as never)),
          'a wrong result',
        )
      },
      [],
    )
  }
  await library.closeAsync()
  // A limit that is too small for the program of the worker.
  for (const memory of ['1 KiB', '100 KiB', 1]) {
    await problems.run(
      `memory: ${memory}`,
      async () => {
        const small = await Library.isolate(path, { memory, deadline: 3000 })
        try {
          await small.kernel('faulty').async(x())
        } finally {
          await small.closeAsync()
        }
      },
      ['CrashLoopError', 'KernelCrashError', 'KernelMemoryError', 'NativeError', 'LoadError', 'WorkerLostError'],
    )
  }
}
