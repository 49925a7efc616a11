import { checkName, wrongType } from '@tenon/core/internal'
import { kindClasses } from './kind-classes.ts'
import {
  PackedFuncError,
  PackedFuncRangeError,
  PackedFuncTypeError,
  type PackedFuncErrorOptions,
} from './packed-func-error.ts'

/** Makes the JavaScript error for one that native code raised. */
export type ErrorFactory = (sentence: string, options: PackedFuncErrorOptions) => Error

const factories = new Map<string, ErrorFactory>([
  ...kindClasses.map((Kind): [string, ErrorFactory] => [Kind.kind, (sentence, options) => new Kind(sentence, options)]),
  ['TypeError', (sentence, options) => new PackedFuncTypeError('TypeError', sentence, options)],
  ['IndexError', (sentence, options) => new PackedFuncRangeError('IndexError', sentence, options)],
  ['OverflowError', (sentence, options) => new PackedFuncRangeError('OverflowError', sentence, options)],
])

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

/** The JavaScript error of a kind. */
export function makeError(kind: string, sentence: string, options: PackedFuncErrorOptions): Error {
  const make = factories.get(kind)
  return make === undefined ? new PackedFuncError(kind, sentence, options) : make(sentence, options)
}

/** The kind and text with which a thrown value reaches native code. */
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
