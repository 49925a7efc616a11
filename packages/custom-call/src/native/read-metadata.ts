import { ArgumentError } from '@tenon/core'
import { addressOf, CONSTANTS, LAYOUTS } from '@tenon/core/internal'
import { NEWEST_MINOR, OLDEST_MINOR, VersionSkewError } from '../errors/version-skew-error.ts'
import { enterCore } from './enter-core.ts'
import { checkAnswer } from './read-failure.ts'

/** The metadata of a typed handler. */
export interface HandlerMetadata {
  /** The version of XLA FFI that the handler was built for, such as `0.3`. */
  readonly version: string
  readonly major: number
  readonly minor: number
  /** Whether its device work can be captured once and replayed. */
  readonly commandBufferCompatible: boolean
  /** The type id of the handler's state, or 0n if it has no state or was built for 0.1, which does not have this field. */
  readonly stateTypeId: bigint
}

/** Calls the function at `address`, which must be a typed handler. @throws {VersionSkewError | ArgumentError | XlaError} */
export function readMetadata(address: number, target: string, allowNewerApi: boolean): HandlerMetadata {
  // The core writes the whole struct for every version, and the error code behind it.
  const { size, offsets } = LAYOUTS.tn_xla_metadata_t
  const out = new DataView(new ArrayBuffer(size + 8))
  const at = addressOf(out)
  const status = enterCore('tn_xla_metadata', address, at, at + size)
  checkAnswer(status, out.getInt32(size, true), target)
  const { struct_size, major_version, minor_version } = LAYOUTS.tn_xla_api_version_t.offsets
  const major = out.getInt32(offsets.api_version + major_version, true)
  const minor = out.getInt32(offsets.api_version + minor_version, true)
  if (out.getUint32(offsets.api_version + struct_size, true) === 0) {
    throw new ArgumentError(`${target} must be a typed XLA handler, it did not answer when asked for its metadata`, {
      hint: 'Call a function void f(void* out, const void** in) through hostFunction().',
    })
  }
  const isNewer = major > 0 || minor > NEWEST_MINOR
  const isOlder = major < 0 || (major === 0 && minor < OLDEST_MINOR)
  if (isOlder || (isNewer && !allowNewerApi)) throw new VersionSkewError(target, major, minor)
  return Object.freeze({
    version: `${major}.${minor}`,
    major,
    minor,
    commandBufferCompatible:
      (out.getUint32(offsets.traits, true) & CONSTANTS.TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE) !== 0,
    stateTypeId: minor >= 2 ? out.getBigInt64(offsets.state_type_id, true) : 0n,
  })
}
