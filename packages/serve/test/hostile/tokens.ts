import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { AUDIENCE, ISSUER, type Issuer } from '../access-fixture.ts'

/** A header of a request that a server must refuse. */
export interface HostileHeader {
  readonly name: string
  /** The lines of the head besides that of the host. */
  readonly lines: readonly string[]
  readonly status: number
}

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const refused = (name: string, status: number, ...lines: readonly string[]): HostileHeader => ({ name, status, lines })

/** Credentials that are not bearer tokens, or not those of the server. @param valid a token of the server. @param sha256 its hash. */
export const wrongHeaders = (valid: string, sha256: string): HostileHeader[] => [
  refused('no header', 401),
  refused('an empty header', 401, 'authorization:'),
  refused('a scheme alone', 401, 'authorization: Bearer'),
  refused('another scheme', 401, `authorization: Basic ${Buffer.from(`ci:${valid}`).toString('base64')}`),
  refused('a digest', 401, `authorization: Digest username="ci", response="${valid}"`),
  refused('a scheme without a space', 401, `authorization: Bearer${valid}`),
  refused('a token without a scheme', 401, `authorization: ${valid}`),
  refused('a token in quotes', 401, `authorization: Bearer "${valid}"`),
  refused('two tokens', 401, `authorization: Bearer ${valid}, Bearer ${valid}`),
  refused('a parameter behind a token', 401, `authorization: Bearer ${valid}; role=admin`),
  refused('a tab before a token', 401, `authorization: Bearer\t${valid}`),
  refused('an unknown token', 401, 'authorization: Bearer secret'),
  refused('the hash of a token', 401, `authorization: Bearer ${sha256}`),
  refused('a part of a token', 401, `authorization: Bearer ${valid.slice(0, -1)}`),
  refused('more than a token', 401, `authorization: Bearer ${valid}0`),
  refused('a token in capitals', 401, `authorization: Bearer ${valid.toUpperCase()}`),
  refused('a token with an equals sign', 401, `authorization: Bearer ${valid}=`),
  refused('a token with letters of another language', 401, 'authorization: Bearer t\u00f6ken'),
  refused('a token of 8 KiB', 401, `authorization: Bearer ${'a'.repeat(8192)}`),
  refused('a token of 15 KiB', 401, `authorization: Bearer ${'a'.repeat(15_000)}`),
  refused('a token of 20 KiB', 431, `authorization: Bearer ${'a'.repeat(20_000)}`),
  refused('a token with many equals signs', 401, `authorization: Bearer ${'='.repeat(4000)}`),
  refused('the same header twice', 400, `authorization: Bearer ${valid}`, `authorization: Bearer ${valid}`),
  refused('a wrong header behind a valid one', 400, `authorization: Bearer ${valid}`, 'Authorization: Bearer x'),
  refused('a valid header behind a wrong one', 400, 'AUTHORIZATION: Bearer x', `authorization: Bearer ${valid}`),
  refused('a header in two lines', 400, 'authorization: Bearer', ` ${valid}`),
  refused('a space before the colon', 400, `authorization : Bearer ${valid}`),
  refused('a zero byte in a token', 400, `authorization: Bearer ${valid}\0`),
  refused('a carriage return in a token', 400, `authorization: Bearer x\rauthorization: Bearer ${valid}`),
  refused('an injected header', 401, 'authorization: Bearer x', `x-authorization: Bearer ${valid}`),
  refused('the header of proxies', 401, `proxy-authorization: Bearer ${valid}`),
  refused('a cookie', 401, `cookie: authorization=Bearer ${valid}; token=${valid}`),
  refused('a key of an interface', 401, `x-api-key: ${valid}`),
  refused('a name of a caller', 401, 'x-forwarded-user: token:ci', 'x-remote-user: ci'),
  refused(
    'a certificate in a header',
    401,
    'x-forwarded-client-cert: Subject="CN=admin"',
    'ssl-client-verify: SUCCESS',
  ),
  refused('an address of this machine', 401, 'x-forwarded-for: 127.0.0.1', 'forwarded: for=127.0.0.1;proto=https'),
]

