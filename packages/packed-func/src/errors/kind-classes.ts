import { defineKind } from '@tenon/core/internal'
import { PackedFuncError, type PackedFuncErrorOptions } from './packed-func-error.ts'

/** A value has the right type and is not acceptable, such as a name that is not registered. */
export class ValueError extends PackedFuncError {
  static override readonly kind: string = 'ValueError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('ValueError', sentence, options)
  }
}
defineKind(ValueError, ['PackedFuncError'])

/** A map has no such key. */
export class KeyError extends PackedFuncError {
  static override readonly kind: string = 'KeyError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('KeyError', sentence, options)
  }
}
defineKind(KeyError, ['PackedFuncError'])

/** A module or object has nothing of that name. */
export class AttributeError extends PackedFuncError {
  static override readonly kind: string = 'AttributeError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('AttributeError', sentence, options)
  }
}
defineKind(AttributeError, ['PackedFuncError'])

/** Something failed that has no kind of its own; also a name that is registered already, and a missing loader. */
export class RuntimeError extends PackedFuncError {
  static override readonly kind: string = 'RuntimeError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('RuntimeError', sentence, options)
  }
}
defineKind(RuntimeError, ['PackedFuncError'])

/** Something failed inside a kernel, its compiler's runtime, or a C++ exception left it. */
export class InternalError extends PackedFuncError {
  static override readonly kind: string = 'InternalError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('InternalError', sentence, options)
  }
}
defineKind(InternalError, ['PackedFuncError'])

/** There is no memory, or a tensor is too large to be described. */
export class MemoryError extends PackedFuncError {
  static override readonly kind: string = 'MemoryError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('MemoryError', sentence, options)
  }
}
defineKind(MemoryError, ['PackedFuncError'])

/** Calls between JavaScript and native code are nested too deeply, or have too many arguments. */
export class RecursionError extends PackedFuncError {
  static override readonly kind: string = 'RecursionError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('RecursionError', sentence, options)
  }
}
defineKind(RecursionError, ['PackedFuncError'])

/** A check of a kernel failed. */
export class AssertionError extends PackedFuncError {
  static override readonly kind: string = 'AssertionError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('AssertionError', sentence, options)
  }
}
defineKind(AssertionError, ['PackedFuncError'])

/** A TypeScript function was called from a thread that can't run it: see `packedFunc`. */
export class ThreadError extends PackedFuncError {
  static override readonly kind: string = 'ThreadError'
  constructor(sentence: string, options?: PackedFuncErrorOptions) {
    super('ThreadError', sentence, options)
  }
}
defineKind(ThreadError, ['PackedFuncError'])
