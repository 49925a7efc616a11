import { TenonError, type TenonErrorOptions } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** A file is no `.npy` file that can be read: damaged, or with elements that have no type here. */
export class NpyFormatError extends TenonError {
  static override readonly kind: string = 'NpyFormatError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_NPY_FORMAT', sentence, options)
  }
}
defineKind(NpyFormatError)
