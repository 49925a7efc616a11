import { ArgumentError, KernelDeadlineError } from '@tenon/core/errors'
import { describeValue } from '../protocol/wrong-field.ts'
import type { InferOptions } from './call-options.ts'

/** @throws {ArgumentError} */
export function checkDeadline(deadline: unknown): void {
  if (typeof deadline === 'number' && deadline > 0) return
  throw new ArgumentError(`deadline must be a number of milliseconds above 0, got ${describeValue(deadline)}`)
}

/** The URL of a server without a slash at its end. @throws {ArgumentError} */
export function readUrl(url: string | URL): string {
  const parsed = URL.parse(String(url))
  if (parsed !== null && (parsed.username !== '' || parsed.password !== '')) {
    throw new ArgumentError('url must not have a name or a password', { hint: 'Use the option token.' })
  }
  if (parsed !== null && ['http:', 'https:'].includes(parsed.protocol)) {
    const path = parsed.pathname.replace(/\/+$/, '')
    if (!path.endsWith('/v2')) return `${parsed.origin}${path}`
  }
  throw new ArgumentError(
    `url must be that of a server without /v2, such as http://127.0.0.1:8000, got ${describeValue(String(url))}`,
  )
}

/** A request of a sequence that is sent again could run twice. */
export const retriesOf = ({ sequence }: InferOptions): { readonly retries?: 0 } =>
  sequence === undefined ? {} : { retries: 0 }

/** The error of a server that does not answer in time. */
export const lateError = (deadline: number): KernelDeadlineError =>
  new KernelDeadlineError(`the server did not answer within ${deadline} ms`, { details: { deadline } })
