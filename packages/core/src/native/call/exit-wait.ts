import { LoadError } from '../../errors/kinds.ts'

const DEFAULT = 5000

/** Longer than any process runs, in milliseconds. */
const FOREVER = Number.MAX_SAFE_INTEGER

/** Returns how long an exit waits for native calls that run, in milliseconds. @throws {LoadError} if it is not valid. */
export function exitWait(): number {
  const text = process.env['TENON_EXIT_WAIT']
  if (text === undefined || text === '') return DEFAULT
  if (text === 'inf') return FOREVER
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
  throw new LoadError(`TENON_EXIT_WAIT must be a number of milliseconds or "inf", got ${JSON.stringify(text)}`, {
    hint: `Remove the variable to wait at most ${DEFAULT} ms.`,
    details: { variable: 'TENON_EXIT_WAIT', value: text },
  })
}
