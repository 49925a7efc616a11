import { defineKind, SimpleError } from '@tenon/core/internal'

/** The file with signatures beside a library is damaged, or belongs to another library. The message names the file. */
export class SidecarError extends SimpleError {
  static override readonly kind: string = 'SidecarError'
}
defineKind(SidecarError)
