import { ArgumentError } from '@tenon/core'
import { eventually } from '@tenon/config/eventually'
import { connect } from 'node:net'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Health } from '../src/generated/health_pb.js'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { Issuer, bearer, makeFolder, makeToken, serveKeys, writeAccess, ISSUER } from './access-fixture.ts'
import { Caller } from './caller.ts'
import { GrpcStream } from './grpc-stream.ts'
import { double, echo } from './models.ts'
import { input, Served } from './support.ts'

const infer = GRPCInferenceService.method.modelInfer

const request = { inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] }
const message = {
  modelName: 'double',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1n, 4n], contents: { fp32Contents: [1, 2, 3, 4] } }],
}

/** A server with the models `double` and `echo_f32`, and callers with a token of each kind. */
async function start() {
  const [user, loader, operator, other] = ['user', 'loader', 'operator', 'other'].map((name) => makeToken(name)) as [
    ReturnType<typeof makeToken>,
    ReturnType<typeof makeToken>,
    ReturnType<typeof makeToken>,
    ReturnType<typeof makeToken>,
  ]
  const access = writeAccess({
    tokens: [user, loader, operator, other].map(({ entry }) => entry),
    permissions: [
      { callers: ['token:user'], infer: ['double'] },
      { callers: ['token:loader'], load: ['double'] },
      { callers: ['token:operator'], infer: ['*'], load: ['*'], admin: ['*'] },
    ],
  })
  const caller = await Caller.start([double, echo('f32')], { access, allowClientSharedMemory: 'access-test-' })
  return { caller, served: caller.served, access, user, loader, operator, other }
}

const textOf = ({ body }: { readonly body: Buffer }): string => body.toString()

