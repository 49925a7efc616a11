import { TenonError } from '@tenon/core'
import { CONSTANTS, defineKind } from '@tenon/core/internal'

/** The oldest and the newest minor version of XLA FFI 0.x that this package supports. */
const OLDEST_MINOR = 1
export const NEWEST_MINOR: number = CONSTANTS.TN_XLA_NEWEST_MINOR

/** Remarks on versions that are not supported. */
const REMARKS: Readonly<Record<string, string>> = {
  '0.0': ' (jaxlib of summer 2024)',
  '1.0': ', a version that XLA withdrew after three days',
}

/** The version with a remark, such as `1.0, a version that XLA withdrew after three days`. */
export const describeVersion = (version: string): string => `${version}${REMARKS[version] ?? ''}`

/** Whether a version is a later one of 0.x, whose handlers `allowNewerApi` accepts. */
export const isNewerMinor = (major: number, minor: number): boolean => major === 0 && minor > NEWEST_MINOR

/** Whether this package supports a version. */
export const isSupported = (major: number, minor: number): boolean =>
  major === 0 && minor >= OLDEST_MINOR && minor <= NEWEST_MINOR

/** The reason why a registration was refused, if the version of the handler is not supported. */
export const versionReason = (major: number, minor: number): string =>
  `built for XLA FFI ${describeVersion(`${major}.${minor}`)}`

/** A handler was built for a version of XLA FFI that this package does not support. */
export class VersionSkewError extends TenonError {
  static override readonly kind: string = 'VersionSkewError'
  readonly target: string
  /** The version of the handler, such as `0.5`. */
  readonly handlerVersion: string

  /** @param wasRegistered whether a library registered the handler itself, and the registration was refused. */
  constructor(target: string, major: number, minor: number, wasRegistered: boolean = false) {
    const received = `${major}.${minor}`
    const expected = `0.${OLDEST_MINOR} to 0.${NEWEST_MINOR}`
    const sentence = wasRegistered
      ? `${target} was refused when it registered itself: ${versionReason(major, minor)}`
      : `${target} must be built for XLA FFI ${expected}, got ${describeVersion(received)}`
    super('TENON_VERSION_SKEW', sentence, {
      hint: hintFor(major, minor),
      details: { target, expected, received },
    })
    this.target = target
    this.handlerVersion = received
  }
}
defineKind(VersionSkewError)

function hintFor(major: number, minor: number): string {
  if (isNewerMinor(major, minor)) {
    return 'Build it against older headers, or pass allowNewerApi: true. Functions that this runtime lacks then return UNIMPLEMENTED.'
  }
  // XLA withdrew 1.0, so newer headers have a lower version.
  return major > 1 ? 'Build it against older headers.' : 'Build it against newer headers.'
}
