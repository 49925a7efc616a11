import { isNativeError } from 'node:util/types'

/** The messages of V8 and of core for a stack that is full. */
const MESSAGES = new Set([
  'Maximum call stack size exceeded',
  'the stack of native code is full: calls and callbacks are nested too deeply',
])

/** Whether a value was thrown because a stack was full. Runs no code of the value. */
export function isStackOverflow(thrown: unknown): boolean {
  if (!isNativeError(thrown) || Object.getPrototypeOf(thrown) !== RangeError.prototype) return false
  return MESSAGES.has(Object.getOwnPropertyDescriptor(thrown, 'message')?.value as string)
}
