import { ArgumentError } from '@tenon/core'
import type { ManagedLifetime } from '@tenon/core/internal'

export function closeAfter(scope: ManagedLifetime, error: unknown): unknown {
  try {
    scope[Symbol.dispose]()
    return error
  } catch (closeError) {
    return new AggregateError([error, closeError], 'the function threw, and closing its scope threw as well')
  }
}

/** A promise would outlive the call of `method`. The hint names `instead`, the method for promises. */
export function checkPlain(result: unknown, method: string, instead: string): void {
  const isObject = (typeof result === 'object' && result !== null) || typeof result === 'function'
  if (!isObject || typeof (result as { then?: unknown }).then !== 'function') return
  throw new ArgumentError(`the function passed to ${method}() must return a plain value, got a promise`, {
    hint: `Use ${instead}.`,
    details: { expected: 'a plain value', received: 'a promise' },
  })
}

/** Runs a step of closing and collects its error, so that the other steps still run. */
export function attempt(run: () => void, errors: unknown[]): void {
  try {
    run()
  } catch (error) {
    errors.push(error)
  }
}

/** @throws the collected error, or an `AggregateError` if there are several. */
export function throwErrors(errors: readonly unknown[], message: string): void {
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, message)
}
