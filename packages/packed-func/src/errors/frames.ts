import { wrongType } from '@tenon/core/internal'
import { TEXT_SIZE } from '../native/stack.ts'

let isOn = false

/**
 * Makes errors that this thread throws into native code carry the frames of their stack trace, which other threads and other
 * languages see as the error's backtrace. It is off by default, because formatting a stack trace takes ten times as long as the
 * rest of the crossing.
 *
 * @throws {ArgumentError} if `on` is not a boolean.
 * @example
 * traceErrors(true)
 */
export function traceErrors(on: boolean): void {
  if (typeof on !== 'boolean') throw wrongType('on', 'a boolean', on)
  isOn = on
}

/** The frames of a thrown error in the form of tvm-ffi, the most recent first. Empty unless {@link traceErrors} is on. */
export function framesOf(thrown: unknown): string {
  if (!isOn || !(thrown instanceof Error) || thrown.stack === undefined) return ''
  const frames = [...thrown.stack.matchAll(/^ +at (?:(.+?) \()?(.+?):(\d+):\d+\)?$/gm)]
  const lines = frames.map(([, name, file, line]) => `  File "${file}", line ${line}, in ${name ?? '<anonymous>'}\n`)
  return lines.join('').slice(0, TEXT_SIZE)
}
