import { TenonError } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** The oldest and the newest minor version of XLA FFI 0.x that this package speaks. */
export const OLDEST_MINOR = 1
export const NEWEST_MINOR = 3

/** Which releases of jaxlib brought which version: what a library was probably built against. */
const ORIGINS: Readonly<Record<string, string>> = {
  '0.0': 'jaxlib of spring 2024',
  '0.4': 'jaxlib 0.11.1',
}

/** A handler was built for a version of XLA FFI that this package does not speak. */
export class VersionSkewError extends TenonError {
  static override readonly kind: string = 'VersionSkewError'
  readonly target: string
  /** The version of the handler: `0.4`. */
  readonly handlerVersion: string

  constructor(target: string, major: number, minor: number) {
    const handlerVersion = `${major}.${minor}`
    const origin = ORIGINS[handlerVersion]
    const newer = major > 0 || minor > NEWEST_MINOR
    super(
      'TENON_VERSION_SKEW',
      `${target} must be built for XLA FFI 0.${OLDEST_MINOR} to 0.${NEWEST_MINOR}, it is built for ${handlerVersion}` +
        (origin === undefined ? '' : ` (${origin})`),
      {
        hint: newer
          ? 'build it against older headers, or allow it with allowNewerApi: true; functions that this runtime lacks then answer UNIMPLEMENTED.'
          : 'build it against newer headers.',
        details: { target, handlerVersion, oldest: `0.${OLDEST_MINOR}`, newest: `0.${NEWEST_MINOR}` },
      },
    )
    this.target = target
    this.handlerVersion = handlerVersion
  }
}
defineKind(VersionSkewError)
