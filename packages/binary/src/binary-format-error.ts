import { TenonError, defineKind, type TenonErrorOptions } from './tenon-error.ts'

/** A file is not a readable library: it is another kind of file, or its headers are inconsistent. */
export class BinaryFormatError extends TenonError {
  static override readonly kind: string = 'BinaryFormatError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_BINARY_FORMAT', sentence, options)
  }
}
defineKind(BinaryFormatError)
