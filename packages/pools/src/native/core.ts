import { addressOf, coreFunctions, lastError, statusName, type CoreFunctions } from '@tenon/core/internal'
import { PoolsError, type ErrorStatus } from '../error-status.ts'
import { platform } from './platform.ts'
import { ownThreadMemory } from './thread-memory.ts'

/**
 * Returns the core's functions. What they open on a worker thread is closed at its end.
 *
 * @throws {PoolsError} on a platform whose processes cannot share descriptors
 */
export function sharing(): CoreFunctions {
  if (platform.sharesDescriptors()) {
    ownThreadMemory()
    return coreFunctions()
  }
  const sentence = `this needs descriptors that processes share, which ${process.platform} does not have`
  throw new PoolsError('GENERAL_FAILURE', sentence, {
    hint: 'Use createPool, localDriver and workerDriver. Files, other processes and fences need Linux or macOS.',
  })
}

export function failure(status: ErrorStatus, what: string, code: number): PoolsError {
  return new PoolsError(status, `${what} failed: ${lastError()}`, { details: { native: statusName(code) } })
}

export function check(code: number, what: string, status: ErrorStatus = 'GENERAL_FAILURE'): void {
  if (code !== 0) throw failure(status, what, code)
}

/** Memory at a fixed address for the results of core functions. The caller reads them before any other call. */
const room = new ArrayBuffer(256)
export const out: { readonly i32: Int32Array; readonly u32: Uint32Array; readonly u64: BigUint64Array } = {
  i32: new Int32Array(room),
  u32: new Uint32Array(room),
  u64: new BigUint64Array(room),
}
let address = 0

export function outAddress(): number {
  if (address === 0) address = addressOf(room)
  return address
}

/** Converts milliseconds for the core, where a negative number means for ever. */
export function nanoseconds(milliseconds: number): number {
  return milliseconds < 0 ? -1 : Math.min(Math.ceil(milliseconds * 1e6), Number.MAX_SAFE_INTEGER)
}
