import type { TenonErrorOptions } from '@tenon/binary'
import { describe } from './describe.ts'
import { ArgumentError, ArgumentRangeError } from './kinds.ts'
import { copyHint } from './other-copy.ts'

/** The message is "NAME must be EXPECTED, got VALUE". `expected` is a noun phrase, and `hint` an instruction. */
export function wrongType(name: string, expected: string, received: unknown, hint?: string): ArgumentError {
  return new ArgumentError(...parts(name, expected, describe(received), copyHint(received) ?? hint))
}

export function wrongValue(name: string, expected: string, received: unknown, hint?: string): ArgumentRangeError {
  return new ArgumentRangeError(...parts(name, expected, describe(received), hint))
}

const parts = (
  name: string,
  expected: string,
  received: string,
  hint: string | undefined,
): [sentence: string, options: TenonErrorOptions] => [
  `${name} must be ${expected}, got ${received}`,
  { hint, details: { name, expected, received } },
]

/** Accepts integers from 0 to 2^53 - 1, also as bigints. @throws {ArgumentError | ArgumentRangeError} otherwise. */
export function checkSize(value: unknown, name: string, unit = 'bytes'): number {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return value + 0 // no negative zero
  } else if (typeof value === 'bigint') {
    if (value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value)
  } else {
    throw wrongType(name, `a number of ${unit}`, value)
  }
  throw wrongValue(name, `a whole number of ${unit} from 0 to 2^53 - 1`, value)
}

/** Accepts powers of two from 1 to 2^30, in bytes. @throws {ArgumentError | ArgumentRangeError} otherwise. */
export function checkAlignment(value: unknown, name = 'byteAlignment'): number {
  const alignment = checkSize(value, name)
  if (alignment > 0 && alignment <= 2 ** 30 && (alignment & (alignment - 1)) === 0) return alignment
  throw wrongValue(name, 'a power of two from 1 to 2^30', value)
}

/** Checks a name or path for native code. @throws {ArgumentError} if it is not a string, is empty, or has a NUL character. */
export function checkName(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value
  throw wrongType(name, 'a string, not empty and without NUL characters', value)
}
