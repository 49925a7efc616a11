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
  const count = Math.min(runs, MAX_SAMPLES)
  for (let sample = 0, done = 0; sample < count; sample += 1) {
    const end = Math.round(((sample + 1) * runs) / count)
    const batch = end - done
    const start = process.hrtime.bigint()
    for (; done < end; done += 1) action()
    samples.push(Number(process.hrtime.bigint() - start) / batch)
  }
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.round(part * (sorted.length - 1))]!
  return { runs, medianNs: at(0.5), p10Ns: at(0.1), p90Ns: at(0.9) }
}

const units = [
  { size: 1e9, name: 's' },
  { size: 1e6, name: 'ms' },
  { size: 1e3, name: 'us' },
] as const

/** `850 ns`, `1.23 us`, `4.56 ms` */
function formatNs(ns: number): string {
  const unit = units.find(({ size }) => ns >= size)
  return unit === undefined ? `${Math.round(ns)} ns` : `${(ns / unit.size).toPrecision(3)} ${unit.name}`
}

/** `median 1.23 us, 1.20 us to 1.40 us for 8 of 10 (1000 runs)` */
export function formatTiming({ runs, medianNs, p10Ns, p90Ns }: Timing): string {
  return `median ${formatNs(medianNs)}, ${formatNs(p10Ns)} to ${formatNs(p90Ns)} for 8 of 10 (${runs} runs)`
}
