import type * as nodeHttp from 'node:http'
import type { Agent, IncomingMessage } from 'node:http'
import type * as nodeHttps from 'node:https'
import { joined, NO_BYTES, type Attempt, type Exchanger, type Reply } from './exchange.ts'

type Http = typeof nodeHttp | typeof nodeHttps

/**
 * Sends requests with `node:http`, which takes a third of the time of `fetch` and keeps its own connections.
 *
 * @returns undefined where there is no Node.js, such as in browsers.
 */
export function nodeExchanger(url: string): Exchanger | undefined {
  // Bundlers for browsers cannot resolve an import of these modules.
  const builtin = (globalThis as { readonly process?: Partial<NodeJS.Process> }).process?.getBuiltinModule
  const http = builtin?.(url.startsWith('https:') ? 'node:https' : 'node:http') as Http | undefined
  if (http === undefined) return undefined
  const agent = new http.Agent({ keepAlive: true })
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
