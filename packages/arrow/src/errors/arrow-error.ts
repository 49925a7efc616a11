import { defineKind, SimpleError } from '@tenon/core/internal'

/**
 * A struct of Arrow's C data interface breaks a rule of the interface, or a stream has failed. `details.path` names the column, as far as one
 * is concerned, and `details.errno` is the number that a stream returned.
 */
export class ArrowError extends SimpleError {
  static override readonly kind: string = 'ArrowError'
}
defineKind(ArrowError)

/** The error for a struct that breaks a rule. @param path of the column: the names of its parents and its own */
export function malformed(path: string, sentence: string, details: Readonly<Record<string, unknown>> = {}): ArrowError {
  return new ArrowError(`${path} ${sentence}`, {
    hint: 'Report it to the library that made the struct. A struct must be valid until its consumer releases it.',
    details: { path, ...details },
  })
}
