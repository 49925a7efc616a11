import { readFileSync } from 'node:fs'
import type { Execution } from './execution.ts'
import type { IsolateMetrics, TimeHistogram, WorkerMetrics } from './options.ts'
import type { Worker } from './worker.ts'

const BUCKETS = 40

/** A histogram of times, with a bucket for each power of two of nanoseconds. The last bucket has all longer times. */
export class TimeCounts {
  readonly #buckets = new Float64Array(BUCKETS)
  #count = 0
  #sum = 0

  /** Adds a time in nanoseconds. Times below 1 count as 1. */
  add(time: number): void {
    this.#count++
    this.#sum += time
    const bucket = time < 2 ** 32 ? 31 - Math.clz32(time) : 63 - Math.clz32(time / 2 ** 32)
    this.#buckets[Math.min(Math.max(bucket, 0), BUCKETS - 1)]!++
  }

  snapshot(): TimeHistogram {
    return { count: this.#count, sum: this.#sum, buckets: [...this.#buckets] }
  }
}

/** The counts of all calls of a library. */
export class CallMetrics {
  retries = 0
  restarts = 0
  readonly #queueTime = new TimeCounts()
  readonly #runTime = new TimeCounts()
  readonly #roundTripTime = new TimeCounts()
  readonly #failures = new Map<string, number>()
  #calls = 0
  #copiedBytes = 0

  /** A worker has answered a call. @param nativeTime in nanoseconds */
  answered(nativeTime: number): void {
    this.#runTime.add(nativeTime)
  }

  /** The outcome of a call is known. @param now in ms of `performance.now()` */
  settled({ sentAt, startedAt, call, isRejected, error }: Execution, now: number): void {
    this.#calls++
    this.#copiedBytes += call.copiedBytes ?? 0
    if (sentAt !== 0) this.#queueTime.add((sentAt - startedAt) * 1e6)
    this.#roundTripTime.add((now - startedAt) * 1e6)
    if (isRejected) this.failed(error)
  }

  failed(error: unknown): void {
    const name = error instanceof Error ? error.name : typeof error
    this.#failures.set(name, (this.#failures.get(name) ?? 0) + 1)
  }

  snapshot(queued: number, running: number, workers: readonly (Worker | undefined)[]): IsolateMetrics {
    return {
      calls: this.#calls,
      failures: Object.fromEntries(this.#failures),
      retries: this.retries,
      restarts: this.restarts,
      queued,
      running,
      copiedBytes: this.#copiedBytes,
      queueTime: this.#queueTime.snapshot(),
      runTime: this.#runTime.snapshot(),
      roundTripTime: this.#roundTripTime.snapshot(),
      workers: workers.flatMap((worker) => (worker === undefined ? [] : [metricsOf(worker)])),
    }
  }
}

function metricsOf({ index, process, calls, startedAt }: Worker): WorkerMetrics {
  return { index, process, calls, uptime: performance.now() - startedAt, ...residentMemory(process) }
}

/** The resident memory of a process in bytes, where the system reports it. */
export function residentMemory(process: number): { rssAnon: number | undefined; rssShmem: number | undefined } {
  let text = ''
  try {
    text = readFileSync(`/proc/${process}/status`, 'utf8')
  } catch {
    // The process has ended, or the system has no such file.
  }
  const field = (name: string): number | undefined => {
    const kilobytes = new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(text)?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  }
  return { rssAnon: field('RssAnon'), rssShmem: field('RssShmem') }
}
