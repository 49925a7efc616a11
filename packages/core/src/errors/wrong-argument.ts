import { describe } from './describe.ts'
import { ArgumentError, ArgumentRangeError } from './kinds.ts'

/**
 * The error for an argument of the wrong type: "NAME must be EXPECTED, got VALUE".
 *
 * @param expected a noun phrase: `a function`, `an array of tensors`.
 * @param hint an instruction, if there is one to give.
 */
export function wrongType(name: string, expected: string, received: unknown, hint?: string): ArgumentError {
  const [sentence, options] = parts(name, expected, received, hint)
  return new ArgumentError(sentence, options)
}

/** The error for an argument of the right type whose value is out of range, in the words of {@link wrongType}. */
export function wrongValue(name: string, expected: string, received: unknown, hint?: string): ArgumentRangeError {
  const [sentence, options] = parts(name, expected, received, hint)
  return new ArgumentRangeError(sentence, options)
}

function parts(
  name: string,
  expected: string,
  value: unknown,
  hint: string | undefined,
): [sentence: string, options: { hint?: string; details: Readonly<Record<string, unknown>> }] {
  const received = describe(value)
  return [
    `${name} must be ${expected}, got ${received}`,
    { ...(hint !== undefined && { hint }), details: { name, expected, received } },
  ]
}
