import { TenonError } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** What an error of packed functions carries besides its message. */
export interface PackedFuncErrorOptions {
  readonly cause?: unknown
  /** The frames of native code and of other languages, the most recent call last. */
  readonly nativeBacktrace?: string
}

/**
 * An error of a packed function. `kind` is the name that all languages see (`ValueError`, `KeyError`, one of your own), and
 * `sentence` the text as it was raised.
 *
 * Kinds that JavaScript has too are also of its classes: a `TypeError` is a `TypeError`, an `IndexError` and an
 * `OverflowError` are a `RangeError`.
 *
 * @example
 * try {
 *   getGlobal('mylib.lookup').call('nothing')
 * } catch (error) {
 *   if (error instanceof PackedFuncError && error.kind === 'KeyError') console.error(error.sentence)
 * }
 */
export class PackedFuncError extends TenonError {
  static override readonly kind: string = 'PackedFuncError'
  readonly kind: string
  readonly nativeBacktrace: string

  constructor(kind: string, sentence: string, options: PackedFuncErrorOptions = {}) {
    super('TENON_PACKED_FUNC', sentence, 'cause' in options ? { cause: options.cause } : {})
    this.kind = kind
    this.nativeBacktrace = options.nativeBacktrace ?? ''
  }
}
defineKind(PackedFuncError)

/** Also a `TypeError` of JavaScript. */
export class PackedFuncTypeError extends PackedFuncError {
  static override readonly kind: string = 'PackedFuncTypeError'
}
defineKind(PackedFuncTypeError, ['PackedFuncError'], TypeError)

/** Also a `RangeError` of JavaScript. */
export class PackedFuncRangeError extends PackedFuncError {
  static override readonly kind: string = 'PackedFuncRangeError'
}
defineKind(PackedFuncRangeError, ['PackedFuncError'], RangeError)
