import { TenonError } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** The status of a C function, and the library's text about it. */
export interface StatusFailure {
  /** The name of the function. */
  readonly name: string
  /** The status. Undefined if the function returned an object without a number. */
  readonly status: number | bigint | undefined
  /** The library's own text. */
  readonly text: string | null | undefined
}

/** A C function returned a status that the annotations of its module do not count as success. */
export class StatusError extends TenonError {
  static override readonly kind: string = 'StatusError'
  /** The status that the function returned, such as `SQLITE_BUSY`. Undefined if the library does not express it as a number. */
  readonly status: number | bigint | undefined

  constructor({ name, status, text }: StatusFailure) {
    const returned = status === undefined ? `${name} failed` : `${name} returned ${status}`
    super('TENON_STATUS', text ? `${returned}: ${text}` : returned, {
      details: { name, status, text: text ?? undefined },
    })
    this.status = status
  }
}
defineKind(StatusError)
