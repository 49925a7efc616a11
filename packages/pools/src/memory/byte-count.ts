import { checkSize, wrongValue } from '@tenon/core/internal'

const UNITS: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ...['KiB', 'MiB', 'GiB', 'TiB'].map((unit, index) => [unit, 1024 ** (index + 1)] as const),
  ...['kB', 'MB', 'GB', 'TB'].map((unit, index) => [unit, 1000 ** (index + 1)] as const),
])

const PATTERN = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*$/i

/** The hint for a text that is not a number of bytes. */
export const byteUnitsHint: string = `Write a number and one of the units ${[...UNITS.keys()].join(', ')}.`

/**
 * Reads a text such as `64 MiB`, `2GB` or `4096 B`. A text without a unit is refused, because `512` was more likely meant in MiB. Returns
 * undefined if it is not a whole number of bytes.
 */
export function parseByteCount(text: string): number | undefined {
  const [, digits, unit] = PATTERN.exec(text) ?? []
  const factor = UNITS.get(unit ?? '')
  const bytes = factor === undefined ? NaN : Number(digits) * factor
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/**
 * Reads a number of bytes: a number, or a text such as `'64 MiB'`.
 *
 * @throws {ArgumentError | ArgumentRangeError} if it is neither.
 */
export function byteCount(value: unknown, name: string): number {
  if (typeof value !== 'string') return checkSize(value, name)
  const bytes = parseByteCount(value)
  if (bytes !== undefined) return bytes
  throw wrongValue(name, 'a whole number of bytes, or a text with a unit such as "64 MiB"', value, byteUnitsHint)
}
