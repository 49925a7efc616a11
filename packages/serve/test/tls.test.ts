import { ArgumentError } from '@tenon/core'
import { eventually } from '@tenon/config/eventually'
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { describe, expect, test } from 'vitest'
import type { ServerOptions } from '../src/index.ts'
import { bearer, makeFolder, makeToken, writeAccess } from './access-fixture.ts'
import { Authority, type Certificate } from './certificates.ts'
import { double, heldModel } from './models.ts'
import { input, inferText, Served } from './support.ts'
import { call, firstSession, get, handshake, read } from './tls-clients.ts'

/** A folder with an authority, and a server with a certificate of it. */
async function start(options: Partial<ServerOptions> = {}, tls: object = {}, models = [double]) {
  const folder = makeFolder()
  const authority = new Authority(folder)
  const own = authority.certifyServer()
  const served = await Served.start(models, { grpc: { port: 0 }, tls: { ...own, ...tls }, ...options })
  return { folder, authority, own, served, ca: readFileSync(authority.cert) }
}

describe('encryption', () => {
  test('HTTP and gRPC are answered over TLS 1.2 and 1.3, and not below', async () => {
    const { served, ca } = await start()
    expect((await get(served, '/v2', { ca })).status).toBe(200)
    expect(await call(served, ca)).toBe(0)
    for (const port of [served.server.port, served.server.grpcPort!]) {
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const socket = await handshake(port, {
          ca,
          minVersion: version,
          maxVersion: version,
          ALPNProtocols: ['h2', 'http/1.1'],
        })
        expect(socket.getProtocol()).toBe(version)
        socket.destroy()
      }
      for (const version of ['TLSv1', 'TLSv1.1'] as const) {
        const old = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' } as const
        await expect(handshake(port, { ca, ...old })).rejects.toThrow(/protocol version|unsupported protocol/i)
      }
    }
    const strict = await start({}, { minVersion: 'TLSv1.3' })
    await expect(handshake(strict.served.server.port, { ca: strict.ca, maxVersion: 'TLSv1.2' })).rejects.toThrow(/\w/)
    await expect(handshake(strict.served.server.grpcPort!, { ca: strict.ca, maxVersion: 'TLSv1.2' })).rejects.toThrow(
      /\w/,
    )
  })

  test('a client cannot negotiate again', async () => {
    const { served, ca } = await start()
    for (const port of [served.server.port, served.server.grpcPort!]) {
      const socket = await handshake(port, { ca, maxVersion: 'TLSv1.2', ALPNProtocols: ['h2', 'http/1.1'] })
      const error = await new Promise((resolve) => {
        socket.once('error', resolve)
        socket.once('close', () => resolve(new Error('closed')))
        socket.renegotiate({ rejectUnauthorized: false }, (problem) => resolve(problem))
      })
      expect(String(error)).toMatch(/renegotiation|closed/i)
    }
    expect((await get(served, '/v2', { ca })).status).toBe(200)
  })

  test('a request without encryption gets no answer, and is a line in the log', async () => {
    const lines: string[] = []
    const { served, ca } = await start({ log: { format: 'json', write: (line) => void lines.push(line) } })
    await expect(served.send('GET', '/v2')).rejects.toThrow(/\w/)
    await eventually(() => expect(lines.join('')).toContain('"a TLS handshake failed"'))
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'warn', reason: 'ERR_SSL_HTTP_REQUEST', address: '127.0.0.1' })
    expect((await get(served, '/v2', { ca })).status).toBe(200)
  })

  test('a client that ends its side still gets its answer, and a pipeline is answered', async () => {
    const { served, ca } = await start()
    const body = JSON.stringify({ inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
    for (const count of [1, 3]) {
      const socket = await handshake(served.server.port, { ca, allowHalfOpen: true } as ConnectionOptions)
      let text = ''
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
      socket.end(inferText('double', body).repeat(count))
      await eventually(() => expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(count))
      await eventually(() => expect(socket.readableEnded).toBe(true))
    }
  })

  test('connections in their handshake do not keep a server from closing', async () => {
    const { served } = await start()
    const sockets: Socket[] = []
    for (const port of [served.server.port, served.server.grpcPort!]) {
      for (const bytes of ['', '\u0016\u0003\u0001']) {
        const socket = connect(port, '127.0.0.1')
        await new Promise((resolve) => socket.once('connect', resolve))
        if (bytes !== '') socket.write(bytes, 'latin1')
        socket.on('error', () => {})
        sockets.push(socket)
      }
    }
    // The time for a handshake is ten seconds.
    const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), 9000)
    expect(await served.server.closeAsync({ deadline: 60_000 })).toBe(true)
    expect(sockets.map(({ destroyed }) => destroyed)).not.toContain(undefined)
    clearTimeout(timer)
    await eventually(() => expect(sockets.every(({ destroyed }) => destroyed)).toBe(true))
  })

  test('requests that run are answered while a server closes', async () => {
    const { model, begun, finish } = heldModel()
    const { served, ca } = await start({}, {}, [model])
    const socket = await handshake(served.server.port, { ca })
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.write(inferText('slow', JSON.stringify({ inputs: [input('x', 'FP32', [1], [1])] })))
    await begun
    const closing = served.server.closeAsync()
    finish()
    expect(await closing).toBe(true)
    await eventually(() => expect(text).toContain('HTTP/1.1 200 OK'))
    expect(text).toContain('connection: close')
  })

  test.each([
    ['a certificate that is absent', { cert: '/nowhere.pem' }, /tls.cert .* \/nowhere.pem/],
    ['a key that is absent', { key: '/nowhere.key' }, /tls.key/],
    ['authorities that are absent', { clientCa: '/nowhere.pem' }, /tls.clientCa/],
    ['a version that is not safe', { minVersion: 'TLSv1' }, /minVersion/],
    ['an option that does not exist', { pfx: 'x' }, /pfx/],
  ] as const)('%s is refused at the start', async (_name, tls, expected) => {
    await expect(start({}, tls)).rejects.toThrow(expected)
  })

  test('a key of another certificate, and authorities that are none, are refused at the start', async () => {
    const folder = makeFolder()
    const authority = new Authority(folder)
    const [one, other] = [authority.certifyServer(), authority.certifyServer()]
    await expect(Served.start([], { tls: { ...one, key: other.key } })).rejects.toThrow(ArgumentError)
    const empty = join(folder, 'empty.pem')
    writeFileSync(empty, '')
    for (const clientCa of [empty, one.key])
      await expect(Served.start([], { tls: { ...one, clientCa } })).rejects.toThrow(
        'tls.clientCa must be the path of the certificate of an authority in the format PEM, got ',
      )
  })
})

