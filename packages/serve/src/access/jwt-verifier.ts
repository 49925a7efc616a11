import { ArgumentError } from '@tenon/core'
import { readFileSync } from 'node:fs'
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from 'jose'
import { isLoopback } from '../http/listen-address.ts'
import { ModelUnavailableError } from '../errors.ts'
import type { JwtOptions } from './access-file.ts'

/** The holder of a token that was verified. */
export interface JwtHolder {
  readonly subject: string
  /** In milliseconds since 1970. */
  readonly expires: number
}

/** Verifies the tokens of one issuer (RFC 7519). */
export interface JwtVerifier {
  /** @throws (rejects with) why the token is not valid, or {ModelUnavailableError} if the keys cannot be fetched. */
  verify(token: string): Promise<JwtHolder>
}

/** The default of `clockTolerance` in seconds. */
const TOLERANCE = 5

/** The codes of errors that are not the token's. */
const OF_KEYS: ReadonlySet<string> = new Set([
  'ERR_JOSE_GENERIC',
  'ERR_JWKS_INVALID',
  'ERR_JWKS_TIMEOUT',
  'ERR_JWK_INVALID',
])

/** @param keys the URL of the keys, or the path of their file. @throws (rejects with) {ArgumentError} if the keys are not valid. */
export async function openJwtVerifier(
  { issuer, audience, algorithms, clockTolerance = TOLERANCE }: JwtOptions,
  keys: URL | string,
): Promise<JwtVerifier> {
  // Servers without such tokens do not need it.
  const jose = await import('jose')
  const getKey: JWTVerifyGetKey =
    keys instanceof URL ? jose.createRemoteJWKSet(keys) : await readKeys(keys, jose.createLocalJWKSet)
  return {
    async verify(token) {
      let payload: JWTPayload
      try {
        ;({ payload } = await jose.jwtVerify(token, getKey, {
          issuer,
          audience,
          algorithms: [...algorithms],
          clockTolerance,
          requiredClaims: ['sub', 'exp'],
        }))
      } catch (error) {
        if (error instanceof jose.errors.JOSEError && !OF_KEYS.has(error.code)) throw error
        throw new ModelUnavailableError('the server cannot verify tokens now', {
          hint: 'Send the request again later.',
          cause: error,
        })
      }
      const { sub: subject, exp } = payload
      if (typeof subject !== 'string') throw new Error('the subject is not a text')
      return { subject, expires: 1000 * (exp! + clockTolerance) }
    },
  }
}

/** The place of keys, if it is a URL. @throws {ArgumentError} if everybody on the way could replace them. */
export function keysUrl(keys: string): URL | undefined {
  const url = /^https?:\/\//.test(keys) ? URL.parse(keys) : null
  if (url === null) return undefined
  if (url.protocol === 'https:' || isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'))) return url
  throw new ArgumentError(`jwt.keys must be an https: URL, or one of this machine, got ${JSON.stringify(keys)}`)
}

async function readKeys(path: string, createSet: (keys: JSONWebKeySet) => JWTVerifyGetKey): Promise<JWTVerifyGetKey> {
  try {
    return createSet(JSON.parse(readFileSync(path, 'utf8')) as JSONWebKeySet)
  } catch (error) {
    throw new ArgumentError(`${path} must be a JSON Web Key Set: ${(error as Error).message}`, { cause: error })
  }
}
