import { SimpleError, defineKind } from './tenon-error.ts'

/** A file is not a readable library: it is another kind of file, or its headers are inconsistent. */
export class BinaryFormatError extends SimpleError {
  static override readonly kind: string = 'BinaryFormatError'
}
defineKind(BinaryFormatError)
