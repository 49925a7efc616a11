import type { TenonErrorOptions } from '@tenon/binary'
import { describe } from './describe.ts'
import { ArgumentError, ArgumentRangeError } from './kinds.ts'

/**
 * The error for an argument of the wrong type: "NAME must be EXPECTED, got VALUE".
 *
 * @param expected a noun phrase: `a function`, `an array of tensors`.
 * @param hint an instruction, if there is one to give.
 */
export function wrongType(name: string, expected: string, received: unknown, hint?: string): ArgumentError {
  return new ArgumentError(...parts(name, expected, describe(received), hint))
}

/** The error for an argument of the right type whose value is out of range, in the words of {@link wrongType}. */
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
