import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that is removed at the end of the test. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-access-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes an access file. @returns its path. */
export function writeAccess(contents: unknown, folder: string = makeFolder()): string {
  const path = join(folder, 'access.json')
  writeFileSync(path, typeof contents === 'string' ? contents : JSON.stringify(contents))
  return path
}

/** A token and its entry in an access file. */
export function makeToken(
  name: string,
  more: object = {},
): { readonly token: string; readonly entry: object; readonly headers: { readonly authorization: string } } {
  const token = randomBytes(32).toString('hex')
  const sha256 = createHash('sha256').update(token).digest('hex')
  return { token, entry: { name, sha256, ...more }, headers: { authorization: `Bearer ${token}` } }
}

export const bearer = (token: string): { readonly authorization: string } => ({ authorization: `Bearer ${token}` })

export const ISSUER = 'https://issuer.test'

export const AUDIENCE = 'tenon'

/** An issuer of tokens with one key. */
export class Issuer {
  readonly #privateKey: CryptoKey
  /** A JSON Web Key Set. */
  readonly keys: { readonly keys: readonly object[] }

  private constructor(privateKey: CryptoKey, keys: Issuer['keys']) {
    this.#privateKey = privateKey
    this.keys = keys
  }

  static async create(kid: string = 'first'): Promise<Issuer> {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    return new Issuer(privateKey, { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }] })
  }

  /** The member `jwt` of an access file, with the keys in a file beside it. */
  write(folder: string): object {
    writeFileSync(join(folder, 'jwks.json'), JSON.stringify(this.keys))
    return { issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], keys: 'jwks.json' }
  }

  /** Signs a token. @param claims replace those of a valid one. Undefined ones are left out. */
  sign(claims: Readonly<Record<string, unknown>> = {}, header: object = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const all = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', iat: now, exp: now + 600, ...claims }
    const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'first', ...header }).sign(this.#privateKey)
  }
}

/** Serves keys on this machine. @returns their URL, and how often they were asked for. */
export async function serveKeys(
  keys: () => object | undefined,
): Promise<{ readonly url: string; readonly count: () => number }> {
  let count = 0
  const server = createServer((_request, response) => {
    count++
    const found = keys()
    response.writeHead(found === undefined ? 500 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`, count: () => count }
}
