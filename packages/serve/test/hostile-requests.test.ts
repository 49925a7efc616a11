import { eventually } from '@tenon/config/eventually'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compression } from './hostile/compression.ts'
import { exchange, requestOf, type HttpAnswer } from './hostile/exchange.ts'
import { Fixture } from './hostile/fixture.ts'
import { framing, unfinished } from './hostile/framing.ts'
import { grpcCalls, valid, type HostileCall } from './hostile/grpc-calls.ts'
import { call, frame, withSession } from './hostile/grpc-exchange.ts'
import { headerLengths } from './hostile/header-length.ts'
import { inferOf, input, type HostileRequest } from './hostile/hostile-request.ts'
import { json } from './hostile/json.ts'
import { loads } from './hostile/loads.ts'
import { paths } from './hostile/paths.ts'
import { regions } from './hostile/regions.ts'
import { ServerProcess, type Holdings } from './hostile/server-process.ts'
import { shapes } from './hostile/shapes.ts'
import { sequences, streams } from './hostile/streams.ts'
import { strings } from './hostile/strings.ts'

/** The time in milliseconds in which a request must arrive. */
const REQUEST_TIMEOUT = 5000

/** Regions of shared memory and the lists of children are read from Linux. */
if (process.platform === 'linux')
  describe('hostile requests', { timeout: 60_000 }, () => {
    const fixture = new Fixture()
    let server: ServerProcess
    let before: Holdings

    beforeAll(async () => {
      fixture.addModel('stored', 0)
      fixture.addModel('broken', '{')
      fixture.addModel('absent', 0)
      rmSync(join(fixture.repository, 'absent/1/libfaulty.so'))
      fixture.addOthers()
      fixture.addObject('data', new Uint8Array(64))
      server = await ServerProcess.start(fixture.repository, fixture.prefix, REQUEST_TIMEOUT)
      const key = `/${fixture.prefix}-data`
      await sendJson('/v2/systemsharedmemory/region/data/register', { key, offset: 8, byte_size: 32 })
      await isWell()
      before = await server.holdings()
    })

    afterAll(() => {
      // There is no server if it could not start.
      fixture[Symbol.dispose]()
      server[Symbol.dispose]()
    })

    const send = ({ parts, isHalfClosed }: HostileRequest): Promise<HttpAnswer> =>
      exchange(server.ports.http, parts, isHalfClosed)

    const sendJson = (path: string, body: object): Promise<HttpAnswer> =>
      exchange(server.ports.http, [requestOf(path, JSON.stringify(body))])

    /** Whether functions, kernels and gRPC answer. */
    async function isWell(): Promise<void> {
      for (const model of ['floats', 'kernel']) {
        const { status } = await exchange(server.ports.http, [inferOf(model, { inputs: [input()] })])
        expect(status).toBe(200)
      }
      const end = await withSession(server.ports.grpc, (session) => call(session, { parts: [frame(valid)] }))
      expect(end.code).toBe('0')
    }

    const expectRefusal = ({ status, headers, body }: HttpAnswer, request: HostileRequest): void => {
      expect([status, headers['content-type']], body.toString()).toEqual([request.status, 'application/json'])
      const { error, ...others } = JSON.parse(body.toString()) as { error: string }
      expect([error, others]).toEqual([expect.stringContaining(request.error), {}])
      expectClear(error)
    }

    const tables: readonly (readonly [string, readonly HostileRequest[]])[] = [
      ['sizes and frames of HTTP', framing],
      ['sizes of JSON and bytes', headerLengths],
      ['JSON', json],
      ['shapes', shapes],
      ['texts as bytes', strings],
      ['compressed bodies', compression],
      ['paths', paths],
      ['regions of shared memory', regions(fixture.prefix)],
      ['loads of models', loads],
      ['streams', streams],
      ['sequences', sequences],
    ]
    describe.each(tables)('%s', (_, requests) => {
      test.each(requests.map((request) => [request.name, request] as const))('%s', async (_name, request) => {
        expectRefusal(await send(request), request)
        await isWell()
      })
    })

    test('requests that never become complete', async () => {
      const answers = await Promise.all(unfinished.map(send))
      for (const [i, answer] of answers.entries()) expectRefusal(answer, unfinished[i]!)
      await isWell()
    })

    test('a client that sends all of a body that is too large before it reads gets its answer', async () => {
      const url = `http://127.0.0.1:${server.ports.http}/v2/models/floats/infer`
      const statuses = []
      for (let i = 0; i < 10; i++) {
        const reply = await fetch(url, { method: 'POST', body: new Uint8Array(8 * 2 ** 20) })
        statuses.push([reply.status, ((await reply.json()) as { error: string }).error])
      }
      const tooLarge = [413, 'the body must have at most 1048576 bytes']
      expect(statuses).toEqual(Array.from({ length: 10 }, () => tooLarge))
      await isWell()
    })

    const calls = grpcCalls(fixture.prefix)
    test.each(calls.map((one) => [one.name, one] as const))('gRPC: %s', async (_, one: HostileCall) => {
      await withSession(server.ports.grpc, async (session) => {
        const { code, message } = await call(session, one)
        expect([code, message]).toEqual([one.code, expect.stringContaining(one.error)])
        expectClear(message)
        // The other calls of the connection go on.
        expect(await call(session, { parts: [frame(valid)] })).toMatchObject({ code: '0' })
      })
      await isWell()
    })

    test('clients of streams that leave, do not read, or end their side', async () => {
      const body = '{"x":1}'
      const sockets = Array.from({ length: 60 }, (_, i) => {
        const socket = connect(server.ports.http, '127.0.0.1').on('error', () => {})
        const verb = i % 2 === 0 ? 'generate_stream' : 'infer_stream'
        const sent = i % 2 === 0 ? body : '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}'
        socket.write(requestOf(`/v2/models/endless/${verb}`, sent))
        if (i % 3 === 0) socket.resume()
        return socket
      })
      const head = 'POST /v2/models/endless/generate_stream HTTP/1.1\r\nhost: localhost\r\ncontent-length: 7\r\n\r\n'
      const pipelined = connect(server.ports.http, '127.0.0.1').on('error', () => {})
      // The second request waits for the endless answer to the first one.
      pipelined.write(`${head}${body}${head}${body}`)
      const pending = async (): Promise<string> => {
        const { body: text } = await exchange(server.ports.http, [requestOf('/metrics', '', {}, 'GET')])
        return /^nv_inference_pending_request_count\{model="endless".* (\d+)$/m.exec(text.toString())![1]!
      }
      await eventually(async () => expect(Number(await pending())).toBeGreaterThanOrEqual(61))
      for (const [i, socket] of [...sockets, pipelined].entries()) {
        if (i % 4 === 0) socket.end()
        else if (i % 4 === 1) socket.resetAndDestroy()
        else socket.destroy()
      }
      await eventually(async () => expect(await pending()).toBe('0'))
      for (const socket of sockets) socket.destroy()
      await isWell()
    })

    test('starts of sequences without a limit get the limits of the queue, and end', async () => {
      const start = (i: number): Promise<HttpAnswer> =>
        exchange(server.ports.http, [
          inferOf('sum', {
            parameters: { sequence_id: `start ${i}`, sequence_start: true },
            inputs: [{ name: 'x', datatype: 'INT32', shape: [1], data: [1] }],
          }),
        ])
      const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => start(i)))
      const statuses = answers.map(({ status }) => status)
      expect([...new Set(statuses)].toSorted()).toEqual([200, 503])
      // Eight have slots at once, and the sixteen that wait get them when these have been idle for too long.
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(24)
      await eventually(async () => {
        const { body } = await exchange(server.ports.http, [requestOf('/metrics', '', {}, 'GET')])
        expect(body.toString()).toContain('tenon_sequences{model="sum",version="1"} 0')
      })
      await isWell()
    })

    test('there are at least 200 different ones', () => {
      const names = [
        ...tables.flatMap(([table, requests]) => requests.map(({ name }) => `${table}: ${name}`)),
        ...calls.map(({ name }) => name),
      ]
      expect(new Set(names).size).toBe(names.length)
      expect(names.length).toBeGreaterThan(200)
    })

    test('nothing is left over', async () => {
      await isWell()
      const index = await sendJson('/v2/repository/index', {})
      const names = (JSON.parse(index.body.toString()) as { name: string }[]).map(({ name }) => name)
      expect(names.filter((name) => ['absent', 'broken', 'stored'].includes(name))).toHaveLength(3)
      expect(names).toHaveLength(24)
      const status = await exchange(server.ports.http, [requestOf('/v2/systemsharedmemory/status', '', {}, 'GET')])
      expect(JSON.parse(status.body.toString())).toEqual([expect.objectContaining({ name: 'data' })])
      const metrics = await exchange(server.ports.http, [requestOf('/metrics', '', {}, 'GET')])
      const pending = metrics.body.toString().match(/^nv_inference_pending_request_count.* (\d+)$/gm)
      expect(pending!.filter((line) => !line.endsWith(' 0'))).toEqual([])
      await eventually(
        async () => {
          const after = await server.holdings()
          const { kinds } = after
          expect(after.descriptors, `${kinds}; before: ${before.kinds}`).toBeLessThanOrEqual(before.descriptors)
          expect(after.children).toBe(before.children)
          expect(after.memoryFiles).toBe(before.memoryFiles)
          expect(after.requests).toBe(before.requests)
          expect(after.arrayBuffers).toBeLessThan(before.arrayBuffers + 2 ** 22)
        },
        { interval: 200 },
      )
      expect(server.isAlive).toBe(true)
    })
  })

/** A message says nothing of the server: no paths, addresses or stacks. */
function expectClear(message: string): void {
  expect(message.length).toBeLessThan(510)
  expect(message).not.toMatch(/\/dev\/shm|\/tmp|\/work|\/home|node:|0x[\da-f]{6,}|\n\s+at /)
}
