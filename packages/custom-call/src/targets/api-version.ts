import { describe } from '@tenon/core/internal'
import { refused } from '../errors/xla-error-classes.ts'

/** The calling convention of a custom call, numbered as in compiled programs (`CustomCallApiVersion`). */
export type ApiVersion = (typeof ApiVersion)[keyof typeof ApiVersion]

/**
 * The calling conventions. ORIGINAL functions cannot report failures, and STATUS_RETURNING functions can.
 * STATUS_RETURNING_UNIFIED also passes the opaque bytes on the Host, as every convention does on devices. TYPED_FFI is the
 * convention of {@link TypedHandler}.
 *
 * @example
 * const library = NativeLibrary.open('./libkernels_runtime.so')
 * hostFunction(library, 'checked_add', { apiVersion: ApiVersion.STATUS_RETURNING })
 */
export const ApiVersion = { ORIGINAL: 1, STATUS_RETURNING: 2, STATUS_RETURNING_UNIFIED: 3, TYPED_FFI: 4 } as const
Object.freeze(ApiVersion)

/** A convention of untyped calls. */
export type UntypedApiVersion = Exclude<ApiVersion, typeof ApiVersion.TYPED_FFI>

export function apiVersionName(version: number): string {
  const found = Object.entries(ApiVersion).find(([, value]) => value === version)
  return `API_VERSION_${found?.[0] ?? (version === 0 ? 'UNSPECIFIED' : 'UNKNOWN')}`
}

/** Checks the version of an untyped call. @throws {InvalidArgumentError} if it is unknown, unspecified, or typed. */
export function checkUntypedVersion(version: unknown, target: string): UntypedApiVersion {
  if (version === ApiVersion.ORIGINAL || version === ApiVersion.STATUS_RETURNING) return version
  if (version === ApiVersion.STATUS_RETURNING_UNIFIED) return version
  const text =
    version === ApiVersion.TYPED_FFI
      ? 'a typed handler is not an untyped custom call: use typedHandler() or registerTyped()'
      : `Unknown custom-call API version enum value: ${typeof version === 'number' ? `${version} (${apiVersionName(version)})` : describe(version)}`
  throw refused('INVALID_ARGUMENT', target, text)
}
