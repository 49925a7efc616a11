/** The error codes of absl, which XLA and TensorFlow use, in the order of their numbers. */
export const ABSL_CODES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const

/** The name of an error code. */
export type AbslCodeName = Exclude<(typeof ABSL_CODES)[number], 'OK'>

/** Returns the name of an error code. A number without a name counts as `UNKNOWN`. */
export function abslCodeName(code: number): AbslCodeName {
  const name = ABSL_CODES[code]
  return name === undefined || name === 'OK' ? 'UNKNOWN' : name
}
