import { SimpleError, defineKind } from './tenon-error.ts'

/** The file is not a shared library, or its headers are truncated or inconsistent. */
export class BinaryFormatError extends SimpleError {
  static override readonly kind: string = 'BinaryFormatError'
}
defineKind(BinaryFormatError)
