import { addressOf, coreFunctions, lastError, statusName, type CoreFunctions } from '@tenon/core/internal'
import { PoolsError, type ErrorStatus } from '../error-status.ts'
import { sharesDescriptors } from './platform.ts'

/**
 * Returns the functions of the core, for those that work with descriptors that processes share.
 *
 * @throws {PoolsError} `GENERAL_FAILURE` on a platform without such descriptors.
 */
export function sharing(): CoreFunctions {
  if (sharesDescriptors()) return coreFunctions()
  throw new PoolsError(
    'GENERAL_FAILURE',
    `this needs descriptors that processes share, which ${process.platform} lacks`,
    {
      hint: 'use createPool, localDriver and workerDriver here; files, other processes and fences need Linux or macOS.',
    },
  )
}

/** What a status of the core becomes, with the core's own message. */
export function failure(status: ErrorStatus, what: string, code: number): PoolsError {
  return new PoolsError(status, `${what} failed: ${lastError()}`, { details: { native: statusName(code) } })
}

/** Checks a status of the core. @throws {PoolsError} */
export function check(code: number, what: string, status: ErrorStatus = 'GENERAL_FAILURE'): void {
  if (code !== 0) throw failure(status, what, code)
}

/** Room for what functions of the core write, at a fixed address. Used and read before anything else runs. */
const room = new ArrayBuffer(256)
export const out: { readonly i32: Int32Array; readonly u32: Uint32Array; readonly u64: BigUint64Array } = {
  i32: new Int32Array(room),
  u32: new Uint32Array(room),
  u64: new BigUint64Array(room),
}
let address = 0

/** The address of {@link out}. */
export function outAddress(): number {
  if (address === 0) address = addressOf(room)
  return address
}
