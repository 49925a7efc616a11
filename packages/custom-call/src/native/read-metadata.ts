import { ArgumentError, type TenonError } from '@tenon/core'
import { addressOf, CONSTANTS, LAYOUTS, readBinary } from '@tenon/core/internal'
import { describeVersion, isNewerMinor, isSupported, VersionSkewError } from '../errors/version-skew-error.ts'
import { xlaError } from '../errors/xla-error-classes.ts'
import { enterCore } from './enter-core.ts'
import { checkAnswer } from './read-failure.ts'

/** The metadata of a typed handler. */
export interface HandlerMetadata {
  /** The version of XLA FFI that the handler was built for, such as `0.4`. */
  readonly version: string
  readonly major: number
  readonly minor: number
  /** Whether its device work can be captured once and replayed. */
  readonly commandBufferCompatible: boolean
  /** The type id of the handler's state, or 0n if it has no state or was built for 0.1, which does not have this field. */
  readonly stateTypeId: bigint
}

/**
 * Calls the function at `address`, which must be a typed handler.
 *
 * @param path the file of its library, if it is known.
 * @throws {VersionSkewError | ArgumentError | XlaError}
 */
export function readMetadata(address: number, target: string, allowNewerApi: boolean, path?: string): HandlerMetadata {
  // The core writes the whole struct for every version, and the error code behind it.
  const { size, offsets } = LAYOUTS.tn_xla_metadata_t
  const out = new DataView(new ArrayBuffer(size + 8))
  const at = addressOf(out)
  const status = enterCore('tn_xla_metadata', address, at, at + size)
  const { struct_size, major_version, minor_version } = LAYOUTS.tn_xla_api_version_t.offsets
  const isAnswered = out.getUint32(offsets.api_version + struct_size, true) !== 0
  const xlaCode = status === 0 ? OK : out.getInt32(size, true)
  if (!isAnswered && isOldest(xlaCode, path)) throw new VersionSkewError(target, 0, 0)
  checkAnswer(status, xlaCode, target)
  if (!isAnswered) throw noHandler(target, path)
  const major = out.getInt32(offsets.api_version + major_version, true)
  const minor = out.getInt32(offsets.api_version + minor_version, true)
  const isAccepted = isSupported(major, minor) || (allowNewerApi && isNewerMinor(major, minor))
  if (!isAccepted) throw new VersionSkewError(target, major, minor)
  const traits = out.getUint32(offsets.traits, true)
  return Object.freeze({
    version: `${major}.${minor}`,
    major,
    minor,
    commandBufferCompatible: isCommandBufferCompatible(traits),
    stateTypeId: minor >= 2 ? out.getBigInt64(offsets.state_type_id, true) : 0n,
  })
}

const OK = 0
const INVALID_ARGUMENT = 3

/**
 * Whether a function that did not answer is a handler of XLA FFI 0.0, whose headers ignore the question and decode a call without
 * operands. Other functions of C do not return an error of this runtime.
 */
const isOldest = (xlaCode: number, path: string | undefined): boolean =>
  xlaCode === INVALID_ARGUMENT && path !== undefined && isMadeWithXlaHeader(path)

function noHandler(target: string, path: string | undefined): ArgumentError {
  const call = 'Call a function void f(void* out, const void** in) through hostFunction().'
  const build = ` If it is a handler of XLA FFI ${describeVersion('0.0')}, build it against newer headers.`
  return new ArgumentError(`${target} must be a typed XLA handler, it did not answer when asked for its metadata`, {
    hint: path !== undefined && isMadeWithXlaHeader(path) ? call + build : call,
  })
}

/** What another process reports about a handler whose version it refuses. */
export interface RefusedHandler {
  readonly target: string
  /** The file of the library. */
  readonly path: string
  /** The version as `major << 16 | minor`; -1 if the handler did not answer the question. */
  readonly version: number
  /** The code and the text of the error that the handler returned instead of an answer; 0 if it returned none. */
  readonly xlaCode: number
  readonly text: string
}

/** Makes the error of a handler that another process refused, as {@link readMetadata} throws it. */
export function refusedHandler({ target, path, version, xlaCode, text }: RefusedHandler): TenonError {
  if (version !== -1) return new VersionSkewError(target, version >> 16, version & 0xffff)
  if (isOldest(xlaCode, path)) return new VersionSkewError(target, 0, 0)
  return xlaCode === OK ? noHandler(target, path) : xlaError({ xlaCode, text, target, stage: 'execute' })
}

/** Whether the traits of a handler say that its device work can be captured once and replayed. */
export const isCommandBufferCompatible = (traits: number): boolean =>
  (traits & CONSTANTS.TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE) !== 0

/** Whether a library exports instances of the templates of XLA's header. */
function isMadeWithXlaHeader(path: string): boolean {
  try {
    return readBinary(path).exports.some(({ name }) => /^_ZNK?3xla3ffi/.test(name))
  } catch {
    return false // The file has changed since it was loaded, or was found by its name. The answer only improves an error.
  }
}
