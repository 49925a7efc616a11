import { UsageError } from './usage-error.ts'

/** Reads the number of `--repeat`. @throws {UsageError} if it is not a whole number from 1 to 1000000000 */
export function parseRepeat(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 1e9) return count
  throw new UsageError(`--repeat should be a whole number from 1 to 1000000000, not ${text}`)
}
