import type { Socket } from 'node:net'
import { dirname, resolve } from 'node:path'
import { InvalidRequestError, ModelUnavailableError, PermissionDeniedError, UnauthenticatedError } from '../errors.ts'
import { readOptionFile } from '../files/option-file.ts'
import { WatchedFiles, type FileSource } from '../files/watched-files.ts'
import type { Log } from '../log/log.ts'
import { readAccessFile, type AccessFile } from './access-file.ts'
import type { Access, Credentials } from './access.ts'
import { missingCredentials, type Caller, type Need } from './caller.ts'
import { certificateNames } from './certificate-names.ts'
import { Grants } from './grants.ts'
import { keysUrl, openJwtVerifier, type JwtVerifier } from './jwt-verifier.ts'
import { keyOfHash, keyOfToken } from './token-key.ts'

/** The most characters of a token. */
const LONGEST_TOKEN = 8192

/** The most tokens whose signatures are not verified again. */
const MOST_VERIFIED = 1024

/** A scheme and a token, as RFC 6750 has them. */
const BEARER = /^bearer +([\w.~+/-]+=*)$/i

/** The content of an access file. */
interface Policy extends Pick<AccessFile, 'permissions'> {
  /** The names of static tokens and their ends, by their keys. */
  readonly tokens: ReadonlyMap<string, { readonly name: string; readonly expires: number }>
  readonly jwt: JwtVerifier | undefined
}

/** Control of access by a file with hashes of tokens, the issuer of other tokens, and the permissions of callers. It is read again when it changes. */
export class FileAccess implements Access {
  readonly #path: string
  readonly #log: Log
  #modelNames: (() => ReadonlySet<string>) | undefined
  #policy: Policy = { tokens: new Map(), jwt: undefined, permissions: [] }
  #files: WatchedFiles<Policy> | undefined
  /** The callers whose tokens were verified, by the keys of the tokens. */
  readonly #callers = new Map<string, KnownCaller>()
  /** The callers of connections with a certificate. */
  readonly #connections = new WeakMap<Socket, KnownCaller>()

  private constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
  }

  /** @throws (rejects with) {ArgumentError} if the file is not valid. */
  static async open(path: string, log: Log): Promise<FileAccess> {
    const access = new FileAccess(path, log)
    access.#files = await WatchedFiles.open(policySource(path), log, (policy) => access.#replace(policy))
    return access
  }

  /**
   * Warns of permissions for models that the server does not have, now and each time when the file is read again. They are no error, because the
   * models may be added later.
   */
  compareWith(modelNames: () => ReadonlySet<string>): void {
    this.#modelNames = modelNames
    this.#warn()
  }

  close(): void {
    this.#files?.close()
  }

  #replace(policy: Policy): void {
    this.#policy = policy
    this.#callers.clear()
    this.#warn()
  }

  #warn(): void {
    if (this.#modelNames === undefined) return
    const { models, callers } = unknownNames(this.#policy, this.#modelNames())
    const path = this.#path
    if (models.length > 0)
      this.#log.write('warn', 'the access file names models that the server does not have', { path, models })
    if (callers.length > 0)
      this.#log.write('warn', 'the access file has permissions for tokens that it does not have', { path, callers })
  }

  identify({ authorization, socket }: Credentials): Caller | Promise<Caller> {
    if (authorization.length > 1) throw new InvalidRequestError('the request must have one Authorization')
    const [header] = authorization
    if (header === undefined) return this.#identifyConnection(socket)
    const token = header.length > LONGEST_TOKEN ? undefined : BEARER.exec(header)?.[1]
    if (token === undefined) throw wrongCredentials('the Authorization is not a bearer token')
    const key = keyOfToken(token)
    const known = this.#callers.get(key)
    if (known !== undefined) {
      known.check('caller')
      return known
    }
    const { tokens, jwt } = this.#policy
    const found = tokens.get(key)
    if (found !== undefined)
      return this.#add(key, new KnownCaller([`token:${found.name}`], found.expires, key, this.#current))
    if (jwt === undefined || token.split('.').length !== 3) throw wrongCredentials('the token is unknown')
    return this.#verify(token, key, jwt)
  }

  async #verify(token: string, key: string, jwt: JwtVerifier): Promise<Caller> {
    const policy = this.#policy
    const { subject, expires } = await jwt.verify(token).catch((error: unknown) => {
      throw error instanceof ModelUnavailableError ? error : wrongCredentials((error as Error).message)
    })
    const caller = new KnownCaller([`jwt:${subject}`], expires, undefined, this.#current)
    // The issuer may be another one by now.
    return policy === this.#policy ? this.#add(key, caller) : caller
  }

  #add(key: string, caller: KnownCaller): Caller {
    if (this.#callers.size >= MOST_VERIFIED) this.#callers.delete(this.#callers.keys().next().value!)
    this.#callers.set(key, caller)
    caller.check('caller')
    return caller
  }

  #identifyConnection(socket: Socket | undefined): Caller {
    const known = socket === undefined ? undefined : this.#connections.get(socket)
    if (known !== undefined) return known
    const names = certificateNames(socket)
    if (names === undefined) throw missingCredentials()
    if (names.length === 0) throw wrongCredentials('the certificate has no name')
    const caller = new KnownCaller(
      names.map((name) => `certificate:${name}`),
      Number.POSITIVE_INFINITY,
      undefined,
      this.#current,
    )
    this.#connections.set(socket!, caller)
    return caller
  }

  readonly #current = (): Policy => this.#policy
}

