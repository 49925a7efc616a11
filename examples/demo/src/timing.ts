/** Measures the median time of one run in nanoseconds, from 51 samples after a warm-up. */
export function medianNs(run: () => void): number {
  const time = (runs: number): number => {
    const start = process.hrtime.bigint()
    for (let i = 0; i < runs; i += 1) run()
    return Number(process.hrtime.bigint() - start) / runs
  }
  for (const end = Date.now() + 50; Date.now() < end;) time(100)
  const runs = Math.ceil(200_000 / Math.max(time(100), 1))
  const samples = Array.from({ length: 51 }, () => time(runs)).toSorted((a, b) => a - b)
  return samples[25]!
}

/** `850 ns`, `1.23 us` */
export function formatNs(ns: number): string {
  return ns < 1000 ? `${Math.round(ns)} ns` : `${(ns / 1000).toPrecision(3)} us`
}
