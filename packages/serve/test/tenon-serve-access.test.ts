import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { eventually } from '@tenon/config/eventually'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeFolder, makeToken, writeAccess } from './access-fixture.ts'
import { Authority } from './certificates.ts'
import { faulty, libfaulty, makeRepository } from './make-repository.ts'
import { runTenonServe, startTenonServe } from './tenon-serve.ts'

const makeModels = (): string =>
  makeRepository({ 'same/model.json': faulty(0), 'same/1/libfaulty.so': { copy: libfaulty } })

/** Starts the command, and waits until it listens. */
async function start(
  ...args: readonly string[]
): Promise<{ child: ChildProcess; lines: () => Record<string, unknown>[] }> {
  const child = startTenonServe(args)
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await eventually(() => expect(text, `${child.exitCode}`).toContain('listening'), { timeout: 30_000 })
  const lines = (): Record<string, unknown>[] =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { child, lines }
}

/** The status of a request over HTTPS. */
function statusOf(url: string, ca: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { ca, headers, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })
}

describe('tenon serve with access control', { timeout: 60_000 }, () => {
  test('encrypts, asks for tokens, has its monitoring apart, and logs each request', async () => {
    const repository = makeModels()
    const authority = new Authority(makeFolder())
    const { cert, key } = authority.certifyServer()
    const { entry, headers } = makeToken('ci')
    const access = writeAccess({ tokens: [entry], permissions: [{ callers: ['token:ci'], infer: ['*'] }] })
    const { child, lines } = await start(
      ...[repository, '--http-port', '0', '--grpc-port', '0', '--monitoring-port', '0'],
      ...['--tls-cert', cert, '--tls-key', key, '--access', access],
    )
    const { http, monitoring } = lines()[0] as { http: string; monitoring: string }
    expect(http).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const ca = readFileSync(authority.cert)
    expect(await statusOf(`${http}/v2/models/same`, ca)).toBe(401)
    expect(await statusOf(`${http}/v2/models/same`, ca, headers)).toBe(200)
    expect((await fetch(`${monitoring}/metrics`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(lines()).toMatchObject([
      { message: 'listening' },
      { level: 'warn', path: '/v2/models/same', status: 401 },
      { level: 'info', path: '/v2/models/same', status: 200, caller: 'token:ci' },
      { message: 'draining' },
      { message: 'drained' },
    ])
  })

  test('the log has the sample and the form that the flags say', async () => {
    const repository = makeModels()
    const { child, lines } = await start(repository, '--http-port', '0', '--no-grpc', '--log-sample', '0')
    const { http } = lines()[0] as { http: string }
    for (const path of ['/v2', '/nowhere']) await fetch(`${http}${path}`)
    child.kill('SIGTERM')
    await once(child, 'exit')
    expect(lines().map(({ message, path }) => path ?? message)).toEqual([
      'listening',
      '/nowhere',
      'draining',
      'drained',
    ])
  })

  test.each([
    [['--tls-cert', 'a.pem'], 2, '--tls-cert and --tls-key'],
    [['--tls-client-ca', 'a.pem'], 2, '--tls-client-ca'],
    [['--tls-crl', 'a.pem'], 2, '--tls-crl must be with --tls-client-ca'],
    [['--monitoring-host', '0.0.0.0'], 2, '--monitoring-host'],
    [['--log-sample', '2'], 2, '--log-sample'],
    [['--log-format', 'xml'], 2, 'log-format'],
    [
      ['--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.key'],
      1,
      '--tls-cert must be the path of a file that can be read, got /nowhere.pem: no such file or directory',
    ],
    [
      ['--tls-cert', 'CERT', '--tls-key', '/nowhere.key'],
      1,
      '--tls-key must be the path of a file that can be read, got /nowhere.key: no such file or directory',
    ],
    [
      ['--tls-cert', 'KEY', '--tls-key', 'KEY'],
      1,
      '--tls-cert must be the path of a certificate in the format PEM, got ',
    ],
    [
      ['--tls-cert', 'CERT', '--tls-key', 'CERT'],
      1,
      '--tls-key must be the path of a private key in the format PEM, got ',
    ],
    [['--tls-cert', 'CERT', '--tls-key', 'OTHER'], 1, '--tls-key must be the path of the key of the certificate, got '],
    [
      ['--tls-cert', 'CERT', '--tls-key', 'KEY', '--tls-client-ca', 'KEY'],
      1,
      '--tls-client-ca must be the path of the certificate of an authority in the format PEM, got ',
    ],
    [
      ['--tls-cert', 'CERT', '--tls-key', 'KEY', '--tls-client-ca', 'CERT', '--tls-crl', 'CERT'],
      1,
      '--tls-crl must be the path of lists of revoked certificates in the format PEM, got ',
    ],
    [
      ['--access', '/nowhere.json'],
      1,
      '--access must be the path of a file that can be read, got /nowhere.json: no such file or directory',
    ],
    // A path that has the name of an option stays as it is.
    [['--access', '/tls/access'], 1, 'got /tls/access: no such file'],
    [
      ['--host', '0.0.0.0', '--access', 'ACCESS'],
      2,
      '--access must be with --tls-cert and --tls-key if other machines reach the server, got the host 0.0.0.0\nhint: Add --tls-cert and --tls-key, or --allow-plain-tokens behind',
    ],
    [
      ['--max-request-bytes', '1MiB', '--max-in-flight-bytes', '1KiB'],
      2,
      '--max-in-flight-bytes must be at least --max-request-bytes, which is 1048576, got 1024',
    ],
    [['--allow-client-shm', '../x'], 2, '--allow-client-shm must '],
    [
      ['--host', '0.0.0.0', '--allow-client-shm', 'mine-'],
      2,
      '--allow-client-shm must be for servers of this machine only',
    ],
    [
      ['--allow-origin', 'example.org'],
      2,
      '--allow-origin must have origins such as https://example.org, got "example.org"',
    ],
  ] as const)('%j ends with %i, and names the flag', async (flags, code, expected) => {
    const authority = new Authority(makeFolder())
    const [own, other] = [authority.certifyServer(), authority.certifyServer()]
    const files: Readonly<Record<string, string>> = {
      ACCESS: writeAccess({ permissions: [] }),
      CERT: own.cert,
      KEY: own.key,
      OTHER: other.key,
    }
    const args = flags.map((flag) => files[flag] ?? flag)
    const ended = await runTenonServe(makeModels(), '--http-port', '0', '--no-grpc', ...args)
    expect(ended.stderr).toContain(expected)
    expect(ended.code).toBe(code)
    expect(ended.stderr).not.toMatch(
      /tls\.|clientCa|allowPlainTokens|allowClientSharedMemory|allowedOrigins|max\w+Bytes/,
    )
  })

  test('an empty folder names the flag for models that are loaded later', async () => {
    const { code, stderr } = await runTenonServe(makeRepository({}), '--http-port', '0', '--no-grpc')
    expect([code, stderr]).toEqual([1, expect.stringContaining('start with --model-control explicit, with which')])
  })
})
