import { defineKind, SimpleError, type TenonErrorOptions } from '@tenon/core/internal'

/**
 * A file with tensors is damaged, or has what Tenon does not read. `details.byteOffset` is the place in the file where that was found, and
 * `details.path` the file.
 */
export class WeightsFormatError extends SimpleError {
  static override readonly kind: string = 'WeightsFormatError'
}
defineKind(WeightsFormatError)

/** Returns the error for something wrong at a byte of a file. @param path undefined for bytes in memory */
export function damaged(
  { path, format }: { readonly path: string | undefined; readonly format: string },
  byteOffset: number,
  reason: string,
  options: Pick<TenonErrorOptions, 'hint' | 'cause'> = {},
): WeightsFormatError {
  return new WeightsFormatError(`cannot read ${path ?? 'the bytes'} as ${format}: at byte ${byteOffset}, ${reason}`, {
    ...options,
    details: { path, byteOffset, reason },
  })
}
