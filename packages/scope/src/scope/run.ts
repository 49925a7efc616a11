import { ArgumentError } from '@tenon/core'
import { describe, type ManagedLifetime } from '@tenon/core/internal'

/** Runs `use` and closes the scope, whatever happens. */
export function runIn<Scope extends ManagedLifetime, Result>(scope: Scope, use: (scope: Scope) => Result): Result {
  checkUse(use)
  let result: Result
  try {
    result = use(scope)
    if (isThenable(result)) {
      throw new ArgumentError(`the function given to run() must return a plain value, got a promise`, {
        hint: 'use runAsync(), which closes the scope when the promise has settled.',
      })
    }
  } catch (error) {
    throw closeAfter(scope, error)
  }
  scope[Symbol.dispose]()
  return result
}

/** Runs an asynchronous `use` and closes the scope when it has settled. */
export async function runInAsync<Scope extends ManagedLifetime, Result>(
  scope: Scope,
  use: (scope: Scope) => PromiseLike<Result>,
): Promise<Result> {
  checkUse(use)
  let result: Result
  try {
    result = await use(scope)
  } catch (error) {
    throw closeAfter(scope, error)
  }
  scope[Symbol.dispose]()
  return result
}

/** Closes the scope after `error`; returns what to throw. */
function closeAfter(scope: ManagedLifetime, error: unknown): unknown {
  try {
    scope[Symbol.dispose]()
    return error
  } catch (closeError) {
    return new AggregateError([error, closeError], 'the function threw, and closing its scope threw as well')
  }
}

/** @throws {ArgumentError} if it is no function. */
export function checkUse(use: unknown): void {
  if (typeof use !== 'function') throw new ArgumentError(`use must be a function, got ${describe(use)}`)
}

/** Whether it is a promise, or looks like one. */
export function isThenable(value: unknown): boolean {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return isObject && typeof (value as { then?: unknown }).then === 'function'
}