describe('access by tokens', () => {
  test('a request without a token gets 401 and the scheme, wherever it goes', async () => {
    const { served, caller } = await start()
    for (const [method, path] of [
      ['GET', '/v2'],
      ['GET', '/v2/models/double'],
      ['GET', '/v2/models/absent'],
      ['GET', '/v2/models/stats'],
      ['POST', '/v2/models/double/infer'],
      ['POST', '/v2/repository/models/double/load'],
      ['GET', '/v2/systemsharedmemory/status'],
      ['GET', '/metrics'],
      ['GET', '/absent'],
      ['PUT', '/v2'],
      ['GET', '/v2/models/%zz'],
    ] as const) {
      const reply = await served.send(method, path)
      expect([path, reply.status, reply.headers['www-authenticate']]).toEqual([path, 401, 'Bearer realm="tenon"'])
      expect(textOf(reply)).toContain('must have credentials')
    }
    const { method } = GRPCInferenceService
    for (const one of [
      method.serverMetadata,
      method.modelMetadata,
      method.repositoryIndex,
      method.modelInfer,
    ] as const) {
      expect(await caller.errorOf(one, Buffer.alloc(0))).toEqual([
        'UNAUTHENTICATED',
        expect.stringContaining('must have credentials'),
      ])
    }
  })

  test('health is open to everybody, except for that of a model', async () => {
    const { served, caller, user } = await start()
    expect((await served.send('GET', '/v2/health/live')).status).toBe(200)
    expect((await served.send('GET', '/v2/health/ready')).status).toBe(200)
    expect(await caller.call(GRPCInferenceService.method.serverLive, {})).toMatchObject({ live: true })
    expect(await caller.call(Health.method.check, {})).toMatchObject({ status: 1 })
    for (const service of ['double', 'absent']) {
      expect((await caller.errorOf(Health.method.check, { service }))[0]).toBe('UNAUTHENTICATED')
    }
    expect(await caller.call(Health.method.check, { service: 'double' }, { headers: user.headers })).toMatchObject({
      status: 1,
    })
    expect((await served.send('GET', '/v2/models/double/ready')).status).toBe(401)
  })

  test('a caller uses the models that it may, and does not learn which others there are', async () => {
    const { served, caller, user, operator } = await start()
    const send = async (path: string): Promise<[number, string]> => {
      const reply = await served.send('POST', path, JSON.stringify(request), user.headers)
      return [reply.status, textOf(reply).replaceAll(/echo_f32|absent/g, 'X')]
    }
    expect((await send('/v2/models/double/infer'))[0]).toBe(200)
    const other = await send('/v2/models/echo_f32/infer')
    expect(other[0]).toBe(403)
    expect(await send('/v2/models/absent/infer')).toEqual(other)
    for (const rest of ['', '/config', '/stats', '/ready', '/versions/1']) {
      const [existing, absent] = await Promise.all(
        ['echo_f32', 'absent'].map((model) =>
          served.send('GET', `/v2/models/${model}${rest}`, undefined, user.headers),
        ),
      )
      expect([rest, existing!.status, absent!.status]).toEqual([rest, 403, 403])
    }
    const stats = await served.send('GET', '/v2/models/stats', undefined, user.headers)
    expect(
      (JSON.parse(textOf(stats)) as { model_stats: { name: string }[] }).model_stats.map(({ name }) => name),
    ).toEqual(['double'])
    const index = await served.send('POST', '/v2/repository/index', '{}', user.headers)
    expect((JSON.parse(textOf(index)) as { name: string }[]).map(({ name }) => name)).toEqual(['double'])
    expect((await served.send('GET', '/v2/models/absent', undefined, operator.headers)).status).toBe(404)

    const { headers } = user
    await caller.call(infer, message, { headers })
    const denied = await caller.errorOf(infer, { ...message, modelName: 'echo_f32' }, { headers })
    expect(denied[0]).toBe('PERMISSION_DENIED')
    expect((await caller.errorOf(infer, { ...message, modelName: 'absent' }, { headers }))[0]).toBe('PERMISSION_DENIED')
    const { modelStatistics, repositoryIndex, modelMetadata } = GRPCInferenceService.method
    expect((await caller.call(modelStatistics, {}, { headers })).modelStats.map(({ name }) => name)).toEqual(['double'])
    expect((await caller.call(repositoryIndex, {}, { headers })).models.map(({ name }) => name)).toEqual(['double'])
    expect((await caller.errorOf(modelMetadata, { name: 'echo_f32' }, { headers }))[0]).toBe('PERMISSION_DENIED')
  })

  test('loading, metrics and shared memory need permissions of their own', async () => {
    const { served, caller, user, loader, operator, other } = await start()
    const load = async (
      { headers }: { readonly headers: { readonly authorization: string } },
      model: string,
    ): Promise<number> => (await served.send('POST', `/v2/repository/models/${model}/load`, '{}', headers)).status
    // The server has no repository, which only a caller with the permission learns.
    expect([await load(user, 'double'), await load(loader, 'double'), await load(loader, 'absent')]).toEqual([
      403, 501, 403,
    ])
    const { repositoryModelLoad, repositoryModelUnload, systemSharedMemoryStatus } = GRPCInferenceService.method
    const code = async (method: typeof repositoryModelUnload, { headers }: { headers: { authorization: string } }) =>
      (await caller.errorOf(method, { modelName: 'double' }, { headers }))[0]
    for (const method of [repositoryModelLoad, repositoryModelUnload] as unknown as (typeof repositoryModelUnload)[]) {
      expect([await code(method, user), await code(method, loader)]).toEqual(['PERMISSION_DENIED', 'UNIMPLEMENTED'])
    }
    for (const path of ['/metrics', '/v2/systemsharedmemory/status', '/v2/cudasharedmemory/status']) {
      const statuses = [user, loader, other, operator].map(
        async ({ headers }) => (await served.send('GET', path, undefined, headers)).status,
      )
      expect(await Promise.all(statuses)).toEqual([403, 403, 403, 200])
    }
    expect((await caller.errorOf(systemSharedMemoryStatus, {}, { headers: user.headers }))[0]).toBe('PERMISSION_DENIED')
    await caller.call(systemSharedMemoryStatus, {}, { headers: operator.headers })
    // A request that names a region reads memory of other callers.
    const region = { shared_memory_region: 'r', shared_memory_byte_size: 16 }
    const body = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], parameters: region }] }
    const statuses = [user, operator].map(
      async ({ headers }) =>
        (await served.send('POST', '/v2/models/double/infer', JSON.stringify(body), headers)).status,
    )
    expect(await Promise.all(statuses)).toEqual([403, 404])
  })

  test('a refused request is answered before its body is read, and takes no memory', async () => {
    const { served, other } = await start()
    for (const [headers, status] of [
      ['', 401],
      [`authorization: Bearer ${other.token}\r\n`, 403],
    ] as const) {
      const socket = connect(served.server.port, '127.0.0.1')
      let text = ''
      socket.on('data', (chunk) => (text += chunk.toString())).on('error', () => {})
      socket.write(
        `POST /v2/models/double/infer HTTP/1.1\r\nhost: localhost\r\n${headers}content-length: 60000000\r\nexpect: 100-continue\r\n\r\n`,
      )
      await eventually(() => expect(text).toContain(`HTTP/1.1 ${status} `))
      expect(text).not.toContain('100 Continue')
      await eventually(() => expect(socket.readableEnded).toBe(true))
      socket.destroy()
    }
    // One that sends its body all the same is cut off after a mebibyte.
    const socket = connect(served.server.port, '127.0.0.1')
    socket.on('error', () => {}).resume()
    socket.write('POST /v2/models/double/infer HTTP/1.1\r\nhost: localhost\r\ncontent-length: 60000000\r\n\r\n')
    const chunk = Buffer.alloc(2 ** 16)
    await eventually(
      () => {
        if (!socket.destroyed && socket.writableLength === 0) socket.write(chunk)
        expect(socket.destroyed).toBe(true)
      },
      { interval: 1, timeout: 30_000 },
    )
    expect(socket.bytesWritten).toBeLessThan(8 * 2 ** 20)
  })

  test('a caller that waits for 100 Continue gets it when it may send its body', async () => {
    const { served, user } = await start()
    const socket = connect(served.server.port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString()))
    const body = JSON.stringify(request)
    socket.write(
      `POST /v2/models/double/infer HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${user.token}\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
    )
    await eventually(() => expect(text).toBe('HTTP/1.1 100 Continue\r\n\r\n'))
    socket.write(body)
    await eventually(() => expect(text).toContain('HTTP/1.1 200 OK'))
    socket.destroy()
  })

  test('an edited file counts for the next request, also of a stream that is open', async () => {
    const lines: string[] = []
    const user = makeToken('user')
    const access = writeAccess({ tokens: [user.entry], permissions: [{ callers: ['token:user'], infer: ['double'] }] })
    const log = { format: 'json', write: (line: string) => void lines.push(line) } as const
    const caller = await Caller.start([double], { access, log })
    const { served } = caller
    const stream = new GrpcStream(caller, {}, user.headers)
    /** The status over HTTP, and the error of the next answer of the stream. */
    const outcome = async (): Promise<[number, string]> => {
      const count = stream.answers.length
      stream.write(message)
      await stream.received(count + 1)
      const { status } = await served.send('GET', '/v2/models/double', undefined, user.headers)
      return [status, stream.answers.at(-1)!.errorMessage]
    }
    expect(await outcome()).toEqual([200, ''])
    writeFileSync(access, JSON.stringify({ tokens: [user.entry], permissions: [] }))
    await eventually(async () => expect(await outcome()).toEqual([403, expect.stringContaining('must not use')]))
    writeFileSync(access, JSON.stringify({ tokens: [], permissions: [{ callers: ['*'], infer: ['*'] }] }))
    await eventually(async () => expect(await outcome()).toEqual([401, expect.stringContaining('not valid')]))
    expect((await caller.errorOf(infer, message, { headers: user.headers }))[0]).toBe('UNAUTHENTICATED')
    const permissions = [{ callers: ['token:*'], infer: ['*'] }]
    writeFileSync(access, JSON.stringify({ tokens: [user.entry], permissions }))
    await eventually(async () => expect(await outcome()).toEqual([200, '']))
    // A file that is not valid, or not there, changes nothing.
    const refusals = (): number => lines.filter((line) => line.includes('the old ones stay')).length
    writeFileSync(access, '{')
    await eventually(() => expect(refusals()).toBe(1))
    rmSync(access)
    await eventually(() => expect(refusals()).toBe(2))
    expect(await outcome()).toEqual([200, ''])
    stream.call.cancel()
  })

  test('a token ends at its time', async () => {
    const past = makeToken('past', { expires: '2020-01-01T00:00:00Z' })
    const soon = makeToken('soon', { expires: new Date(Date.now() + 1500).toISOString() })
    const access = writeAccess({ tokens: [past.entry, soon.entry], permissions: [{ callers: ['*'], infer: ['*'] }] })
    const served = await Served.start([double], { access })
    const status = async ({ headers }: typeof past): Promise<number> =>
      (await served.send('GET', '/v2', undefined, headers)).status
    expect([await status(past), await status(soon)]).toEqual([401, 200])
    await eventually(async () => expect(await status(soon)).toBe(401))
  })

  test('the log has the name of the caller and the reason of a refusal, and never a token', async () => {
    const lines: string[] = []
    const { token, entry, headers } = makeToken('ci')
    const access = writeAccess({ tokens: [entry], permissions: [{ callers: ['token:ci'], infer: ['*'] }] })
    const log = { sample: 1, format: 'json', write: (line: string) => void lines.push(line) } as const
    const served = await Served.start([double], { access, log })
    await served.send('GET', '/v2', undefined, headers)
    await served.send('GET', `/v2?access_token=${token}`, undefined, headers)
    await served.send('GET', `/v2/?token=${token}`)
    await served.send('GET', '/v2', undefined, bearer(`${token}x`))
    await served.send('GET', '/metrics', undefined, headers)
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { caller: 'token:ci', status: 200 },
      { status: 400, message: expect.stringContaining('must not be in the URL') as string },
      { status: 400 },
      { status: 401, cause: 'the token is unknown' },
      { status: 403, caller: 'token:ci' },
    ])
    expect(lines.join('')).not.toContain(token)
  })
})

describe('access by the tokens of an issuer', () => {
  test('a token is valid with its issuer, audience and time, and its subject has permissions', async () => {
    const issuer = await Issuer.create()
    const folder = makeFolder()
    const jwt = issuer.write(folder)
    const access = writeAccess({ jwt, permissions: [{ callers: ['jwt:alice'], infer: ['double'] }] }, folder)
    const caller = await Caller.start([double], { access })
    const status = async (token: string): Promise<number> =>
      (await caller.served.send('GET', '/v2/models/double', undefined, bearer(token))).status
    const valid = await issuer.sign()
    expect([await status(valid), await status(valid)]).toEqual([200, 200])
    await caller.call(infer, message, { headers: bearer(valid) })
    expect(await status(await issuer.sign({ sub: 'bob' }))).toBe(403)
    for (const claims of [
      { iss: 'https://other.test' },
      { aud: 'other' },
      { exp: 1000 },
      { exp: undefined },
      { sub: undefined },
    ]) {
      const token = await issuer.sign(claims)
      expect([claims, await status(token)]).toEqual([claims, 401])
      expect((await caller.errorOf(infer, message, { headers: bearer(token) }))[0]).toBe('UNAUTHENTICATED')
    }
    expect(await status(await (await Issuer.create()).sign())).toBe(401)
    // A few seconds between two clocks are no difference.
    const now = Math.floor(Date.now() / 1000)
    expect(await status(await issuer.sign({ exp: now - 1 }))).toBe(200)
    expect(await status(await issuer.sign({ nbf: now + 60 }))).toBe(401)
  })

  test('a token that was verified before ends at its time', async () => {
    const issuer = await Issuer.create()
    const folder = makeFolder()
    const jwt = { ...issuer.write(folder), clockTolerance: 0 }
    const access = writeAccess({ jwt, permissions: [{ callers: ['jwt:*'], infer: ['*'] }] }, folder)
    const served = await Served.start([double], { access })
    const token = await issuer.sign({ exp: Math.floor(Date.now() / 1000) + 2 })
    const status = async (): Promise<number> =>
      (await served.send('GET', '/v2/models/double', undefined, bearer(token))).status
    expect(await status()).toBe(200)
    await eventually(async () => expect(await status()).toBe(401))
  })

  test('a change of the file with the keys is noticed', async () => {
    const [first, second] = [await Issuer.create(), await Issuer.create('second')]
    const folder = makeFolder()
    const access = writeAccess({ jwt: first.write(folder), permissions: [{ callers: ['*'] }] }, folder)
    const served = await Served.start([double], { access })
    const status = async (token: string): Promise<number> =>
      (await served.send('GET', '/v2', undefined, bearer(token))).status
    const [old, next] = [await first.sign(), await second.sign({}, { kid: 'second' })]
    expect([await status(old), await status(next)]).toEqual([200, 401])
    second.write(folder)
    await eventually(async () => expect([await status(old), await status(next)]).toEqual([401, 200]))
  })

  test('keys come from a URL, and a server of keys that fails is a 503', async () => {
    const issuer = await Issuer.create()
    let isUp = false
    const { url, count } = await serveKeys(() => (isUp ? issuer.keys : undefined))
    const jwt = { issuer: ISSUER, audience: 'tenon', algorithms: ['ES256'], keys: url }
    const access = writeAccess({ jwt, permissions: [{ callers: ['*'] }] })
    const served = await Served.start([double], { access })
    const token = await issuer.sign()
    const status = async (): Promise<number> => (await served.send('GET', '/v2', undefined, bearer(token))).status
    expect(await status()).toBe(503)
    isUp = true
    expect(await status()).toBe(200)
    const before = count()
    for (let i = 0; i < 20; i++) expect(await status()).toBe(200)
    // Tokens with keys that nobody has do not ask for the keys each time.
    for (let i = 0; i < 20; i++) {
      const reply = await served.send('GET', '/v2', undefined, bearer(await issuer.sign({}, { kid: `k${i}` })))
      expect(reply.status).toBe(401)
    }
    expect(count() - before).toBeLessThanOrEqual(1)
  })
})

describe('the options of access', () => {
  test.each([
    ['no JSON', '{', /must be JSON/],
    ['a field that does not exist', { permissions: [], users: [] }, /no field users/],
    ['no permissions', {}, /permissions is missing/],
    ['a hash that is none', { tokens: [{ name: 'a', sha256: 'abc' }], permissions: [] }, /tokens.0.sha256/],
    ['the same hash twice', { tokens: [makeToken('a').entry].flatMap((one) => [one, one]), permissions: [] }, /once/],
    [
      'an algorithm with a shared key',
      { jwt: { issuer: 'a', audience: 'b', algorithms: ['HS256'], keys: 'k' }, permissions: [] },
      /algorithms/,
    ],
    ['no algorithm', { jwt: { issuer: 'a', audience: 'b', algorithms: [], keys: 'k' }, permissions: [] }, /algorithms/],
    [
      'keys that anybody on the way can replace',
      { jwt: { issuer: 'a', audience: 'b', algorithms: ['ES256'], keys: 'http://keys.test' }, permissions: [] },
      /https/,
    ],
    [
      'keys that are missing',
      { jwt: { issuer: 'a', audience: 'b', algorithms: ['ES256'], keys: 'absent.json' }, permissions: [] },
      /Web Key Set/,
    ],
    ['a caller without its kind', { permissions: [{ callers: ['alice'] }] }, /token:name/],
    ['a permission that does not exist', { permissions: [{ callers: ['*'], admin: ['all'] }] }, /admin/],
  ] as const)('a file with %s is refused at the start', async (_name, contents, expected) => {
    const starting = Served.start([double], { access: writeAccess(contents) })
    await expect(starting).rejects.toThrow(ArgumentError)
    await expect(starting).rejects.toThrow(expected)
  })

  test('tokens of other machines need encryption, unless it is said that a proxy encrypts', async () => {
    const access = writeAccess({ permissions: [] })
    const http = { host: '0.0.0.0', port: 0 }
    await expect(Served.start([double], { access, http })).rejects.toThrow(/must be with tls/)
    await expect(Served.start([double], { access, grpc: http })).rejects.toThrow(/must be with tls/)
    const served = await Served.start([double], { access, http, allowPlainTokens: true })
    expect((await served.send('GET', '/v2')).status).toBe(401)
    await expect(Served.start([double], { access: join(makeFolder(), 'absent') })).rejects.toThrow(/can be read/)
  })
})
