import type * as nodeHttp from 'node:http'
import type { Agent, IncomingMessage } from 'node:http'
import type * as nodeHttps from 'node:https'
import { ArgumentError, UnsupportedError } from '@tenon/core/errors'
import { fetchExchanger, joined, NO_BYTES, type Attempt, type Exchanger, type Reply } from './exchange.ts'

type Http = typeof nodeHttp | typeof nodeHttps

/** The texts of PEM files. */
export interface Certificates {
  readonly ca: unknown
  readonly cert: unknown
  readonly key: unknown
}

/**
 * Opens the way to a server: `node:http`, which takes a third of the time of `fetch` and keeps its own connections, or `fetch` where there is no
 * Node.js, such as in browsers.
 *
 * @throws {ArgumentError} if a certificate is not the text of a PEM file. @throws {UnsupportedError} if there are some without Node.js.
 */
export function openExchanger(url: string, certificates: Certificates): Exchanger {
  const given = Object.entries(certificates).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    if (typeof value === 'string' && value.includes('-----BEGIN ')) continue
    throw new ArgumentError(`${name} must be the text of a PEM file`, {
      hint: 'Read the file as text, and pass the text.',
    })
  }
  const isHttps = url.startsWith('https:')
  if (given.length > 0 && !isHttps) throw new ArgumentError('ca, cert and key must be with an https: URL')
  // Bundlers for browsers cannot resolve an import of these modules.
  const builtin = (globalThis as { readonly process?: Partial<NodeJS.Process> }).process?.getBuiltinModule
  const http = builtin?.(isHttps ? 'node:https' : 'node:http') as Http | undefined
  if (http === undefined) {
    if (given.length === 0) return fetchExchanger
    throw new UnsupportedError('certificates of a client need Node.js', {
      hint: 'Add them to the settings of the browser.',
    })
  }
  const agent = new http.Agent({ keepAlive: true, ...Object.fromEntries(given) })
  return {
    exchange: (target, attempt) => exchange(http, agent, target, attempt),
    close: () => agent.destroy(),
  }
}

function exchange(http: Http, agent: Agent, url: string, attempt: Attempt): Promise<Reply> {
  const { method, headers, body, signal, isStream } = attempt
  const byteSize = body.reduce((sum, { length }) => sum + length, 0)
  return new Promise((resolve, reject) => {
    const sized = method === 'POST' ? { ...headers, 'content-length': byteSize } : headers
    const request = http.request(url, { agent, method, headers: sized, signal }, (response) => {
      if (isStream === true && response.statusCode === 200)
        resolve({ ...headOf(response), bytes: NO_BYTES, chunks: response })
      else readBody(response).then(resolve, reject)
    })
    request.on('error', reject)
    for (const part of body) request.write(part)
    request.end()
  })
}

function readBody(response: IncomingMessage): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    response.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    response.on('error', reject)
    response.on('end', () => resolve({ ...headOf(response), bytes: joined(chunks) }))
  })
}

const headOf = ({ statusCode, headers }: IncomingMessage): Pick<Reply, 'status' | 'header'> => ({
  status: statusCode!,
  header: (name) => {
    const value = headers[name]
    return typeof value === 'string' ? value : undefined
  },
})
