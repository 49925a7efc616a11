import { ArgumentError, KernelDeadlineError } from '@tenon/core'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient, PermissionDeniedError, ProtocolError, UnauthenticatedError } from '../src/client.ts'
import type { Client, ClientOptions } from '../src/client.ts'
import { makeFolder, makeToken, writeAccess } from './access-fixture.ts'
import { Authority } from './certificates.ts'
import { double } from './models.ts'
import { Served } from './support.ts'

const x = [[1, 2, 3, 4]]

function open(url: string, options: ClientOptions): Client {
  const client = createClient(url, options)
  onTestFinished(() => client.closeAsync())
  return client
}

describe('a client with a token', () => {
  test('sends it with each request, and a function is asked each time', async () => {
    const [first, second] = [makeToken('first'), makeToken('second')]
    const permissions = [{ callers: ['token:*'], infer: ['double'] }]
    const access = writeAccess({ tokens: [first.entry, second.entry], permissions })
    const served = await Served.start([double], { access })
    const url = `http://${served.server.httpAddress}`
    const one = open(url, { token: first.token })
    expect([...(await one.infer('double', { x }))['y']!.data]).toEqual([2, 4, 6, 8])
    expect((await one.metadata()).name).toBe('tenon')
    const tokens = ['unknown', second.token]
    const changing = open(url, { token: () => Promise.resolve(tokens.length > 1 ? tokens.shift()! : tokens[0]!) })
    await expect(changing.metadata()).rejects.toThrow(UnauthenticatedError)
    expect(await changing.ready('double')).toBe(true)
    await expect(open(url, {}).metadata()).rejects.toThrow(UnauthenticatedError)
    expect(await open(url, {}).live()).toBe(true)
    await expect(one.infer('other', { x })).rejects.toThrow(PermissionDeniedError)
    await expect(one.load('double')).rejects.toThrow(PermissionDeniedError)
  })

  test('learns from a refusal for which action it lacks the permission', async () => {
    const { entry, token, headers } = makeToken('user')
    const permissions = [{ callers: ['token:user'], infer: ['double'] }]
    const served = await Served.start([double], { access: writeAccess({ tokens: [entry], permissions }) })
    const client = open(`http://${served.server.httpAddress}`, { token })
    await expect(client.infer('other', { x })).rejects.toThrow('the caller must not use the model "other"')
    await expect(client.load('double')).rejects.toThrow('the caller must not load the model "double"')
    for (const [path, action] of [
      ['/metrics', 'read the metrics'],
      ['/v2/systemsharedmemory/status', 'use shared memory'],
    ] as const) {
      const { body } = await served.send('GET', path, undefined, headers)
      expect(body.toString()).toContain(`the caller must not ${action}. `)
    }
  })

  test('does not send it to the place to which a server redirects', async () => {
    const headers: (string | undefined)[] = []
    const serve = async (status: number, more: object): Promise<string> => {
      const server = createServer((request, response) => {
        headers.push(request.headers.authorization)
        response.writeHead(status, { ...more }).end('{}')
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void server.close())
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    }
    const other = await serve(200, {})
    const client = open(await serve(307, { location: `${other}/v2` }), { token: 'secret', retries: 0 })
    await expect(client.metadata()).rejects.toThrow(ProtocolError)
    expect(headers).toEqual(['Bearer secret'])
  })

  test('waits for a function until the deadline, and its error is that of the request', async () => {
    const url = 'http://127.0.0.1:1'
    const late = open(url, { token: () => new Promise<string>(() => {}), deadline: 50 })
    await expect(late.metadata()).rejects.toThrow(KernelDeadlineError)
    const failing = open(url, { token: () => Promise.reject(new Error('no token')) })
    await expect(failing.metadata()).rejects.toThrow('no token')
    const wrong = open(url, { token: () => 'a\r\nx: y' })
    await expect(wrong.metadata()).rejects.toThrow(ArgumentError)
  })

  test('refuses tokens that are not valid or could be read, without repeating them', () => {
    const plain = { token: 'secret' }
    expect(() => createClient('http://models.test', plain)).toThrow(/without encryption/)
    expect(() => createClient('http://user:secret@127.0.0.1')).toThrow(/a name or a password/)
    void open('http://models.test', { ...plain, allowPlainTokens: true })
    void open('https://models.test', plain)
    for (const url of ['http://localhost', 'http://127.0.0.2:80', 'http://[::1]:8000']) void open(url, plain)
    for (const token of ['', 'a b', 'a\r\nx: y', 1, {}]) {
      expect(() => createClient('https://models.test', { token } as ClientOptions)).toThrow(ArgumentError)
    }
    expect(() => createClient('https://models.test', { token: 'se cret' })).not.toThrow(/cret/)
    expect(() => createClient('http://127.0.0.1', { ca: '-----BEGIN CERTIFICATE-----' })).toThrow(/https:/)
    expect(() => createClient('https://127.0.0.1', { ca: '/etc/ca.pem' })).toThrow(/text of a PEM file/)
  })
})

test('a client trusts the authority that it has, and shows its certificate', async () => {
  const authority = new Authority(makeFolder())
  const served = await Served.start([double], { tls: { ...authority.certifyServer(), clientCa: authority.cert } })
  const url = `https://${served.server.httpAddress}`
  const own = authority.certify('/CN=client')
  const [ca, cert, key] = [authority.cert, own.cert, own.key].map((path) => readFileSync(path, 'utf8')) as [
    string,
    string,
    string,
  ]
  const client = open(url, { ca, cert, key })
  expect([...(await client.infer('double', { x }))['y']!.data]).toEqual([2, 4, 6, 8])
  const errorOf = async (address: string, options: ClientOptions): Promise<{ sentence: string; hint: string }> =>
    (await open(address, { ...options, retries: 0 })
      .metadata()
      .catch((error: unknown) => error)) as { sentence: string; hint: string }
  const server = `the server ${url} cannot be reached: `
  for (const [options, reason] of [
    [{ cert, key }, 'self-signed certificate in certificate chain'],
    [{ ca }, 'tlsv13 alert certificate required'],
    [{ ca, cert, key: readFileSync(authority.certify('/CN=other').key, 'utf8') }, 'key values mismatch'],
  ] as const) {
    const { sentence, hint } = await errorOf(url, options)
    expect([sentence, hint]).toEqual([server + reason, expect.stringContaining('the option ca')])
  }
  const { hint } = await errorOf(url.replace('https', 'http'), {})
  expect(hint).toContain('http: or https:')
  const plain = await Served.start([double])
  const { sentence } = await errorOf(`https://${plain.server.httpAddress}`, { ca })
  expect(sentence).toMatch(/ cannot be reached: wrong version number$/)
})
