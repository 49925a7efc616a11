/** The time in ms between two values of `performance.now()`, in whole microseconds, because more digits are noise. */
export function elapsedTime(since: number, now: number): number {
  return Math.round((now - since) * 1000) / 1000
}
