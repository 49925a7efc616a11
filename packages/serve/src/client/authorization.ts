import { ArgumentError } from '@tenon/core/errors'

/** A token, or a function that returns the one that is valid now. */
export type Token = string | (() => string | Promise<string>)

/** The names of this machine in URLs. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/**
 * Makes the header `authorization` of each request.
 *
 * @param url the URL of the server. @param allowPlain whether the token may cross a network without encryption.
 * @returns undefined without a token. @throws {ArgumentError} if the token is not valid, or everybody on the way could read it.
 */
export function authorizationFor(
  token: unknown,
  url: string,
  allowPlain: unknown,
): (() => Promise<string>) | undefined {
  if (typeof allowPlain !== 'boolean') throw new ArgumentError('allowPlainTokens must be a boolean')
  if (token === undefined) return undefined
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !LOOPBACK.test(hostname) && !allowPlain) {
    throw new ArgumentError(`a token must not be sent to ${url} without encryption`, {
      hint: 'Use an https: URL, or allowPlainTokens if a mesh encrypts what is sent.',
    })
  }
  if (typeof token === 'function') return async () => headerOf(await (token as () => unknown)())
  const header = headerOf(token)
  return () => Promise.resolve(header)
}

/** @throws {ArgumentError} which does not have the token. */
function headerOf(token: unknown): string {
  // RFC 6750, section 2.1. Other characters could end the header.
  if (typeof token === 'string' && /^[\w.~+/-]+=*$/.test(token)) return `Bearer ${token}`
  throw new ArgumentError('token must be letters, digits and -._~+/ with = at its end, or a function that returns them')
}
