import { wrongType } from '@tenon/core/internal'
import { GlobalScope, ImplicitScope } from './gc-scopes.ts'
import { ManagedScope } from './managed-scope.ts'

/** Any scope of this package: it can own memory, libraries and stubs. */
export type ResourceScope = ManagedScope | ImplicitScope | GlobalScope

export function isScope(value: unknown): value is ResourceScope {
  return value instanceof ManagedScope || value instanceof ImplicitScope || value instanceof GlobalScope
}

/** @throws {ArgumentError} if the value is not a scope. @throws {ScopeClosedError} once closing has begun. */
export function checkScope(value: unknown, name = 'scope'): ResourceScope {
  const hint = 'Open a scope with ResourceScope.ofConfined(), or omit it for memory that the garbage collector frees.'
  if (!isScope(value)) throw wrongType(name, 'a ResourceScope', value, hint)
  value.checkOpen()
  return value
}