describe('certificates of clients', () => {
  test('a client needs one of the authority, over HTTP and gRPC', async () => {
    const folder = makeFolder()
    const [authority, other] = [new Authority(folder, 'clients'), new Authority(folder, 'others')]
    const { served, ca } = await start({}, { clientCa: authority.cert })
    const [known, stranger] = [authority.certify('/CN=known'), other.certify('/CN=stranger')]
    const expired = authority.certify('/CN=late', undefined, -1)
    expect((await get(served, '/v2', { ca, ...read(known) })).status).toBe(200)
    expect(await call(served, ca, known)).toBe(0)
    await expect(get(served, '/v2', { ca })).rejects.toThrow(/\w/)
    for (const wrong of [stranger, expired]) {
      await expect(get(served, '/v2', { ca, ...read(wrong) })).rejects.toThrow(/\w/)
      expect(await call(served, ca, wrong)).toBe(14)
    }
    expect(await call(served, ca)).toBe(14)
  })

  test('its names have permissions, and a token wins over them', async () => {
    const folder = makeFolder()
    const authority = new Authority(folder, 'clients')
    const { entry, headers } = makeToken('ci')
    const access = writeAccess({
      tokens: [entry],
      permissions: [
        { callers: ['certificate:spiffe://cluster/ns/a'], infer: ['*'] },
        { callers: ['certificate:plain'], infer: ['double'] },
        { callers: ['token:ci'], admin: ['metrics'] },
      ],
    })
    const { served, ca } = await start({ access }, { clientCa: authority.cert })
    const uri = authority.certify('/CN=admin', 'URI:spiffe://cluster/ns/a,DNS:a.test')
    const plain = authority.certify('/CN=plain')
    const status = async (own: Certificate, path: string, more: object = {}): Promise<number> =>
      (await get(served, path, { ca, ...read(own), headers: more })).status
    expect(await status(uri, '/v2/models/double')).toBe(200)
    expect(await status(plain, '/v2/models/double')).toBe(200)
    expect([await status(plain, '/metrics'), await status(plain, '/metrics', headers)]).toEqual([403, 200])
    expect(await status(plain, '/v2/models/double', headers)).toBe(403)
    expect(await status(plain, '/v2/models/double', bearer('wrong'))).toBe(401)
    expect([await call(served, ca, plain), await call(served, ca, plain, bearer('wrong'))]).toEqual([0, 16])
    // Names that only look like the one with permissions.
    for (const [subject, names] of [
      ['/CN=spiffe:\\/\\/cluster\\/ns\\/a', undefined],
      ['/CN=x/CN=plain', undefined],
      ['/CN=plain', 'DNS:a.test'],
      ['/CN=plain', 'otherName:1.2.3.4;UTF8:URI:spiffe://cluster/ns/a'],
      ['/CN=x', { email: 'a, URI:spiffe://cluster/ns/a, b@x.test' }],
      ['/CN=x', { URI: 'a://", URI:spiffe://cluster/ns/a' }],
      ['/CN=x', { DNS: 'a\\", URI:spiffe://cluster/ns/a, DNS:b' }],
      ['/CN=x', 'URI:spiffe://cluster/ns/a/b'],
    ] as const) {
      const hostile = authority.certify(subject, names)
      const found = await status(hostile, '/v2/models/double')
      expect([subject, names, found === 401 ? 403 : found]).toEqual([subject, names, 403])
    }
  })
})

