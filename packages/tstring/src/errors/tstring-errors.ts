import { TenonError, type TenonErrorOptions } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/**
 * The bytes of a string tensor break a rule of their layout. `details` has `index` (the element), `rule`, `value` and
 * `limit`.
 */
export class MalformedTensorError extends TenonError {
  static override readonly kind: string = 'MalformedTensorError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_MALFORMED_TENSOR', sentence, options)
  }
}
defineKind(MalformedTensorError)

/** Strings are larger than a layout can hold; nothing was written. Also a `RangeError`. `details` as above. */
export class TensorLimitError extends TenonError {
  static override readonly kind: string = 'TensorLimitError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_TENSOR_LIMIT', sentence, options)
  }
}
defineKind(TensorLimitError, [], RangeError)

/** Bytes are no valid UTF-8, or a string holds what its encoding lacks, and the policy is `throw`. */
export class InvalidTextError extends TenonError {
  static override readonly kind: string = 'InvalidTextError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_INVALID_TEXT', sentence, options)
  }
}
defineKind(InvalidTextError)
