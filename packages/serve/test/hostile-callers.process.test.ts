import { eventually } from '@tenon/config/eventually'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer, type InferenceServer } from '../src/index.ts'
import { Issuer, makeToken, writeAccess } from './access-fixture.ts'
import { Authority, type Certificate } from './certificates.ts'
import { brokenHandshakes, wrongOptions } from './hostile/handshakes.ts'
import { wrongHeaders, wrongJwts, type HostileHeader } from './hostile/tokens.ts'
import { double } from './models.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenon-hostile-'))
const authority = new Authority(folder)
const clients = new Authority(folder, 'clients')
const strangers = new Authority(folder, 'strangers')
const ca = readFileSync(authority.cert)
const [issuer, other] = await Promise.all([Issuer.create(), Issuer.create()])
const ci = makeToken('ci')
const hash = createHash('sha256').update(ci.token).digest('hex')
const jwts = await wrongJwts(issuer, other)
const headers = [...wrongHeaders(ci.token, hash), ...jwts]

const lines: string[] = []
let [server, strict]: [InferenceServer?, InferenceServer?] = []

beforeAll(async () => {
  const log = { format: 'json', sample: 1, write: (line: string) => void lines.push(line) } as const
  const permissions = [{ callers: ['token:ci', 'jwt:alice'], infer: ['double'] }]
  const access = writeAccess({ tokens: [ci.entry], jwt: issuer.write(folder), permissions }, folder)
  const own = { models: [double], http: { port: 0 }, grpc: { port: 0 }, log, requestTimeout: 2000 }
  server = await createServer({ ...own, tls: authority.certifyServer(), access })
  strict = await createServer({ ...own, tls: { ...authority.certifyServer(), clientCa: clients.cert } })
})
afterAll(async () => {
  await Promise.all([server!.closeAsync(), strict!.closeAsync()])
  rmSync(folder, { recursive: true })
})

/** Sends bytes over TLS, and reads until the server ends the connection. */
function exchange(bytes: string, options: ConnectionOptions = {}, port: number = server!.port): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port, ca, ...options })
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)))
    socket.on('close', () => resolve(text))
    socket.write(bytes, 'latin1')
  })
}

const requestOf = (target: string, own: readonly string[], body = ''): string =>
  [
    `${body === '' ? 'GET' : 'POST'} ${target} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    ...own,
    ...(body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n')

const wellFormed = requestOf('/v2/models/double', [`authorization: Bearer ${ci.token}`])

/** The status of an answer, whose text must not say anything of the server. */
function statusOf(answer: string): number {
  expect(answer).not.toContain(ci.token)
  expect(answer).not.toMatch(/\/tmp|jose|JWT|signature|\n\s+at /i)
  return Number(answer.slice(9, 12))
}

/** Calls a method of gRPC. @returns the status, or the code of the stream. */
function call(path: string, own: Readonly<Record<string, string | string[]>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://127.0.0.1:${server!.grpcPort}`, { ca })
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...own,
    })
    let status: string | undefined
    const read = (sent: Readonly<Record<string, unknown>>): void => {
      if (sent['grpc-status'] === undefined) return
      status = String(sent['grpc-status'])
      expect(String(sent['grpc-message'])).not.toContain(ci.token)
    }
    stream.on('response', read).on('trailers', read).resume()
    session.on('error', reject)
    stream.on('error', () => {})
    stream.on('close', () => {
      session.close()
      resolve(status ?? `code ${stream.rstCode}`)
    })
    // The message is promised, and never comes.
    stream.write(Buffer.from([0, 0, 16, 0, 0]))
  })
}

/** The errors of a connection that the server has ended. */
const ENDED = /^$|alert|ECONNRESET|EPIPE|disconnected/

const descriptors = (): number => readdirSync('/proc/self/fd').length

