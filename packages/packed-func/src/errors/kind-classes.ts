import { defineKind } from '@tenon/core/internal'
import { PackedFuncError, type PackedFuncErrorOptions } from './packed-func-error.ts'

/** The base of the classes for one kind each. */
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

/** A check in a kernel failed. */
export class AssertionError extends KindError {
  static override readonly kind: string = 'AssertionError'
}

/** A TypeScript function was called from a thread that cannot run it: see `packedFunc`. */
export class ThreadError extends KindError {
  static override readonly kind: string = 'ThreadError'
}

/** All classes for one kind each. */
export const kindClasses: readonly (typeof ValueError)[] = [
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
