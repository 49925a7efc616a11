import { addressOf, coreFunctions, describe } from '@tenon/core/internal'
import { keepThrown } from '../errors/thrown.ts'
import { XlaError } from '../errors/xla-error.ts'
import { refused } from '../errors/xla-error-classes.ts'

const UNKNOWN = 2

/** Refuses the return value of a function if it is a promise. @throws {UnimplementedError} */
export function refusePromise(name: string, returned: unknown): void {
  if (!isThenable(returned)) return
  returned.then(undefined, () => {})
  const text = `the TypeScript function ${name} returned a promise: it must be done when it returns`
  throw refused('UNIMPLEMENTED', name, text)
}

/** Reports a thrown value to native code, with the code of an {@link XlaError}, otherwise with UNKNOWN. */
export function fail(call: number, error: unknown): void {
  const isXla = error instanceof XlaError && error.xlaCode !== 0
  const words = isXla ? String(error.details['text']) : error instanceof Error ? error.message : describe(error)
  const text = words.replaceAll('\0', '\u{fffd}')
  const bytes = Buffer.from(`${text}\0`)
  coreFunctions().tn_xla_function_fail(call, isXla ? error.xlaCode : UNKNOWN, addressOf(bytes))
  keepThrown(bytes.toString('utf8', 0, bytes.length - 1), error)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function'
}