/** The names in the permissions that nothing has: those of models, and of static tokens. */
function unknownNames(
  { permissions, tokens }: Policy,
  existing: ReadonlySet<string>,
): { readonly models: readonly string[]; readonly callers: readonly string[] } {
  const models = new Set(permissions.flatMap(({ infer = [], load = [] }) => [...infer, ...load]))
  const known = new Set(['token:*', ...Array.from(tokens.values(), ({ name }) => `token:${name}`)])
  const callers = new Set(permissions.flatMap((rule) => rule.callers).filter((caller) => caller.startsWith('token:')))
  return {
    models: [...models].filter((name) => name !== '*' && !existing.has(name)),
    callers: [...callers].filter((caller) => !known.has(caller)),
  }
}

/** The actions of a caller that belong to no model, for messages. */
const ACTIONS: Readonly<Record<Need, string>> = {
  nothing: 'send this request',
  caller: 'send this request',
  infer: 'use a model',
  load: 'load a model',
  metrics: 'read the metrics',
  'shared-memory': 'use shared memory',
}

/** A caller whose credentials were verified. Its permissions are those of the file now, also in a stream that began before it changed. */
class KnownCaller implements Caller {
  readonly #names: readonly string[]
  /** In milliseconds since 1970. */
  readonly #expires: number
  /** The key of a static token, which the file can lose. */
  readonly #key: string | undefined
  readonly #current: () => Policy
  #policy: Policy | undefined
  #grants: Grants | undefined

  constructor(names: readonly string[], expires: number, key: string | undefined, current: () => Policy) {
    this.#names = names
    this.#expires = expires
    this.#key = key
    this.#current = current
  }

  get name(): string {
    return this.#names[0]!
  }

  check(need: Need, model?: string): void {
    if (this.#allows(need, model)) return
    const what =
      model === undefined
        ? ACTIONS[need]
        : `${need === 'load' ? 'load' : 'use'} the model ${JSON.stringify(model.slice(0, 60))}`
    throw new PermissionDeniedError(`the caller must not ${what}`, {
      hint: `Ask the operator of the server for the permission ${JSON.stringify(need)}.`,
      details: { need },
    })
  }

  sees(model: string): boolean {
    return this.#allows('infer', model) || this.#allows('load', model)
  }

  #allows(need: Need, model: string | undefined): boolean {
    const policy = this.#current()
    if (Date.now() >= this.#expires) throw wrongCredentials('the token has expired')
    if (this.#grants === undefined || policy !== this.#policy) {
      if (this.#key !== undefined && !policy.tokens.has(this.#key)) throw wrongCredentials('the token was removed')
      this.#policy = policy
      this.#grants = new Grants(policy.permissions, this.#names)
    }
    return this.#grants.allows(need, model)
  }
}

/** The error of credentials that are not valid. The client does not learn why, and the log does. */
const wrongCredentials = (reason: string): UnauthenticatedError =>
  new UnauthenticatedError('the credentials of the request are not valid', {
    hint: 'Ask the operator of the server for others.',
    details: { challenge: 'invalid_token' },
    cause: new Error(reason),
  })

/** An access file, and the file of the keys that it names. */
function policySource(path: string): FileSource<Policy> {
  let keysFile: string | undefined
  return {
    name: 'the access file and its keys',
    paths: () => (keysFile === undefined ? [path] : [path, keysFile]),
    async read() {
      const { tokens = [], jwt, permissions } = readAccessFile(readOptionFile('access', path).toString(), path)
      const url = jwt === undefined ? undefined : keysUrl(jwt.keys)
      keysFile = jwt === undefined || url !== undefined ? undefined : resolve(dirname(path), jwt.keys)
      return {
        tokens: new Map(
          tokens.map(({ name, sha256, expires }) => [
            keyOfHash(Buffer.from(sha256, 'hex')),
            { name, expires: expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires) },
          ]),
        ),
        jwt: jwt === undefined ? undefined : await openJwtVerifier(jwt, url ?? keysFile!),
        permissions,
      }
    },
  }
}
