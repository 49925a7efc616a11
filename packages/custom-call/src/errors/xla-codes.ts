/** The error codes of XLA, which are those of absl, in the order of their numbers. */
export const XLA_CODES = [
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

/** The name of an error code. A number without a name counts as `UNKNOWN`. */
export type XlaCodeName = Exclude<(typeof XLA_CODES)[number], 'OK'>

/** Returns the name of a code, or `UNKNOWN` for a code without a name. */
export function xlaCodeName(code: number): XlaCodeName {
  const name = XLA_CODES[code]
  return name === undefined || name === 'OK' ? 'UNKNOWN' : name
}
