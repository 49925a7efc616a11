import { ArgumentError } from '@tenon/core'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'
import { HttpError } from './failure-status.ts'

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])

/** The headers that a page may send, besides those that are always allowed. */
const ALLOWED_HEADERS = 'authorization, content-type, inference-header-content-length, traceparent, tracestate'

/** The seconds for which a browser need not ask again. */
const MAX_AGE = 600

/** Decides which web pages may send requests. A browser states the page in `Origin`, and asks before it sends tensors. */
export class Origins {
  readonly #allowed: ReadonlySet<string>
  readonly #isLoopback: boolean
  /** The name of this machine that the last request had. */
  #lastHost: string | undefined

  /**
   * @param allowed the origins of pages: `https://example.org`. @param isLoopback whether the server is for its own machine only.
   * @throws {ArgumentError} if one is not an origin.
   */
  constructor(allowed: readonly string[], isLoopback: boolean) {
    for (const origin of allowed) {
      if (URL.parse(origin)?.origin === origin && origin !== 'null') continue
      throw new ArgumentError(
        `allowedOrigins must have origins such as https://example.org, got ${JSON.stringify(origin)}`,
        {
          hint: 'Write the scheme, the host and the port of the page, without a path.',
          details: { name: 'allowedOrigins' },
        },
      )
    }
    this.#allowed = new Set(allowed)
    this.#isLoopback = isLoopback
  }

  /**
   * Checks from where a request comes. A page of another site can make a browser of this machine send requests, also under a
   * name of its own that leads to this machine.
   *
   * @throws {HttpError} with the status 403.
   */
  check({ origin, host }: IncomingHttpHeaders): void {
    if (origin !== undefined && !this.#allowed.has(origin)) {
      throw new HttpError(
        403,
        'requests of web pages from this origin are not answered, because the server does not allow it',
      )
    }
    if (!this.#isLoopback || host === undefined || host === this.#lastHost) return
    if (LOOPBACK_HOSTS.has(host.replace(/:\d+$/, '').toLowerCase())) {
      this.#lastHost = host
      return
    }
    throw new HttpError(403, 'the Host must be a name of this machine, because the server is for this machine only')
  }

  /** Lets an allowed page read the answer. */
  allow({ origin }: IncomingHttpHeaders, response: ServerResponse): void {
    if (origin === undefined || !this.#allowed.has(origin)) return
    response.setHeader('access-control-allow-origin', origin)
    response.setHeader('access-control-expose-headers', 'inference-header-content-length, retry-after')
    response.setHeader('vary', 'origin')
  }

  /** The answer to a browser that asks whether a page may send a request, or undefined for another request. */
  preflight(method: string, headers: IncomingHttpHeaders): Answer | undefined {
    if (method !== 'OPTIONS' || headers.origin === undefined) return undefined
    return {
      status: 204,
      text: '',
      headers: {
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': ALLOWED_HEADERS,
        'access-control-max-age': String(MAX_AGE),
      },
    }
  }
}
