import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/** The error for an argument of the wrong type: "X must be Y, got Z". */
export function argumentError(name: string, expected: string, received: unknown): ArgumentError {
  return new ArgumentError(`${name} must be ${expected}, got ${describe(received)}`, {
    details: { name, expected, received: describe(received) },
  })
}

/** The error for an argument outside its range: "X must be Y, got Z". */
export function rangeError(name: string, expected: string, received: unknown, hint?: string): ArgumentRangeError {
  return new ArgumentRangeError(`${name} must be ${expected}, got ${describe(received)}`, {
    ...(hint === undefined ? {} : { hint }),
    details: { name, expected, received: describe(received) },
  })
}

/** Checks that an argument is a function. @throws {ArgumentError} if it is not. */
export function checkFunction(value: unknown, name: string): void {
  if (typeof value !== 'function') throw argumentError(name, 'a function', value)
}
