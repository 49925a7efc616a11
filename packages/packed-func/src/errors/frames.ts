import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { TEXT_SIZE } from '../native/stack.ts'

let isOn = false

/**
 * Says whether errors of this thread take the frames of their stack trace along into native code, where other threads and other
 * languages see them as the error's backtrace. They don't unless it is said: writing a stack trace out takes ten times as long as
 * everything else about an error that crosses.
 *
 * @throws {ArgumentError} if it is no boolean.
 * @example
 * traceErrors(true)
 */
export function traceErrors(on: boolean): void {
  if (typeof on !== 'boolean') throw new ArgumentError(`on must be a boolean, got ${describe(on)}`)
  isOn = on
}

/**
 * The frames of what was thrown, the most recent first, in the form that tvm-ffi has them; nothing unless {@link traceErrors} says
 * so.
 */
export function framesOf(thrown: unknown): string {
  if (!isOn || !(thrown instanceof Error) || thrown.stack === undefined) return ''
  const frames = [...thrown.stack.matchAll(/^ +at (?:(.+?) \()?(.+?):(\d+):\d+\)?$/gm)]
  const lines = frames.map(([, name, file, line]) => `  File "${file}", line ${line}, in ${name ?? '<anonymous>'}\n`)
  return lines.join('').slice(0, TEXT_SIZE)
}
