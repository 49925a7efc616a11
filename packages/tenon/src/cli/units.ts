import { byteUnitsHint, parseByteCount } from '@tenon/pools/internal'
import { UsageError } from './usage-error.ts'

/** The units of durations in ms, which is the unit of a bare number. */
const DURATIONS: ReadonlyMap<string, number> = new Map([
  ['us', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['min', 60_000],
  ['h', 3_600_000],
])

/**
 * Reads a duration such as `500ms`, `1.5s` or `inf`. A number without unit is in milliseconds.
 *
 * @param least the shortest duration in milliseconds, 0 or 1
 * @returns milliseconds
 * @throws {UsageError} that names the flag
 */
export function parseDuration(flag: string, text: string, least: 0 | 1 = 1): number {
  if (/^inf(inity)?$/i.test(text)) return Infinity
  const [, digits, unit] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text) ?? []
  const duration = Number(digits) * (unit === '' ? 1 : (DURATIONS.get(unit ?? '') ?? NaN))
  if (duration >= 1 || (duration === 0 && least === 0)) return duration
  throw new UsageError(
    `${flag} must be a duration of at least 1ms, such as 500ms, 1s or inf, got ${text || 'nothing'}`,
    `Write a number and one of the units ${[...DURATIONS.keys()].join(', ')}.`,
  )
}

/**
 * Reads a size such as `512MiB` or `2 GB`.
 *
 * @returns a whole number of bytes
 * @throws {UsageError} that names the flag
 */
export function parseSize(flag: string, text: string): number {
  const size = parseByteCount(text)
  if (size !== undefined && size >= 1) return size
  throw new UsageError(
    `${flag} must be a number of bytes with a unit, such as 512MiB, got ${text || 'nothing'}`,
    byteUnitsHint,
  )
}
