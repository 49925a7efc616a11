import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { GlobalScope, ImplicitScope } from './gc-scopes.ts'
import { ManagedScope } from './managed-scope.ts'

/** A scope of this package: one that can own memory. */
export type AnyScope = ManagedScope | ImplicitScope | GlobalScope

export function isScope(value: unknown): value is AnyScope {
  return value instanceof ManagedScope || value instanceof ImplicitScope || value instanceof GlobalScope
}

/** @throws {ArgumentError} if it is no scope. @throws {ScopeClosedError} once its closing has begun. */
export function checkScope(value: unknown, name = 'scope'): AnyScope {
  if (!isScope(value)) {
    throw new ArgumentError(`${name} must be a ResourceScope, got ${describe(value)}`, {
      hint: 'open one with ResourceScope.ofConfined(), or leave it out for memory that the garbage collector frees.',
    })
  }
  if (value instanceof ManagedScope) value.checkOpen()
  return value
}