describe('requests with hostile credentials', { timeout: 60_000 }, () => {
  test('there are at least 100 different ones', () => {
    const names = [
      ...headers.map(({ name }) => name),
      ...brokenHandshakes.map(([name]) => name),
      ...wrongOptions.map(([name]) => name),
    ]
    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThanOrEqual(100)
  })

  test('a valid request is answered', async () => {
    expect(statusOf(await exchange(wellFormed))).toBe(200)
    const token = await issuer.sign()
    expect(statusOf(await exchange(requestOf('/v2/models/double', [`authorization: bearer ${token}`])))).toBe(200)
  })

  test.each(headers)('HTTP: $name gets $status', async ({ lines: own, status }: HostileHeader) => {
    const before = descriptors()
    expect(statusOf(await exchange(requestOf('/v2/models/double', own)))).toBe(status)
    const body = '{"inputs":[]}'
    expect(statusOf(await exchange(requestOf('/v2/models/double/infer', own, body)))).toBe(status)
    expect(statusOf(await exchange(wellFormed))).toBe(200)
    await eventually(() => expect(descriptors()).toBeLessThanOrEqual(before))
  })

  test.each(headers.filter(({ lines: own, status }) => own.length === 1 && status !== 400 && status !== 431))(
    'gRPC: $name is refused before its message arrives',
    async ({ lines: [line], status }: HostileHeader) => {
      const [, name, value] = /^([^:]+): ?(.*)$/.exec(line!)!
      // Clients of HTTP/2 send what is in a header as it is.
      if (/[\t\u0080-\uffff]/.test(value!)) return
      const wanted = status === 403 ? '7' : '16'
      expect(await call('/inference.GRPCInferenceService/ModelInfer', { [name!]: value! })).toBe(wanted)
    },
  )

  test.each([
    ['/v2?access_token=SECRET', 400],
    ['/v2?x=1&token=SECRET', 400],
    ['/v2?ACCESS_TOKEN=SECRET', 400],
    ['/v2?authorization=Bearer%20SECRET', 400],
    ['/v2?api_key=SECRET', 400],
    ['/v2/health/live?jwt=SECRET', 400],
    ['http://ci:SECRET@localhost/v2', 401],
    ['//ci:SECRET@localhost/v2', 401],
    ['/v2/SECRET', 401],
    ['/v2;access_token=SECRET', 401],
    ['/v2%3Faccess_token=SECRET', 401],
  ] as const)('a token in the URL, %s, gets %i, and the log does not have it', async (target, status) => {
    lines.length = 0
    const answer = await exchange(requestOf(target.replace('SECRET', ci.token), []))
    expect(statusOf(answer)).toBe(status)
    // A path without a query is that of a request, whatever it says.
    if (/[?@]/.test(target)) expect(lines.join('')).not.toContain(ci.token)
  })

  test('a token in the body is none', async () => {
    const body = JSON.stringify({ inputs: [], parameters: { token: ci.token, authorization: `Bearer ${ci.token}` } })
    expect(statusOf(await exchange(requestOf('/v2/models/double/infer', [], body)))).toBe(401)
  })

  test('requests of one connection are checked each on its own', async () => {
    const open = requestOf('/v2/models/double', [`authorization: Bearer ${ci.token}`]).replace(
      'connection: close\r\n',
      '',
    )
    const answer = await exchange(open + requestOf('/v2/models/double', []))
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 401'])
  })

  test.each([
    ['a method that does not exist', '/inference.GRPCInferenceService/Nothing', {}, '16'],
    ['a service that does not exist', '/other/Method', {}, '16'],
    ['a stream', '/inference.GRPCInferenceService/ModelStreamInfer', {}, '16'],
    ['a load', '/inference.GRPCInferenceService/RepositoryModelLoad', { authorization: `Bearer ${ci.token}` }, '7'],
    [
      'shared memory',
      '/inference.GRPCInferenceService/SystemSharedMemoryStatus',
      { authorization: `Bearer ${ci.token}` },
      '7',
    ],
    ['a binary header', '/inference.GRPCInferenceService/ModelInfer', { 'authorization-bin': 'QmVhcmVy' }, '16'],
    ['a token in the path', `/inference.GRPCInferenceService/ModelInfer?access_token=${ci.token}`, {}, '16'],
    ['an odd time limit', '/inference.GRPCInferenceService/ModelInfer', { 'grpc-timeout': '99999999H' }, '16'],
    ['an encoding that nobody has', '/inference.GRPCInferenceService/ModelInfer', { 'grpc-encoding': 'br' }, '16'],
    [
      'another type of contents',
      '/inference.GRPCInferenceService/ModelInfer',
      { 'content-type': 'application/json' },
      '16',
    ],
  ] as const)('gRPC: %s is refused', async (_name, path, own, status) => {
    lines.length = 0
    expect(await call(path, own)).toBe(status)
    expect(lines.join('')).not.toContain(ci.token)
  })

  test('gRPC: two headers are refused, which Node.js would reduce to one', async () => {
    const method = '/inference.GRPCInferenceService/ModelInfer'
    const options = { ca, strictSingleValueFields: false }
    const session = connectHttp2(`https://127.0.0.1:${server!.grpcPort}`, options)
    const raw = [':method', 'POST', ':scheme', 'https', ':authority', 'localhost', ':path', method]
    const own = [`Bearer ${ci.token}`, 'Bearer x'].flatMap((value) => ['authorization', value])
    const stream = session.request([...raw, 'content-type', 'application/grpc', ...own])
    const status = await new Promise((resolve) => {
      stream.on('response', (sent) => resolve(sent['grpc-status']))
      stream.on('error', resolve)
    })
    session.destroy()
    // INVALID_ARGUMENT
    expect(status).toBe('3')
  })
})

