import { defineKind, SimpleError } from '@tenon/core/internal'

/**
 * The bytes of a string tensor break a rule of their layout. `details` has the `index` of the element, the `rule`, the `value`
 * that was found and its `limit`, and for a file its `path`.
 */
export class MalformedTensorError extends SimpleError {
  static override readonly kind: string = 'MalformedTensorError'
}
defineKind(MalformedTensorError)

/**
 * Strings are larger than a layout can hold. Nothing was written. Also a `RangeError`, with the `details` of a
 * {@link MalformedTensorError}.
 */
export class TensorLimitError extends SimpleError {
  static override readonly kind: string = 'TensorLimitError'
}
defineKind(TensorLimitError, [], RangeError)

/** Bytes are not valid UTF-8, or a string has characters that its encoding lacks, and the policy refuses them. */
export class InvalidTextError extends SimpleError {
  static override readonly kind: string = 'InvalidTextError'
}
defineKind(InvalidTextError)
