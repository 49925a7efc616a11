import { checkSize, wrongValue } from '@tenon/core/internal'

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }

const PATTERN = /^\s*(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB)\s*$/

/**
 * Reads a number of bytes: a number, or a text with a unit such as `'64 MiB'`.
 *
 * @throws {ArgumentError | ArgumentRangeError} if it is neither.
 */
export function byteCount(value: unknown, name: string): number {
  if (typeof value !== 'string') return checkSize(value, name)
  const [, digits, unit] = PATTERN.exec(value) ?? []
  const bytes = unit === undefined ? NaN : Number(digits) * UNITS[unit]!
  if (Number.isSafeInteger(bytes)) return bytes
  throw wrongValue(
    name,
    'a whole number of bytes, or a text such as "64 MiB"',
    value,
    'Write a number and one of B, KiB, MiB, GiB and TiB.',
  )
}
