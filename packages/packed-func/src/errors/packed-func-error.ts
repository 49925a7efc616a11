import { TenonError, type TenonErrorOptions } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** The options of an error of packed functions. */
export interface PackedFuncErrorOptions extends Pick<TenonErrorOptions, 'cause' | 'details'> {
  /** The frames of native code and of other languages, the most recent call last. */
  readonly nativeBacktrace?: string
}

/**
 * An error of a packed function. `kind` is the name that all languages see, such as `ValueError`, `KeyError` or a kind of your
 * own, and `sentence` is the text as it was raised.
 *
 * Kinds that JavaScript has too are instances of its classes: errors of kind `TypeError` are `TypeError`s, and those of kind
 * `IndexError` and `OverflowError` are `RangeError`s.
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
    super('TENON_PACKED_FUNC', sentence, options)
    this.kind = kind
    this.nativeBacktrace = options.nativeBacktrace ?? ''
  }
}
defineKind(PackedFuncError)

/** A packed function's error that is also a `TypeError` of JavaScript. */
export class PackedFuncTypeError extends PackedFuncError {
  static override readonly kind: string = 'PackedFuncTypeError'
}
defineKind(PackedFuncTypeError, ['PackedFuncError'], TypeError)

/** A packed function's error that is also a `RangeError` of JavaScript. */
export class PackedFuncRangeError extends PackedFuncError {
  static override readonly kind: string = 'PackedFuncRangeError'
}
defineKind(PackedFuncRangeError, ['PackedFuncError'], RangeError)