describe('certificates that change', () => {
  /** The serial number of the certificate of a server, over HTTP and gRPC. */
  async function serials({ server }: Served): Promise<string[]> {
    const found = [server.port, server.grpcPort!].map(async (port) => {
      const socket = await handshake(port, { rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] })
      const { serialNumber } = socket.getPeerCertificate()
      socket.destroy()
      return serialNumber
    })
    return Promise.all(found)
  }

  test('count for new connections, and those that are open go on', async () => {
    const { served, authority, own, ca } = await start()
    const before = await serials(served)
    expect(before[0]).toBe(before[1])
    const open = await handshake(served.server.port, { ca })
    const next = authority.certifyServer()
    renameSync(next.key, own.key)
    renameSync(next.cert, own.cert)
    await eventually(async () => expect(new Set(await serials(served)).has(before[0]!)).toBe(false))
    expect(new Set(await serials(served)).size).toBe(1)
    let text = ''
    open.on('data', (chunk: Buffer) => (text += chunk.toString()))
    open.write('GET /v2 HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await eventually(() => expect(text).toContain('HTTP/1.1 200 OK'))
  })

  test('are found behind a link that is replaced, as those of Kubernetes are', async () => {
    const folder = makeFolder()
    const authority = new Authority(folder)
    const write = (name: string): void => {
      const { cert, key } = authority.certifyServer()
      mkdirSync(join(folder, name))
      copyFileSync(cert, join(folder, name, 'tls.crt'))
      copyFileSync(key, join(folder, name, 'tls.key'))
      symlinkSync(name, join(folder, '..data.new'))
      renameSync(join(folder, '..data.new'), join(folder, '..data'))
    }
    write('..first')
    for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(folder, file))
    const tls = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
    const served = await Served.start([], { tls, grpc: { port: 0 } })
    const before = await serials(served)
    write('..second')
    await eventually(async () => expect(new Set([...before, ...(await serials(served))]).size).toBe(2))
    await eventually(async () => expect(await serials(served)).not.toContain(before[0]))
  })

  test('that are broken leave the old ones, and the log says so', async () => {
    const lines: string[] = []
    const log = { format: 'json', write: (line: string) => void lines.push(line) } as const
    const { served, authority, own } = await start({ log })
    const before = await serials(served)
    const next = authority.certifyServer()
    cpSync(next.cert, own.cert)
    await eventually(() => expect(lines.join('')).toContain('cannot be read again'))
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'error', reason: expect.stringContaining('key') as string })
    expect(await serials(served)).toEqual(before)
    cpSync(next.key, own.key)
    await eventually(async () => expect(await serials(served)).not.toContain(before[0]))
    expect(lines.filter((line) => line.includes('cannot be read again'))).toHaveLength(1)
  })

  test('of authorities also count for sessions that a client resumes', async () => {
    const folder = makeFolder()
    const [authority, other] = [new Authority(folder, 'clients'), new Authority(folder, 'others')]
    const clientCa = join(folder, 'client-ca.pem')
    copyFileSync(authority.cert, clientCa)
    const { served, ca } = await start({}, { clientCa })
    const own = read(authority.certify('/CN=known'))
    const { port } = served.server
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      copyFileSync(authority.cert, clientCa)
      const session = await eventually(() => firstSession({ host: '127.0.0.1', port, ca, ...own, maxVersion }))
      const resumed = await handshake(port, { ca, ...own, maxVersion, session })
      expect(resumed.isSessionReused()).toBe(true)
      resumed.destroy()
      copyFileSync(other.cert, clientCa)
      await eventually(async () => {
        const outcome = await new Promise((resolve) => {
          const socket = connectTls({ host: '127.0.0.1', port, ca, ...own, maxVersion, session })
          socket.on('error', () => resolve('refused'))
          socket.on('close', () => resolve('refused'))
          socket.on('data', (chunk: Buffer) => resolve(chunk.toString().slice(0, 12)))
          socket.write('GET /v2 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
        })
        expect(outcome).toBe('refused')
      })
    }
  })
})

describe('the monitoring', () => {
  test('has a listener of its own, without encryption and tokens, and the paths of the models are not there', async () => {
    const access = writeAccess({ permissions: [{ callers: ['*'], infer: ['*'], admin: ['*'] }] })
    const { served, ca } = await start({ access, monitoring: { port: 0 } })
    const address = served.server.monitoringAddress!
    const status = async (path: string): Promise<number> => (await fetch(`http://${address}${path}`)).status
    expect(
      await Promise.all(['/metrics', '/v2/health/live', '/v2/health/ready', '/v2', '/v2/models/double'].map(status)),
    ).toEqual([200, 200, 200, 404, 404])
    expect(await (await fetch(`http://${address}/metrics`)).text()).toContain('tenon_connections')
    expect((await get(served, '/v2/health/live', { ca })).status).toBe(200)
    expect((await get(served, '/metrics', { ca })).status).toBe(401)
    const open = await Served.start([double], { monitoring: { port: 0 } })
    expect((await open.send('GET', '/metrics')).status).toBe(404)
    // It is there until the last request was answered.
    await served.server.closeAsync()
    await expect(fetch(`http://${address}/metrics`)).rejects.toThrow(/\w/)
  })
})
