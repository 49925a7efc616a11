import { TenonError } from '@tenon/core'
import { CONSTANTS, defineKind } from '@tenon/core/internal'

/** The oldest and the newest minor version of XLA FFI 0.x that this package supports. */
export const OLDEST_MINOR = 1
export const NEWEST_MINOR: number = CONSTANTS.TN_XLA_NEWEST_MINOR

/** The releases of jaxlib that introduced a version, which a library was probably built against. */
const ORIGINS: Readonly<Record<string, string>> = {
  '0.0': 'jaxlib of spring 2024',
  '0.4': 'jaxlib 0.11.1',
}

/** A handler was built for a version of XLA FFI that this package does not support. */
export class VersionSkewError extends TenonError {
  static override readonly kind: string = 'VersionSkewError'
  readonly target: string
  /** The version of the handler, such as `0.4`. */
  readonly handlerVersion: string

  constructor(target: string, major: number, minor: number) {
    const received = `${major}.${minor}`
    const origin = ORIGINS[received]
    const isNewer = major > 0 || (major === 0 && minor > NEWEST_MINOR)
    const expected = `0.${OLDEST_MINOR} to 0.${NEWEST_MINOR}`
    super(
      'TENON_VERSION_SKEW',
      `${target} must be built for XLA FFI ${expected}, got ${received}${origin === undefined ? '' : ` (${origin})`}`,
      {
        hint: isNewer
          ? 'Build it against older headers, or pass allowNewerApi: true. Functions that this runtime lacks then answer UNIMPLEMENTED.'
          : 'Build it against newer headers.',
        details: { target, expected, received },
      },
    )
    this.target = target
    this.handlerVersion = received
  }
}
defineKind(VersionSkewError)
