/** Writes a time with the unit in which it is short. */
export function timeText(nanoseconds: number): string {
  if (nanoseconds < 1e3) return `${nanoseconds.toFixed(0)} ns`
  if (nanoseconds < 1e6) return `${(nanoseconds / 1e3).toPrecision(3)} us`
  return `${(nanoseconds / 1e6).toPrecision(3)} ms`
}

/** Writes a number of bytes: 1 KiB, 16 MiB. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 2 ** 20 ? `${bytes / 1024} KiB` : `${bytes / 2 ** 20} MiB`
}

/** Writes a time of one significant digit or of whole units: 200 ns, 5 µs. */
export function shortTime(nanoseconds: number): string {
  return timeText(nanoseconds).replace(/\.0+ /, ' ').replace('us', 'µs')
}
