import { TenonError } from '@tenon/core'
import { checkName, defineKind, wrongType, type TenonErrorOptions } from '@tenon/core/internal'

/** The options of an error of packed functions. */
export interface PackedFuncErrorOptions extends Pick<TenonErrorOptions, 'cause' | 'details' | 'hint'> {
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
 *   getGlobal('mylib.lookup')('nothing')
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

abstract class KindError extends PackedFuncError {
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super(new.target.kind, sentence, options)
  }
}

/** A value has the right type but is not acceptable, such as a name that is not registered. */
export class ValueError extends KindError {
  static override readonly kind: string = 'ValueError'
}

/** A map does not have the key. */
export class KeyError extends KindError {
  static override readonly kind: string = 'KeyError'
}

/** A module or object does not have a member of the name. */
export class AttributeError extends KindError {
  static override readonly kind: string = 'AttributeError'
}

/** A failure without a kind of its own, such as a name that is registered already, or a missing loader. */
export class RuntimeError extends KindError {
  static override readonly kind: string = 'RuntimeError'
}

/** A kernel or its runtime failed, or a C++ exception left a kernel. */
export class InternalError extends KindError {
  static override readonly kind: string = 'InternalError'
}

/** Out of memory, or a tensor is too large to be described. */
export class MemoryError extends KindError {
  static override readonly kind: string = 'MemoryError'
}

/** Calls between JavaScript and native code are nested too deeply, or have too many arguments. */
export class RecursionError extends KindError {
  static override readonly kind: string = 'RecursionError'
}

/** The beginning of the sentence of errors for calls that are nested too deeply. */
const NESTED = 'calls between JavaScript and native code are nested'

const NESTED_HINT =
  'Nest fewer calls, or make the stack of JavaScript larger: new Worker(file, { resourceLimits: { stackSizeMb: 16 } }), or node --stack-size=7800, which must stay below ulimit -s.'

/** The error for calls that are nested too deeply. */
export function nestedTooDeeply(how: string): RecursionError {
  return new RecursionError(`${NESTED} ${how}`, { hint: NESTED_HINT })
}

/** A check in a kernel failed. */
export class AssertionError extends KindError {
  static override readonly kind: string = 'AssertionError'
}

/** A TypeScript function was called from a thread that cannot run it: see `packedFunc`. */
export class ThreadError extends KindError {
  static override readonly kind: string = 'ThreadError'
}

const kindClasses: readonly (typeof ValueError)[] = [
  ValueError,
  KeyError,
  AttributeError,
  RuntimeError,
  InternalError,
  MemoryError,
  RecursionError,
  AssertionError,
  ThreadError,
]
for (const Kind of kindClasses) defineKind(Kind, ['PackedFuncError'])

/** Makes the JavaScript error for one that native code raised. */
export type ErrorFactory = (sentence: string, options: PackedFuncErrorOptions) => Error

const factories = new Map<string, ErrorFactory>([
  ...kindClasses.map((Kind): [string, ErrorFactory] => [Kind.kind, (sentence, options) => new Kind(sentence, options)]),
  ['RecursionError', (sentence, options) => new RecursionError(sentence, withRecursionHint(sentence, options))],
  ['TypeError', (sentence, options) => new PackedFuncTypeError('TypeError', sentence, options)],
  ['IndexError', (sentence, options) => new PackedFuncRangeError('IndexError', sentence, options)],
  ['OverflowError', (sentence, options) => new PackedFuncRangeError('OverflowError', sentence, options)],
])

/** Native code reports a full stack without a hint, because JavaScript had no stack left to make the error. */
function withRecursionHint(sentence: string, options: PackedFuncErrorOptions): PackedFuncErrorOptions {
  return sentence.startsWith(NESTED) ? { hint: NESTED_HINT, ...options } : options
}

const kinds = new Map<abstract new (...values: never[]) => Error, string>()

/**
 * Maps a kind of error to a class of your own. `make` creates the JavaScript error for a native error of the kind, and thrown
 * objects of the class reach native code with the kind.
 *
 * @throws {ArgumentError} if the kind is not a valid name, or `make` is not a function.
 * @example
 * class NoSuchModel extends Error {}
 * registerErrorKind('NoSuchModel', NoSuchModel, (sentence) => new NoSuchModel(sentence))
 */
export function registerErrorKind(
  kind: string,
  constructor: abstract new (...values: never[]) => Error,
  make: ErrorFactory,
): void {
  checkName(kind, 'kind')
  if (typeof make !== 'function') throw wrongType('make', 'a function', make)
  factories.set(kind, make)
  kinds.set(constructor, kind)
}

export function makeError(kind: string, sentence: string, options: PackedFuncErrorOptions): Error {
  const make = factories.get(kind)
  return make === undefined ? new PackedFuncError(kind, sentence, options) : make(sentence, options)
}

export function kindOf(thrown: unknown): { kind: string; sentence: string } {
  if (!(thrown instanceof Error)) return { kind: 'RuntimeError', sentence: String(thrown) }
  const sentence = 'sentence' in thrown && typeof thrown.sentence === 'string' ? thrown.sentence : thrown.message
  const registered = kinds.get(thrown.constructor as new () => Error)
  if (registered !== undefined) return { kind: registered, sentence }
  if (thrown instanceof PackedFuncError) return { kind: thrown.kind, sentence }
  if (thrown instanceof TypeError) return { kind: 'TypeError', sentence }
  if (thrown instanceof RangeError || thrown instanceof SyntaxError) return { kind: 'ValueError', sentence }
  return { kind: thrown.name === 'Error' || thrown.name === '' ? 'RuntimeError' : thrown.name, sentence }
}
