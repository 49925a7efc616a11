import type { FailureKind } from '../service/describe-failure.ts'

/** The status of a failure in HTTP. */
export const STATUS_OF: Readonly<Record<FailureKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  denied: 403,
  exists: 400,
  unsupported: 501,
  'not-found': 404,
  'too-large': 413,
  unavailable: 503,
  deadline: 504,
  failed: 500,
}

/** An error of HTTP itself: a path, a verb or an encoding that the server does not have. */
export class HttpError extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}
