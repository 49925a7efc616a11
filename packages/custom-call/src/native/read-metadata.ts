import { ArgumentError } from '@tenon/core'
import { addressOf, lastError, statusName } from '@tenon/core/internal'
import { xlaError } from '../errors/xla-error-classes.ts'
import { NEWEST_MINOR, OLDEST_MINOR, VersionSkewError } from '../errors/version-skew-error.ts'
import { coreFunctions } from './core-functions.ts'
import { coreError } from './read-failure.ts'

/** What a typed handler tells about itself. */
export interface HandlerMetadata {
  /** The version of XLA FFI that it was built for: `0.3`. */
  readonly version: string
  readonly major: number
  readonly minor: number
  /** Whether its device work can be captured once and replayed. */
  readonly commandBufferCompatible: boolean
  /** The id of the type of its state; 0n if it has none, or was built for 0.1, which does not say. */
  readonly stateTypeId: bigint
}

const COMMAND_BUFFER_COMPATIBLE = 1

/**
 * Asks a handler for its metadata. The address must be a typed handler's: any other function may do anything.
 *
 * @throws {VersionSkewError} if its version is not spoken here and is not allowed.
 * @throws {ArgumentError} if it does not answer as handlers do. @throws {XlaError} if it answers with an error.
 */
export function readMetadata(address: number, target: string, allowNewerApi: boolean): HandlerMetadata {
  // 48 bytes are always written, whatever the version; the error code comes behind them.
  const out = new DataView(new ArrayBuffer(64))
  const at = addressOf(out)
  const status = Number(coreFunctions().metadata(address, at, at + 48))
  if (status !== 0) {
    if (statusName(status) !== 'KERNEL_FAILED') throw coreError(status, target)
    throw xlaError({ xlaCode: out.getInt32(48, true), text: lastError(), target, stage: 'execute' })
  }
  const major = out.getInt32(24, true)
  const minor = out.getInt32(28, true)
  if (major === 0 && minor === 0) {
    throw new ArgumentError(`${target} must be a typed XLA handler, it did not answer when asked for its metadata`, {
      hint: 'a function void f(void* out, const void** in) is called through hostFunction().',
    })
  }
  const isNewer = major > 0 || minor > NEWEST_MINOR
  if (major < 0 || minor < OLDEST_MINOR || (isNewer && !allowNewerApi)) throw new VersionSkewError(target, major, minor)
  return Object.freeze({
    version: `${major}.${minor}`,
    major,
    minor,
    commandBufferCompatible: (out.getUint32(32, true) & COMMAND_BUFFER_COMPATIBLE) !== 0,
    stateTypeId: minor >= 2 ? out.getBigInt64(40, true) : 0n,
  })
}
