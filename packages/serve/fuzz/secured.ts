import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { Authority } from '../test/certificates.ts'
import { frame } from '../test/hostile/grpc-exchange.ts'
import type { SecuredPorts } from '../test/hostile/server-process.ts'
import { mutateBytes } from './mutate.ts'
import type { Random } from './random.ts'

/** The longest time for an attempt in milliseconds. */
const PATIENCE = 20_000

/** The time in milliseconds after which a client leaves its handshake, which the server would end after a few seconds. */
const LEAVES = 300

/** The files of a listener with encryption and tokens, and what its clients need. */
export interface Secured {
  /** For the process of the server. */
  readonly options: string
  readonly ca: Buffer
  readonly token: string
  /** The first bytes of a client of TLS. */
  readonly hello: Buffer
}

export async function makeSecured(folder: string): Promise<Secured> {
  const authority = new Authority(folder)
  const token = randomBytes(32).toString('hex')
  const access = join(folder, 'access.json')
  const tokens = [{ name: 'fuzz', sha256: createHash('sha256').update(token).digest('hex') }]
  writeFileSync(access, JSON.stringify({ tokens, permissions: [{ callers: ['token:fuzz'], infer: ['floats'] }] }))
  const options = JSON.stringify({ tls: authority.certifyServer(), access })
  return { options, ca: readFileSync(authority.cert), token, hello: await firstBytes() }
}

async function firstBytes(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectTls((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  client.destroy()
  server.close()
  return bytes
}

/** Bytes that a server with encryption and tokens must refuse. */
export interface SecuredAttempt {
  readonly bytes: Uint8Array
  /** Returns what is wrong with the answer. */
  send(ports: SecuredPorts): Promise<string | undefined>
}

const SCHEMES = ['Bearer ', 'bearer  ', 'Basic ', 'Digest ', '', 'Bearer\t', 'Bearer ,Bearer ']

/** A header that is not that of the caller, also if it has line feeds. */
function wrongHeader(random: Random, token: string): Buffer {
  const right = new RegExp(`bearer +${token}\\s*$`, 'im')
  for (;;) {
    const header = Buffer.from(random.pick(SCHEMES) + token)
    const changed = random.below(4) === 0 ? header : mutateBytes(random, header)
    if (!right.test(changed.toString('latin1'))) return changed
  }
}

/** A request over HTTPS whose header is wrong. It must not be answered with 200. */
export function wrongToken(random: Random, { ca, token }: Secured): SecuredAttempt {
  const path = random.pick(['/v2/models/floats', '/v2', '/metrics', '/v2/repository/index', '/v2/models/absent'])
  const header = wrongHeader(random, token)
  const start = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: `
  const bytes = Buffer.concat([Buffer.from(start), header, Buffer.from('\r\n\r\n')])
  return {
    bytes,
    send: async ({ https }) => {
      const answer = await exchangeTls(https, ca, bytes)
      const status = Number(answer.slice(9, 12))
      if (answer === '' || (status >= 400 && status < 500)) return undefined
      return `a wrong token got ${answer.slice(0, 200)}`
    },
  }
}

/** Bytes of HTTP over TLS without a token, which must not be answered. */
export function changedHttps(random: Random, { ca }: Secured): SecuredAttempt {
  const body = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}'
  const head = `POST /v2/models/floats/infer HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\nconnection: close`
  const bytes = mutateBytes(random, Buffer.from(`${head}\r\n\r\n${body}`))
  return {
    bytes,
    send: async ({ https }) => {
      const answer = await exchangeTls(https, ca, bytes)
      const status = Number(answer.slice(9, 12))
      const isHealth = /\/v2\/health\//.test(bytes.toString('latin1'))
      return answer === '' || isHealth || (status >= 400 && status < 500) ? undefined : `got ${answer.slice(0, 200)}`
    },
  }
}

/** A call of gRPC over TLS whose metadata is wrong. */
export function wrongMetadata(random: Random, { ca, token }: Secured): SecuredAttempt {
  // The client of HTTP/2 would refuse other characters.
  const text = wrongHeader(random, token)
    .toString('latin1')
    .replaceAll(/[^\u0020-\u007e]/g, '')
    .trim()
  const header = new RegExp(`^bearer +${token}$`, 'i').test(text) ? '' : text
  return {
    bytes: Buffer.from(header),
    send: async ({ grpcs }) => {
      const status = await callTls(grpcs, ca, header)
      return status === '16' || status === '3' ? undefined : `a wrong token got the status ${status}`
    },
  }
}

/** Bytes before the encryption, for one of the two listeners. */
export function changedHandshake(random: Random, { hello }: Secured): SecuredAttempt {
  const bytes = random.below(8) === 0 ? Buffer.from('GET /v2 HTTP/1.1\r\n\r\n') : mutateBytes(random, hello)
  return {
    bytes,
    send: async ({ https, grpcs }) => {
      const answer = await exchangeRaw(random.pick([https, grpcs]), bytes, LEAVES)
      // An alert, a greeting of the server, or nothing.
      return answer.length === 0 || answer[0] === 21 || answer[0] === 22
        ? undefined
        : `got ${answer.toString('latin1')}`
    },
  }
}

/** Bytes of HTTP for the listener of the monitoring, which has no models. */
export function changedMonitoring(random: Random): SecuredAttempt {
  const path = random.pick(['/metrics', '/v2/health/live', '/v2/health/ready', '/v2/models/floats', '/v2'])
  const bytes = mutateBytes(random, Buffer.from(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`))
  return {
    bytes,
    send: async ({ monitoring }) => {
      const answer = (await exchangeRaw(monitoring, bytes)).toString('latin1')
      const status = Number(answer.slice(9, 12))
      return answer === '' || status < 500 || status === 501 ? undefined : `got ${answer.slice(0, 200)}`
    },
  }
}

function exchangeTls(port: number, ca: Buffer, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port, ca, allowHalfOpen: true } as ConnectionOptions)
    const chunks: Buffer[] = []
    const timer = setTimeout(() => {
      reject(new Error(`no answer within ${PATIENCE} ms`))
      socket.destroy()
    }, PATIENCE)
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
    socket.on('end', () => socket.end())
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(chunks).toString('latin1'))
    })
    socket.end(bytes)
  })
}

/** @param leaves the time in milliseconds after which the client leaves; without it, the server must end the connection. */
function exchangeRaw(port: number, bytes: Uint8Array, leaves?: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    const timer = setTimeout(() => {
      if (leaves === undefined) reject(new Error(`the connection is open after ${PATIENCE} ms`))
      socket.destroy()
    }, leaves ?? PATIENCE)
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(chunks))
    })
    socket.end(bytes)
  })
}

function callTls(port: number, ca: Buffer, authorization: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca })
    session.on('error', reject)
    const stream = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ServerMetadata',
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization,
    })
    let status = 'none'
    const read = (sent: Readonly<Record<string, unknown>>): void => {
      if (sent['grpc-status'] !== undefined) status = String(sent['grpc-status'])
    }
    stream.on('response', read).on('trailers', read).resume()
    stream.on('error', () => {})
    stream.on('close', () => {
      session.close()
      resolve(status)
    })
    stream.end(frame(new Uint8Array()))
  })
}
