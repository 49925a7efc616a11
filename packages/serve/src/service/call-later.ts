/** The longest delay of a timer in milliseconds, 24 days. A longer one would end at once. */
export const LONGEST_TIMER: number = 2 ** 31 - 1

/** Calls a function later. @returns a function that takes the call back. */
export function callLater(run: () => void, milliseconds: number): () => void {
  if (milliseconds > LONGEST_TIMER) return () => {}
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}
