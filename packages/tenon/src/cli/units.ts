import { UsageError } from './usage-error.ts'

/** A unit, and its size in the unit of a bare number. */
type Units = Readonly<Record<string, number>>

const DURATIONS: Units = { us: 1e-3, ms: 1, s: 1000, min: 60_000, h: 3_600_000 }
const SIZES: Units = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
}

/**
 * Reads a duration such as `500ms`, `1.5s` or `inf`. A number without unit is in milliseconds.
 *
 * @returns milliseconds
 * @throws {UsageError} that names the flag
 */
export function parseDuration(flag: string, text: string): number {
  if (/^inf(inity)?$/i.test(text)) return Infinity
  const duration = parse(text, DURATIONS)
  if (duration !== undefined && duration >= 1) return duration
  throw new UsageError(
    `${flag} must be a duration of at least 1ms, such as 500ms, 1s or inf, got ${text || 'nothing'}`,
    unitHint(DURATIONS),
  )
}

/**
 * Reads a size such as `512MiB` or `2 GB`. A number without unit is in bytes.
 *
 * @returns a whole number of bytes
 * @throws {UsageError} that names the flag
 */
export function parseSize(flag: string, text: string): number {
  const size = parse(text, SIZES)
  if (size !== undefined && size >= 1 && Number.isSafeInteger(size)) return size
  throw new UsageError(`${flag} must be a number of bytes, such as 512MiB, got ${text || 'nothing'}`, unitHint(SIZES))
}

function parse(text: string, units: Units): number | undefined {
  const [, digits, unit] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text) ?? []
  if (unit === undefined) return undefined
  const factor = unit === '' ? 1 : Object.hasOwn(units, unit) ? units[unit]! : undefined
  return factor === undefined ? undefined : Number(digits) * factor
}

const unitHint = (units: Units): string => `Write a number and one of the units ${Object.keys(units).join(', ')}.`