/** JSON Web Tokens that are not valid. @param issuer that of the server. @param other one with another key. */
export async function wrongJwts(issuer: Issuer, other: Issuer): Promise<HostileHeader[]> {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', iat: now, exp: now + 600 }
  const valid = await issuer.sign()
  const [head, payload, signature] = valid.split('.') as [string, string, string]
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = own.publicKey.export({ format: 'jwk' })
  /** A token by a key of the attacker. */
  const forged = (header: object, body: unknown = claims): string => {
    const text = `${base64({ alg: 'ES256', ...header })}.${base64(body)}`
    const bytes = sign('sha256', Buffer.from(text), { key: own.privateKey, dsaEncoding: 'ieee-p1363' })
    return `${text}.${bytes.toString('base64url')}`
  }
  const hmac = (secret: string): string => {
    const text = `${base64({ alg: 'HS256', kid: 'first' })}.${base64(claims)}`
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }
  const one = (name: string, token: string, status: number = 401): HostileHeader =>
    refused(`a token with ${name}`, status, `authorization: Bearer ${token}`)
  return [
    one('no algorithm', `${base64({ alg: 'none' })}.${payload}.`),
    one('no algorithm and a signature', `${base64({ alg: 'none' })}.${payload}.${signature}`),
    one('no algorithm in capitals', `${base64({ alg: 'NONE', kid: 'first' })}.${payload}.${signature}`),
    one('the public key as a secret', hmac(JSON.stringify(issuer.keys))),
    one('an empty secret', hmac('')),
    one('an algorithm that is not in the list', `${base64({ alg: 'ES384', kid: 'first' })}.${payload}.${signature}`),
    one('a list of algorithms', `${base64({ alg: ['none', 'ES256'], kid: 'first' })}.${payload}.${signature}`),
    one('the key of another issuer', await other.sign()),
    one('a number of a key that is not there', await issuer.sign({}, { kid: 'second' })),
    one('a path as the number of a key', forged({ kid: '../../../../dev/null' })),
    one('a number of a key that is an object', forged({ kid: { toString: 1 } })),
    one('a key of its own', forged({ kid: 'first', jwk })),
    one('a place of keys', forged({ kid: 'first', jku: 'http://127.0.0.1:1/jwks.json' })),
    one('a certificate of its own', forged({ kid: 'first', x5c: ['MIIB'] })),
    one('a place of certificates', forged({ kid: 'first', x5u: 'http://127.0.0.1:1/cert.pem' })),
    one('an extension that nobody knows', forged({ kid: 'first', crit: ['exp'], exp: 1 })),
    one('a payload that is not encoded', forged({ kid: 'first', b64: false, crit: ['b64'] })),
    one('a changed payload', `${head}.${base64({ ...claims, sub: 'bob' })}.${signature}`),
    one('a changed head', `${base64({ alg: 'ES256', kid: 'first', typ: 'at+jwt' })}.${payload}.${signature}`),
    one('a changed signature', `${head}.${payload}.${signature.slice(0, -4)}AAAA`),
    one('a short signature', `${head}.${payload}.${signature.slice(0, 10)}`),
    one('a signature of zeros', `${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`),
    one('no signature', `${head}.${payload}.`),
    one('no parts', '..'),
    one('two parts', `${head}.${payload}`),
    one('four parts', `${valid}.${signature}`),
    one('the five parts of an encrypted token', `${head}.${payload}.${signature}.${payload}.${signature}`),
    one('a payload that is not JSON', `${head}.${base64('{')}.${signature}`),
    one('a payload that is a list', forged({ kid: 'first' }, [claims])),
    one('a payload of null', forged({ kid: 'first' }, null)),
    one('a deep payload', forged({ kid: 'first' }, `${'['.repeat(2000)}${']'.repeat(2000)}`)),
    one('a time that is over', await issuer.sign({ exp: now - 3600 })),
    one('no time', await issuer.sign({ exp: undefined })),
    one('a time that is a text', await issuer.sign({ exp: String(now + 600) })),
    one('a begin in an hour', await issuer.sign({ nbf: now + 3600 })),
    one('another audience', await issuer.sign({ aud: 'billing' })),
    one('several other audiences', await issuer.sign({ aud: ['billing', 'tenon2'] })),
    one('no audience', await issuer.sign({ aud: undefined })),
    one('another issuer', await issuer.sign({ iss: `${ISSUER}/` })),
    one('a list of issuers', await issuer.sign({ iss: [ISSUER] })),
    one('no subject', await issuer.sign({ sub: undefined })),
    one('a subject that is an object', await issuer.sign({ sub: { a: 1 } })),
    // These are valid, and the names of nobody who may do something.
    one('the subject *', await issuer.sign({ sub: '*' }), 403),
    one('an empty subject', await issuer.sign({ sub: '' }), 403),
    one('the subject of a static token', await issuer.sign({ sub: 'token:ci' }), 403),
    one('a subject with a line feed', await issuer.sign({ sub: 'alice\n' }), 403),
    one('a subject in capitals', await issuer.sign({ sub: 'ALICE' }), 403),
    one('a name of the prototype of objects', await issuer.sign({ sub: '__proto__' }), 403),
  ]
}
