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
    [['--monitoring-host', '0.0.0.0'], 2, '--monitoring-host'],
    [['--log-sample', '2'], 2, '--log-sample'],
    [['--log-format', 'xml'], 2, 'log-format'],
    [['--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.key'], 1, '/nowhere.pem'],
    [['--access', '/nowhere.json'], 1, '/nowhere.json'],
    [['--host', '0.0.0.0', '--access', 'ACCESS'], 1, 'without tls'],
  ] as const)('%j ends with %i', async (flags, code, expected) => {
    const access = writeAccess({ permissions: [] })
    const repository = makeModels()
    const args = flags.map((flag) => (flag === 'ACCESS' ? access : flag))
    const ended = await runTenonServe(repository, '--http-port', '0', '--no-grpc', ...args)
    expect(ended.stderr).toContain(expected)
    expect(ended.code).toBe(code)
  })
})
