import { TenonError, type TenonErrorOptions } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** A file is not a readable `.npy` file: it is damaged, or has an unsupported element type. */
export class NpyFormatError extends TenonError {
  static override readonly kind: string = 'NpyFormatError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_NPY_FORMAT', sentence, options)
  }
}
defineKind(NpyFormatError)
