import { KernelDeadlineError, NativeError, UnsupportedError } from '@tenon/core/errors'
import {
  InvalidRequestError,
  ModelNotFoundError,
  ModelUnavailableError,
  PermissionDeniedError,
  ProtocolError,
  RequestTooLargeError,
  UnauthenticatedError,
} from '../errors.ts'
import type { Attempt, Exchanger, Reply } from './exchange.ts'

/** One request of a client. */
export interface ClientRequest {
  readonly method: 'GET' | 'POST'
  /** Behind the URL of the server: `/v2/models/double/infer`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: readonly Uint8Array[]
  readonly signal: AbortSignal
  /** How often the request may be sent again. */
  readonly retries: number
  /** Whether the body of the answer is read in parts. Then it is not sent again once the answer has begun. */
  readonly isStream?: boolean
}

/** The first pause before another attempt, in milliseconds. Each further pause is twice as long, up to the longest. */
const FIRST_PAUSE = 50
const LONGEST_PAUSE = 2000

/**
 * Sends a request, and again after a while if the server cannot be reached or has no time: 502, 503, and connections that break.
 *
 * @param url the URL of the server, without a slash at the end.
 * @returns the answer, whose status is 200.
 * @throws (rejects with) the error for the status of the answer; {ModelUnavailableError} if the server cannot be reached; or
 * the reason of the signal.
 */
export async function send(exchanger: Exchanger, url: string, request: ClientRequest): Promise<Reply> {
  const { method, path, body = [], headers = {}, signal, retries, isStream = false } = request
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted()
    const outcome = await attemptOnce(exchanger, `${url}${path}`, { method, headers, body, signal, isStream })
    if (!(outcome instanceof Error)) return outcome
    signal.throwIfAborted()
    if (attempt === retries || !(outcome instanceof ModelUnavailableError)) throw outcome
    // Clients that failed together do not come back together.
    await sleep(Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2), signal)
  }
}

/** Returns the answer, or the error that it means. */
async function attemptOnce(exchanger: Exchanger, url: string, attempt: Attempt): Promise<Reply | Error> {
  try {
    const reply = await exchanger.exchange(url, attempt)
    return reply.status === 200 ? reply : errorOf(reply.status, reply.bytes)
  } catch (error) {
    const { origin } = new URL(url)
    const { message = '', code = '' } = rootOf(error)
    const [, reason] = OPENSSL_MESSAGE.exec(message) ?? []
    return new ModelUnavailableError(
      `the server ${origin} cannot be reached: ${reason ?? (message || code || String(error))}`,
      {
        // A server ends the connection if it does not accept the certificate of its client.
        hint:
          TLS_CODE.test(code) || (code === 'ECONNRESET' && origin.startsWith('https:'))
            ? 'Check that the server answers HTTPS, that the option ca has the authority of its certificate, and that cert and key are there and not revoked if it asks for them.'
            : 'Check the URL, also whether it begins with http: or https:, and whether the server runs.',
        cause: error,
      },
    )
  }
}

/** A message of OpenSSL, whose reason is between numbers and names of files. */
const OPENSSL_MESSAGE = /error:[\dA-F]{8}:[^:]*:[^:]*:([^:]+)/

/** The codes of Node.js for handshakes that fail, such as `SELF_SIGNED_CERT_IN_CHAIN` and `ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED`. */
const TLS_CODE = /CERT|SSL|TLS|SIGNATURE|EPROTO/

interface SystemError {
  readonly message?: string
  readonly code?: string
}

/** The last error in a chain. `fetch` hides it behind "fetch failed". */
function rootOf(error: unknown): SystemError {
  const { cause } = error as { readonly cause?: unknown }
  return cause instanceof Error ? rootOf(cause) : (error as SystemError)
}

/** The error for the status of an answer. */
export function errorOf(status: number, bytes: Uint8Array): Error {
  const message = messageOf(bytes) ?? `the server answered with the status ${status}`
  const options = { details: { status } }
  switch (status) {
    case 400:
    case 415:
      return new InvalidRequestError(message, options)
    case 401:
      return new UnauthenticatedError(message, options)
    case 403:
      return new PermissionDeniedError(message, options)
    case 404:
      return new ModelNotFoundError(message, options)
    case 408:
    case 504:
      return new KernelDeadlineError(message, options)
    case 413:
      return new RequestTooLargeError(message, options)
    case 502:
    case 503:
      return new ModelUnavailableError(message, options)
    case 500:
      return new NativeError(message, options)
    case 501:
      return new UnsupportedError(message, options)
    default:
      return new ProtocolError(message, options)
  }
}

/** The message of an error of the protocol, or undefined for anything else, such as the page of a proxy. */
function messageOf(bytes: Uint8Array): string | undefined {
  try {
    const { error } = JSON.parse(new TextDecoder().decode(bytes)) as { readonly error?: unknown }
    return typeof error === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

/** @throws (rejects with) the reason of the signal. */
function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal.addEventListener('abort', stop, { once: true })
  })
}
