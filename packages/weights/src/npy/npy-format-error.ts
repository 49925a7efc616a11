import { defineKind, SimpleError } from '@tenon/core/internal'

/** A file is not a readable `.npy` file: it is damaged, or has an unsupported element type. */
export class NpyFormatError extends SimpleError {
  static override readonly kind: string = 'NpyFormatError'
}
defineKind(NpyFormatError)
