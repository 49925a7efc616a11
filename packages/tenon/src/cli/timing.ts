import { quantile } from '../benchmark/quantile.ts'
import { UsageError } from './usage-error.ts'

/** The durations of runs, in nanoseconds per run. */
export interface Timing {
  readonly runs: number
  readonly medianNs: number
  readonly p10Ns: number
  readonly p90Ns: number
}

/** The largest number of samples. Reading the clock costs as much as a small kernel, so many runs share one reading. */
const MAX_SAMPLES = 100

/** Runs an action `runs` times and measures it. Nothing else happens between the runs of a sample. */
export function timeRuns(action: () => void, runs: number): Timing {
  const samples: number[] = []
  for (const batch of batches(runs)) {
    const start = process.hrtime.bigint()
    for (let i = 0; i < batch; i += 1) action()
    samples.push(Number(process.hrtime.bigint() - start) / batch)
  }
  return timingOf(runs, samples)
}

/** As {@link timeRuns}, with several runs in progress at a time. The durations are those of a sample, divided by its runs. */
export async function timeRunsTogether(
  action: () => Promise<unknown>,
  runs: number,
  together: number,
): Promise<Timing> {
  const samples: number[] = []
  for (const batch of batches(runs)) {
    let left = batch
    const runSome = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        await action()
      }
    }
    const start = process.hrtime.bigint()
    await Promise.all(Array.from({ length: together }, runSome))
    samples.push(Number(process.hrtime.bigint() - start) / batch)
  }
  return timingOf(runs, samples)
}

/** The numbers of runs in each sample. */
function batches(runs: number): number[] {
  const count = Math.min(runs, MAX_SAMPLES)
  const end = (sample: number): number => Math.round((sample * runs) / count)
  return Array.from({ length: count }, (_, sample) => end(sample + 1) - end(sample))
}

function timingOf(runs: number, samples: readonly number[]): Timing {
  const sorted = samples.toSorted((a, b) => a - b)
  return { runs, medianNs: quantile(sorted, 0.5), p10Ns: quantile(sorted, 0.1), p90Ns: quantile(sorted, 0.9) }
}

const units = [
  { size: 1e9, name: 's' },
  { size: 1e6, name: 'ms' },
  { size: 1e3, name: 'us' },
] as const

/** `850 ns`, `1.23 us`, `4.56 ms` */
export function formatNs(ns: number): string {
  const unit = units.find(({ size }) => ns >= size)
  return unit === undefined ? `${Math.round(ns)} ns` : `${(ns / unit.size).toPrecision(3)} ${unit.name}`
}

/** `median 1.23 us, 1.20 us to 1.40 us for 8 of 10 (1000 runs)` */
export function formatTiming({ runs, medianNs, p10Ns, p90Ns }: Timing): string {
  return `median ${formatNs(medianNs)}, ${formatNs(p10Ns)} to ${formatNs(p90Ns)} for 8 of 10 (${runs} runs)`
}

/** Reads the value of `--repeat`. @throws {UsageError} */
export function parseRepeat(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 1e9) return count
  throw new UsageError(`--repeat must be a whole number from 1 to 1000000000, got ${text}`)
}
