import { defineKind, TenonError, type TenonErrorOptions } from '@tenon/binary'

import type { Diagnostic } from './diagnostics.ts'

/** What a {@link CompileError} knows of the compiler. */
export interface CompileFailure extends TenonErrorOptions {
  readonly diagnostics?: readonly Diagnostic[]
  readonly command?: readonly string[]
  readonly output?: string
}

/**
 * A source could not be compiled: it has errors, the compiler is missing or did not end in time, or the cache cannot be used. The message
 * has the first error with its line of the source.
 *
 * @example
 * try {
 *   await compile('int f(void) { return nope; }')
 * } catch (error) {
 *   if (error instanceof CompileError) error.diagnostics[0]?.line // 1
 * }
 */
export class CompileError extends TenonError {
  static override readonly kind: string = 'CompileError'
  declare readonly code: 'TENON_COMPILE'
  /** The messages of the compiler, with those about other files. Empty if no compiler ran. */
  readonly diagnostics: readonly Diagnostic[]
  /** The program that failed and its arguments. Empty if no program ran. */
  readonly command: readonly string[]
  /** Everything that the program printed. */
  readonly output: string

  constructor(sentence: string, { diagnostics = [], command = [], output = '', ...options }: CompileFailure = {}) {
    super('TENON_COMPILE', sentence, options)
    this.diagnostics = diagnostics
    this.command = command
    this.output = output
  }
}
defineKind(CompileError)
