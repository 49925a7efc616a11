/** The client of workers that crash again and again, while other workers compute. */
import { tensor, Library, TenonError, type Tensor } from 'tenon'
import { processFacts, type ProcessFacts } from './process-facts.ts'

/** What the client does. */
export interface CrashRun {
  /** The library with the faults of `csrc/fixture/faulty`. */
  readonly library: string
  readonly crashes: number
  /** The crashes before that, after which all that is kept for later is there: compiled code, and the arenas of malloc. */
  readonly warmup: number
  /** The numbers of the faults, which are committed in turn. */
  readonly faults: readonly number[]
}

export interface CrashReport {
  readonly crashes: number
  /** The codes of the errors of crashing calls, and their numbers. */
  readonly outcomes: Readonly<Record<string, number>>
  /** The calls of the other workers, and those of them with a wrong result or an error. */
  readonly others: number
  readonly wrong: readonly string[]
  readonly before: ProcessFacts
  readonly after: ProcessFacts
  /** The milliseconds from a crash to the next answer: a quarter, the half, and 95 % of them took at most this. */
  readonly recovery: readonly [p25: number, median: number, p95: number]
}

const COUNT = 1024

export async function main({ library: path, crashes, warmup, faults }: CrashRun): Promise<CrashReport> {
  const options = { restart: { limit: 1e9, window: 1000, backoff: 1 }, deadline: 20_000 }
  const crashing = await Library.isolate(path, options)
  const others = await Library.isolate(path, { workers: 4, deadline: 60_000 })
  const [crash, compute] = [crashing.kernel('faulty'), others.kernel('faulty')]
  const outcomes: Record<string, number> = {}
  const wrong: string[] = []
  const recoveries: number[] = []
  let computed = 0

  /** Keeps one worker busy, with operands in shared memory or elsewhere. */
  const load = async (lane: number, isOver: () => boolean): Promise<void> => {
    const allocator = lane % 2 === 0 ? { allocator: others.memory } : {}
    const x = tensor('float32', [COUNT], undefined, allocator)
    for (let i = 0; !isOver(); i++) {
      const value = lane * 1000 + (i % 1000)
      x.view().fill(value)
      try {
        if (!isTwice(await compute.async(x, { fault: 0 }), value)) wrong.push(`lane ${lane}, call ${i}`)
      } catch (error) {
        wrong.push(`lane ${lane}, call ${i}: ${String(error)}`)
      }
      computed++
    }
  }

  const x = tensor('float32', [COUNT], new Float32Array(COUNT).fill(3))
  const crashOnce = async (i: number): Promise<void> => {
    const attributes = { fault: faults[i % faults.length]! }
    try {
      if (i % 2 === 0) crash(x, attributes)
      else await crash.async(x, attributes)
      wrong.push(`crash ${i} returned`)
    } catch (error) {
      if (!(error instanceof TenonError)) throw error
      outcomes[error.code] = (outcomes[error.code] ?? 0) + 1
    }
    const start = performance.now()
    if (!isTwice(crash(x, { fault: 0 }), 3)) wrong.push(`after crash ${i}`)
    recoveries.push(performance.now() - start)
    // The load runs in the event loop of this thread.
    await new Promise((resolve) => setImmediate(resolve))
  }
  /** Crashes some times under load. What is left then is what the process keeps. */
  const crashUnderLoad = async (count: number): Promise<ProcessFacts> => {
    let isOver = false
    const loads = [0, 1, 2, 3].map((lane) => load(lane, () => isOver))
    for (let i = 0; i < count; i++) await crashOnce(i)
    isOver = true
    await Promise.all(loads)
    return settledFacts()
  }
  const before = await crashUnderLoad(warmup)
  const after = await crashUnderLoad(crashes)
  await Promise.all([crashing.closeAsync(), others.closeAsync()])
  const sorted = recoveries.slice(warmup).toSorted((a, b) => a - b)
  const at = (part: number): number => Number(sorted[Math.floor(part * (sorted.length - 1))]!.toFixed(2))
  return {
    crashes,
    outcomes,
    others: computed,
    wrong: wrong.slice(0, 20),
    before,
    after,
    recovery: [at(0.25), at(0.5), at(0.95)],
  }
}

/** Reads what the process holds when its workers have given back the memory of results that the collector found. */
async function settledFacts(): Promise<ProcessFacts> {
  for (let last = await processFacts(); ;) {
    const facts = await processFacts()
    if (facts.rssShmem >= last.rssShmem && facts.rssAnon >= last.rssAnon) return facts
    last = facts
  }
}

const isTwice = (y: Tensor, value: number): boolean => y.toArray().every((element) => element === 2 * value)