describe('hostile handshakes', { timeout: 60_000 }, () => {
  const ports = (): readonly number[] => [server!.port, server!.grpcPort!, strict!.port, strict!.grpcPort!]

  test.each(brokenHandshakes)('%s ends the connection, or waits for the time of a handshake', async (_name, bytes) => {
    const before = descriptors()
    await Promise.all(
      ports().map(async (port) => {
        const socket = connect(port, '127.0.0.1')
        const chunks: Buffer[] = []
        socket.on('data', (chunk) => void chunks.push(chunk)).on('error', () => {})
        socket.end(bytes)
        await new Promise((resolve) => socket.once('close', resolve))
        // At most an alert of TLS.
        expect(Buffer.concat(chunks).length).toBeLessThan(16)
      }),
    )
    expect(statusOf(await exchange(wellFormed))).toBe(200)
    await eventually(() => expect(descriptors()).toBeLessThanOrEqual(before))
  })

  test.each(wrongOptions)('%s is refused', async (_name, options) => {
    for (const port of ports()) await expect(exchange('', options, port)).rejects.toThrow(/\w/)
    expect(statusOf(await exchange(wellFormed))).toBe(200)
  })

  test.each([
    ['no certificate', (): Certificate | undefined => undefined],
    ['a certificate of another authority', () => strangers.certify('/CN=client')],
    ['a certificate of the authority of the server', () => authority.certify('/CN=client')],
    ['a certificate that has expired', () => clients.certify('/CN=client', undefined, -1)],
    ['its own authority', () => ({ cert: strangers.cert, key: join(folder, 'strangers.key') })],
  ])('a client with %s is refused', async (_name, make) => {
    const own = make()
    const files = own === undefined ? {} : { cert: readFileSync(own.cert), key: readFileSync(own.key) }
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      for (const [port, protocol] of [
        [strict!.port, 'http/1.1'],
        [strict!.grpcPort!, 'h2'],
      ] as const) {
        const options = { ...files, maxVersion, ALPNProtocols: [protocol] }
        // A client of TLS 1.3 has its end of the handshake before the server has looked at its certificate.
        const answer = await exchange(requestOf('/v2/health/live', []), options, port).catch(String)
        expect(answer).toMatch(ENDED)
      }
    }
  })

  test('a thousand handshakes that do not end hold neither connections nor memory', async () => {
    const before = descriptors()
    const hello = Buffer.from('1603010200010001fc0303', 'hex')
    const sockets = Array.from({ length: 1000 }, (_, i) => {
      const socket = connect(ports()[i % 4]!, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(hello)
      return socket
    })
    expect(statusOf(await exchange(wellFormed))).toBe(200)
    // The time for a handshake is at most that of a request.
    await eventually(
      () => expect(sockets.every(({ destroyed, readableEnded }) => destroyed || readableEnded)).toBe(true),
      { timeout: 50_000, interval: 200 },
    )
    for (const socket of sockets) socket.destroy()
    await eventually(() => expect(descriptors()).toBeLessThanOrEqual(before))
  })
})

test('after all of them, the server has no connection, and the log has no token', async () => {
  expect(statusOf(await exchange(wellFormed))).toBe(200)
  expect(server!.isCrashed).toBe(false)
  for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow()
  const answer = await exchange(requestOf('/metrics', [`authorization: Bearer ${ci.token}`]))
  expect(statusOf(answer)).toBe(403)
})
