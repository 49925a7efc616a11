import { addressOf, coreFunction, lastError, statusName, type CFunction, type CType } from '@tenon/core/internal'
import { PoolsError, type ErrorStatus } from '../error-status.ts'
import { sharesDescriptors } from './platform.ts'

/** Functions of the core by name, each declared once. */
const declared = new Map<string, CFunction>()

/** A function that the core has on every platform. */
export function core(name: string, parameters: readonly CType[], result: CType = 'int32_t'): CFunction {
  let found = declared.get(name)
  if (found === undefined) {
    found = coreFunction(name, result, parameters)
    declared.set(name, found)
  }
  return found
}

/**
 * A function for what processes share by descriptor.
 *
 * @throws {PoolsError} `GENERAL_FAILURE` on a platform that has nothing of the kind.
 */
export function sharing(name: string, parameters: readonly CType[], result: CType = 'int32_t'): CFunction {
  if (sharesDescriptors()) return core(name, parameters, result)
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
