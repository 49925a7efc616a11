import { addressOf, coreFunctions, describe } from '@tenon/core/internal'
import { XlaError } from '../errors/xla-error.ts'
import { UnimplementedError } from '../errors/xla-error-classes.ts'
import type { LentMemory } from './lent-memory.ts'
import { keepThrown } from './thrown.ts'

const UNKNOWN = 2

/** Refuses what a function returned if it is a promise. @throws {UnimplementedError} */
export function refusePromise(name: string, returned: unknown): void {
  if (!isThenable(returned)) return
  returned.then(undefined, () => {})
  throw new UnimplementedError({
    xlaCode: 12,
    text: `the TypeScript function ${name} returned a promise: it must be done when it returns`,
    target: name,
    stage: 'execute',
    refused: true,
  })
}

/** Tells native code what was thrown: the code of an {@link XlaError}, otherwise UNKNOWN. */
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

/** Ends lent memory after a failure, which has been told already. */
export function endAnyway(lent: LentMemory): void {
  try {
    lent.close()
  } catch {
    // Something the function started still holds it, or a close action threw: the call has failed already.
  }
}
