import { TenonError, defineKind, type TenonErrorOptions } from './tenon-error.ts'

/** A file is no library that can be read: another kind of file, or headers that contradict each other. */
export class BinaryFormatError extends TenonError {
  static override readonly kind: string = 'BinaryFormatError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_BINARY_FORMAT', sentence, options)
  }
}
defineKind(BinaryFormatError)
