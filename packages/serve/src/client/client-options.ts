import { ArgumentError } from '@tenon/core/errors'
import { describeValue } from '../protocol/wrong-field.ts'
import { authorizationFor, type Token } from './authorization.ts'
import type { Exchanger } from './exchange.ts'
import { openExchanger } from './node-exchanger.ts'
import { checkDeadline, readUrl } from './read-options.ts'

/** The options of {@link createClient}. */
export interface ClientOptions {
  /** The longest time for one request with all its attempts, in milliseconds. Default: 30,000. */
  readonly deadline?: number
  /** How often a request is sent again if the server cannot be reached, or answers 502 or 503. Default: 2. */
  readonly retries?: number
  /**
   * Passes inputs from 256 KiB on in shared memory whose names start with this text, to a server of the same machine that allows it
   * (`allowClientSharedMemory`, `--allow-client-shm`). Linux and Node.js only. Default: inputs are sent.
   */
  readonly sharedMemory?: string
  /** The token that the server asks for, or a function that returns the one that is valid now, which is called for each request. */
  readonly token?: Token
  /** Sends the token to other machines without encryption too, where a mesh encrypts what is sent. Default: false. */
  readonly allowPlainTokens?: boolean
  /** The certificates of the authorities that the server must have one of, as the text of a PEM file. Node.js only. Default: those of Node.js. */
  readonly ca?: string
  /** The certificate of the client, as the text of a PEM file. Node.js only. */
  readonly cert?: string
  /** The private key of `cert`. */
  readonly key?: string
}

/** The options of a client that were checked. */
export interface CheckedClientOptions extends Required<Pick<ClientOptions, 'deadline' | 'retries'>> {
  /** Without a slash at its end. */
  readonly url: string
  /** It is checked when it is opened. */
  readonly sharedMemory: unknown
  /** The header of each request, or undefined without a token. */
  readonly authorization: (() => Promise<string>) | undefined
  readonly exchanger: Exchanger
}

/** @throws {ArgumentError} if the URL or an option is not valid. @throws {UnsupportedError} */
export function readClientOptions(given: string | URL, options: ClientOptions): CheckedClientOptions {
  const {
    deadline = 30_000,
    retries = 2,
    sharedMemory,
    token,
    allowPlainTokens = false,
    ca,
    cert,
    key,
    ...others
  } = options
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw new ArgumentError(`options must not have the option ${JSON.stringify(unknown)}, which does not exist`, {
      hint: 'The options are allowPlainTokens, ca, cert, deadline, key, retries, sharedMemory, token.',
    })
  }
  checkDeadline(deadline)
  if (!Number.isSafeInteger(retries) || retries < 0) {
    throw new ArgumentError(`retries must be a whole number from 0, got ${describeValue(retries)}`)
  }
  const url = readUrl(given)
  const authorization = authorizationFor(token, url, allowPlainTokens)
  return { url, deadline, retries, sharedMemory, authorization, exchanger: openExchanger(url, { ca, cert, key }) }
}
