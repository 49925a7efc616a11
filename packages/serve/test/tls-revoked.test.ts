import { eventually } from '@tenon/config/eventually'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { makeFolder } from './access-fixture.ts'
import { Authority, type Certificate } from './certificates.ts'
import { double } from './models.ts'
import { Served } from './support.ts'
import { call, firstSession, get, handshake, read } from './tls-clients.ts'

/** A server with a list of revoked certificates, and the certificates of two clients. @param days the time until the first list expires. */
async function start(days?: number) {
  const folder = makeFolder()
  const [authority, clients] = [new Authority(folder), new Authority(folder, 'clients')]
  const [good, bad] = [clients.certify('/CN=good'), clients.certify('/CN=bad')]
  const crl = join(folder, 'clients.crl')
  writeFileSync(crl, clients.revoke([], days))
  const lines: string[] = []
  const served = await Served.start([double], {
    grpc: { port: 0 },
    tls: { ...authority.certifyServer(), clientCa: clients.cert, crl },
    log: { format: 'json', write: (line) => void lines.push(line) },
  })
  const ca = readFileSync(authority.cert)
  /** Whether a client is answered, over HTTP and over gRPC. */
  const outcome = async (own: Certificate): Promise<[http: number | string, grpc: number]> => {
    const http = await get(served, '/v2', { ca, ...read(own) }).then(
      ({ status }) => status,
      () => 'refused',
    )
    return [http, await call(served, ca, own)]
  }
  const reasons = (): unknown[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).flatMap(({ reason = [] }) => reason)
  return { folder, clients, good, bad, crl, lines, served, ca, outcome, reasons }
}

const ANSWERED = [200, 0]
const REFUSED = ['refused', 14]

describe('certificates of clients that are revoked', () => {
  test('are refused over HTTP and gRPC after the list was replaced, and the log has the reason', async () => {
    const { clients, good, bad, crl, lines, outcome, reasons } = await start()
    expect([await outcome(good), await outcome(bad)]).toEqual([ANSWERED, ANSWERED])
    writeFileSync(crl, clients.revoke([bad]))
    await eventually(() => expect(lines.join('')).toContain('the certificates were read again'))
    expect([await outcome(good), await outcome(bad)]).toEqual([ANSWERED, REFUSED])
    // A client of gRPC may try again.
    await eventually(() => expect(reasons().length).toBeGreaterThanOrEqual(2))
    expect(new Set(reasons())).toEqual(new Set(['CERT_REVOKED']))
    expect(lines.join('')).toContain('"message":"the certificate of a client was refused"')
  })

  test('cannot resume an earlier session', async () => {
    const { clients, bad, crl, lines, served, ca } = await start()
    const { port } = served.server
    const own = { ca, ...read(bad) }
    const sessions = await Promise.all(
      (['TLSv1.2', 'TLSv1.3'] as const).map(async (maxVersion) => {
        const session = await firstSession({ host: '127.0.0.1', port, ...own, maxVersion })
        const resumed = await handshake(port, { ...own, maxVersion, session })
        expect(resumed.isSessionReused()).toBe(true)
        resumed.destroy()
        return { maxVersion, session }
      }),
    )
    writeFileSync(crl, clients.revoke([bad]))
    await eventually(() => expect(lines.join('')).toContain('were read again'))
    for (const one of sessions) {
      const text = await new Promise((resolve) => {
        const socket = connectTls({ host: '127.0.0.1', port, ...own, ...one })
        socket.on('error', () => resolve(''))
        socket.on('close', () => resolve(''))
        socket.on('data', (chunk: Buffer) => resolve(chunk.toString()))
        socket.write('GET /v2 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
      })
      expect(text).toBe('')
    }
  })

  test('a broken list leaves the old one', async () => {
    const { clients, good, bad, crl, lines, outcome } = await start()
    writeFileSync(crl, clients.revoke([bad]))
    await eventually(() => expect(lines.join('')).toContain('were read again'))
    writeFileSync(crl, '-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n')
    await eventually(() => expect(lines.join('')).toContain('the old ones stay'))
    expect([await outcome(good), await outcome(bad)]).toEqual([ANSWERED, REFUSED])
  })

  test('every client is refused while the list has expired, or is that of another authority', async () => {
    const { folder, clients, good, crl, lines, outcome, reasons } = await start(-1)
    expect(await outcome(good)).toEqual(REFUSED)
    await eventually(() => expect(new Set(reasons())).toEqual(new Set(['CRL_HAS_EXPIRED'])))
    const other = new Authority(folder, 'others').revoke([])
    writeFileSync(crl, other)
    await eventually(() => expect(lines.join('')).toContain('were read again'))
    expect(await outcome(good)).toEqual(REFUSED)
    await eventually(() => expect(new Set(reasons())).toEqual(new Set(['CRL_HAS_EXPIRED', 'UNABLE_TO_GET_CRL'])))
    // A file with the lists of several authorities.
    writeFileSync(crl, other + clients.revoke([]))
    await eventually(async () => expect(await outcome(good)).toEqual(ANSWERED))
  })

  test('a list needs the authorities of clients, and text in the format PEM', async () => {
    const folder = makeFolder()
    const authority = new Authority(folder)
    const own = authority.certifyServer()
    await expect(Served.start([], { tls: { ...own, crl: own.cert } })).rejects.toThrow(
      'tls.crl must be with tls.clientCa',
    )
    const tls = { ...own, clientCa: authority.cert, crl: own.cert }
    await expect(Served.start([], { tls })).rejects.toThrow(
      `tls.crl must be the path of lists of revoked certificates in the format PEM, got ${own.cert}: it has none`,
    )
  })
})
