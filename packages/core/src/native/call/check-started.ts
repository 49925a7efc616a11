import { ArgumentError, ScopeClosedError } from '../../errors/kinds.ts'
import { STATUS } from '../../generated/status.ts'
import { checkStatus, lastError } from '../core-library.ts'

/**
 * Checks the status of a function that adds a job to the threads of the core. `what` names the action.
 *
 * @throws {ArgumentError} if the value of TENON_THREADS is not valid. @throws {ScopeClosedError} if this thread is ending.
 * @throws {NativeError} for other failures.
 */
export function checkStarted(status: number, what: string): void {
  if (status === STATUS.CLOSED.value) throw new ScopeClosedError(`${what} failed: this thread is shutting down`)
  if (status !== STATUS.INVALID_ARGUMENT.value) return checkStatus(status, what)
  throw new ArgumentError(lastError(), {
    hint: 'Set TENON_THREADS to the number of threads for asynchronous calls, or remove the variable.',
    details: { variable: 'TENON_THREADS', value: process.env['TENON_THREADS'] },
  })
}
