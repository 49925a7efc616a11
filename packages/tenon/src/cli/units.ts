import { byteUnitsHint, parseByteCount } from '@tenon/pools/internal'
import { UsageError } from './usage-error.ts'

/** The units of durations in ms. */
const DURATIONS: ReadonlyMap<string, number> = new Map([
  ['us', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['min', 60_000],
  ['h', 3_600_000],
])

/** The range of a duration in milliseconds. */
interface DurationRange {
  /** Default: 1. */
  readonly least?: 0 | 1
  /** Default: `inf` is valid too. */
  readonly most?: number
}

/** The longest duration of a timer in milliseconds, 24 days. */
export const LONGEST_TIMER: number = 2 ** 31 - 1

/**
 * Reads a duration such as `500ms`, `1.5s` or `inf`. A number without a unit is refused, because `5` was more likely meant in seconds. The only one
 * that needs no unit is `0`.
 *
 * @returns milliseconds
 * @throws {UsageError} that names the flag
 */
export function parseDuration(flag: string, text: string, { least = 1, most = Infinity }: DurationRange = {}): number {
  const duration = readDuration(text)
  if (duration >= least && duration <= most) return duration
  const example = most === Infinity ? '500ms, 1s or inf' : '500ms or 5s'
  const range = [...(least === 1 ? ['at least 1ms'] : []), ...(most === Infinity ? [] : ['at most 24 days'])]
  throw new UsageError(
    `${flag} must be a duration with a unit, such as ${example}, and ${range.join(' and ')}, got ${text || 'nothing'}`,
    `Write a number and one of the units ${[...DURATIONS.keys()].join(', ')}.`,
  )
}

/** Returns milliseconds, or NaN if a text is no duration. */
function readDuration(text: string): number {
  if (/^inf(inity)?$/i.test(text)) return Infinity
  if (text === '0') return 0
  const [, digits, unit] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/i.exec(text) ?? []
  return Number(digits) * (DURATIONS.get(unit ?? '') ?? NaN)
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
