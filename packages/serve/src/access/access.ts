import type { Socket } from 'node:net'
import { InvalidRequestError } from '../errors.ts'
import { NOBODY, type Caller, type Need } from './caller.ts'

/** The credentials of the sender of a request. */
export interface Credentials {
  /** The values of the header `authorization`. */
  readonly authorization: readonly string[]
  /** The connection, which can have the certificate of the client. */
  readonly socket: Socket | undefined
}

/** The control of access to a server. */
export interface Access {
  /**
   * Finds the sender of a request, before anything else of the request is read.
   *
   * @returns a promise if the keys of its token have to be fetched, or its signature has to be verified.
   * @throws (or rejects with) {UnauthenticatedError} if the request has no credentials that the server accepts.
   */
  identify(credentials: Credentials): Caller | Promise<Caller>
}

/**
 * Finds the sender of a request. On a server with access control, every request of both transports passes here, before its body is read. The
 * transport then checks what the caller may do, with {@link Caller.check}.
 *
 * @throws (or rejects with) {UnauthenticatedError}
 */
export function identify(access: Access, need: Need, credentials: Credentials): Caller | Promise<Caller> {
  return need === 'nothing' && credentials.authorization.length === 0 ? NOBODY : access.identify(credentials)
}

/** The values of the header `authorization`, which Node.js would reduce to the first one. */
export function authorizationOf(rawHeaders: readonly string[]): string[] {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization')
      values.push(rawHeaders[i + 1]!)
  return values
}

/** Parameters of a query that programs use for tokens. */
const TOKEN_PARAMETER = /[?&](?:access_token|api_key|apikey|authorization|bearer|jwt|token)=/i

/** URLs are in the logs of proxies, and in the histories of browsers. @throws {InvalidRequestError} if a URL has a token. */
export function refuseTokenInUrl(url: string | undefined): void {
  if (url === undefined || !TOKEN_PARAMETER.test(url)) return
  throw new InvalidRequestError('a token must not be in the URL', {
    hint: 'Send it in the header Authorization, and make a new one, because this one may be in logs.',
  })
}
