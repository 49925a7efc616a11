import { addressOf, checkStatus, coreFunctions, keepAlive, LAYOUTS } from '@tenon/core/internal'
import { isSupported, VersionSkewError, versionReason } from '../errors/version-skew-error.ts'
import { refused } from '../errors/xla-error-classes.ts'
import type { TenonError } from '@tenon/core'
import { canonicalPlatform } from './platform.ts'

/** A handler, or a function of an untyped convention, that a library registered itself. */
export interface RegisteredName {
  readonly name: string
  /** The platform: the canonical one of a typed handler, such as `host` or `cuda`, and that of the registration otherwise. */
  readonly platform: string
  /** Whether it is a handler of XLA FFI, or a function whose registration does not tell which untyped convention it has. */
  readonly convention: 'typed' | 'untyped'
}

/** A handler or function whose registration was refused. */
export interface RefusedName extends RegisteredName {
  /** The reason, such as `built for XLA FFI 0.5`. */
  readonly reason: string
  /** The version of XLA FFI that the handler was built for, or undefined if the handler did not report it. */
  readonly version: string | undefined
}

/** A registration of a handler, accepted or refused. */
interface Registration extends RegisteredName {
  readonly major: number
  readonly minor: number
  /** The text of the error that the library received; empty for an accepted registration. */
  readonly error: string
}

/**
 * Returns the names of the handlers and functions that libraries in this process registered themselves, in alphabetical order.
 * {@link registeredHandler} looks up a typed handler by its name, {@link registeredFunction} a function of an untyped convention, and
 * {@link refusedNames} lists the registrations that were refused.
 *
 * @example
 * NativeLibrary.open('./libkernels_runtime.so')
 * registeredNames().some(({ name }) => name === 'negate') // true
 */
export function registeredNames(): readonly RegisteredName[] {
  return registrations()
    .filter(({ error }) => error === '')
    .map(({ name, platform, convention }) => ({ name, platform, convention }))
}

/**
 * Returns the handlers and functions that libraries in this process tried to register themselves, and that were refused, in alphabetical
 * order. At most 4096 refused registrations are kept.
 *
 * @example
 * for (const { name, reason } of refusedNames()) console.error(`${name}: ${reason}`)
 */
export function refusedNames(): readonly RefusedName[] {
  return registrations()
    .filter(({ error }) => error !== '')
    .map(({ name, platform, convention, major, minor, error }) => ({
      name,
      platform,
      convention,
      reason: hasVersion(major, minor) && !isSupported(major, minor) ? versionReason(major, minor) : error,
      version: hasVersion(major, minor) ? `${major}.${minor}` : undefined,
    }))
}

/** The error of a handler or function whose registration was refused. Undefined if no such registration was refused. */
export function refusedRegistration(
  target: string,
  platform: string,
  convention: RegisteredName['convention'],
): TenonError | undefined {
  const known = convention === 'typed' ? canonicalPlatform(platform) : platform
  const found = registrations().find(
    (one) => one.error !== '' && one.name === target && one.convention === convention && one.platform === known,
  )
  if (found === undefined) return undefined
  const { major, minor, error } = found
  if (hasVersion(major, minor) && !isSupported(major, minor)) return new VersionSkewError(target, major, minor, true)
  return refused('NOT_FOUND', target, `${target} was refused when it registered itself: ${error}`)
}

/** The version of handlers that were not asked, or did not answer, is -1.-1. */
const hasVersion = (major: number, minor: number): boolean => major !== -1 || minor !== -1

/** A function of the core that finds what is registered under a name for a platform. */
type Find = (name: number, nameSize: number, platform: number, platformSize: number, out: number) => number

/** Asks the core what is registered under a name for a platform. @param out the memory of the answer. @returns the status */
export function findRegistered(find: Find, name: string, platform: string, out: ArrayBufferView): number {
  const [nameBytes, platformBytes] = [Buffer.from(name), Buffer.from(platform)]
  const [at, platformAt] = [addressOf(nameBytes), addressOf(platformBytes)]
  const status = find(at, nameBytes.length, platformAt, platformBytes.length, addressOf(out))
  keepAlive(nameBytes)
  keepAlive(platformBytes)
  return status
}

/** All registrations by name, and the newest first for each name. */
function registrations(): Registration[] {
  const length = new BigUint64Array(1)
  const list = (memory: ArrayBuffer): number => {
    const status = coreFunctions().tn_xla_list_handlers(addressOf(memory), memory.byteLength, addressOf(length))
    checkStatus(status, 'listing registered handlers')
    return Number(length[0])
  }
  let memory = new ArrayBuffer(4096)
  // Another thread may register a handler in between.
  for (let size = list(memory); size > memory.byteLength; size = list(memory)) memory = new ArrayBuffer(2 * size)
  return readRegistrations(Buffer.from(memory, 0, Number(length[0])))
}

const { size: HEAD_SIZE, offsets: HEAD } = LAYOUTS.tn_xla_registration_t

function readRegistrations(bytes: Buffer): Registration[] {
  const found: Registration[] = []
  for (let at = 0; at < bytes.length;) {
    const head = at
    at += HEAD_SIZE
    const text = (lengthOffset: number): string => {
      const start = at
      at += bytes.readUInt32LE(head + lengthOffset)
      return bytes.toString('utf8', start, at)
    }
    found.push({
      name: text(HEAD.name_length),
      platform: text(HEAD.platform_length),
      error: text(HEAD.reason_length),
      convention: bytes.readUInt32LE(head + HEAD.is_untyped) === 1 ? 'untyped' : 'typed',
      major: bytes.readInt32LE(head + HEAD.major),
      minor: bytes.readInt32LE(head + HEAD.minor),
    })
    at = Math.ceil(at / 8) * 8
  }
  return found.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}
