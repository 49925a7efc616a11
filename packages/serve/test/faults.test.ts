import { eventually } from '@tenon/config/eventually'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { exchange, requestOf, type HttpAnswer } from './hostile/exchange.ts'
import { Fixture } from './hostile/fixture.ts'
import { inferFrame } from './hostile/grpc-calls.ts'
import { call, withSession } from './hostile/grpc-exchange.ts'
import { inferOf, input } from './hostile/hostile-request.ts'
import { Load } from './hostile/load.ts'
import { ServerProcess, type Holdings } from './hostile/server-process.ts'
import { startTenonServe } from './tenon-serve.ts'

/** Whether the numbers of clients are those of a server in use. */
const isSoak = process.env['TENON_SOAK'] !== undefined

/** The time in milliseconds in which a request must arrive. */
const REQUEST_TIMEOUT = 2000

const correct = { inputs: [input()] }

/** Shared memory and the lists of children are those of Linux. */
if (process.platform === 'linux')
  describe('faults under load', { timeout: 120_000 }, () => {
    const fixture = new Fixture()
    let server: ServerProcess
    let before: Holdings

    const send = (bytes: Uint8Array, isHalfClosed = false): Promise<HttpAnswer> =>
      exchange(server.ports.http, [bytes], isHalfClosed)

    const infer = (model: string, request: object = correct): Promise<HttpAnswer> => send(inferOf(model, request))

    const statusesOf = async (answers: readonly Promise<HttpAnswer>[]): Promise<Set<number>> =>
      new Set((await Promise.all(answers)).map(({ status }) => status))

    /** The value of a metric, which has the labels of a model if it is given. */
    async function metric(name: string, labels = ''): Promise<number> {
      const text = (await send(requestOf('/metrics', '', {}, 'GET'))).body.toString()
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name}${labels} `))
          ?.split(' ')
          .at(-1) ?? 0,
      )
    }

    const pending = (model: string): Promise<number> =>
      metric('nv_inference_pending_request_count', `{model="${model}",version="1"}`)

    /** The processes of kernels, once so many of them run. */
    const runningWorkers = (count: number): Promise<readonly number[]> =>
      eventually(
        async () => {
          const { workers } = await server.usage()
          expect(workers.length).toBeGreaterThanOrEqual(count)
          return workers
        },
        { interval: 5 },
      )

    /** Whether functions, kernels and gRPC answer, and nothing of the fault is left over. */
    async function isAsBefore(): Promise<void> {
      for (const model of ['floats', 'kernel', 'slow']) expect((await infer(model)).status).toBe(200)
      const end = await withSession(server.ports.grpc, (session) => call(session, { parts: [inferFrame('floats')] }))
      expect(end.code).toBe('0')
      await eventually(
        async () => {
          const { descriptors, children, memoryFiles, requests, arrayBuffers, kinds } = await server.holdings()
          expect(descriptors, `${kinds}; before: ${before.kinds}`).toBeLessThanOrEqual(before.descriptors)
          expect({ children, memoryFiles, requests }).toEqual({
            children: before.children,
            memoryFiles: before.memoryFiles,
            requests: before.requests,
          })
          expect(arrayBuffers).toBeLessThan(before.arrayBuffers + 2 ** 22)
        },
        { timeout: 20_000, interval: 100 },
      )
    }

    beforeAll(async () => {
      fixture.addModel('sleep', 29, { instances: 4 })
      fixture.addModel('slowly', 29, { instances: 1 })
      server = await ServerProcess.start(fixture.repository, fixture.prefix, REQUEST_TIMEOUT)
      for (const model of ['floats', 'kernel', 'slow', 'sleep'])
        expect(await infer(model)).toMatchObject({ status: 200 })
      await withSession(server.ports.grpc, (session) => call(session, { parts: [inferFrame('floats')] }))
      before = await server.holdings()
    }, 60_000)

    afterAll(() => {
      // There is no server if it could not start.
      fixture[Symbol.dispose]()
      server[Symbol.dispose]()
    })

    test('requests of a worker that is killed run once more, and none is lost', async () => {
      const load = new Load(server.ports.http, 'sleep', 8)
      for (let i = 0; i < 3; i++) {
        await load.more(24)
        const [pid] = await runningWorkers(1)
        process.kill(pid!, 'SIGKILL')
      }
      await load.more(24)
      expect(await load.stop()).toEqual([200])
      await isAsBefore()
    })

    test('a request that must not run twice is a 500 when its worker is killed', async () => {
      const others = new Load(server.ports.http, 'floats', 4)
      const lost = Array.from({ length: 2 }, () => infer('once'))
      for (const pid of await runningWorkers(2)) process.kill(pid, 'SIGKILL')
      for (const { status, body } of await Promise.all(lost)) {
        expect([status, body.toString()]).toEqual([500, expect.stringMatching(/the model once .* its process/)])
      }
      expect(await others.stop()).toEqual([200])
      await isAsBefore()
    })

    test('a kernel that hangs is a 504, and others are answered', async () => {
      const load = new Load(server.ports.http, 'floats', 4)
      const hanging = Array.from({ length: 4 }, () => infer('hang'))
      expect(await statusesOf(hanging)).toEqual(new Set([504]))
      expect(await load.stop()).toEqual([200])
      await isAsBefore()
    })

    test('clients that send a byte a second get 408, and others are answered', async () => {
      const load = new Load(server.ports.http, 'floats', 4)
      const answers: string[] = []
      const bytes = inferOf('floats', correct)
      const slow = Array.from({ length: isSoak ? 1000 : 200 }, (_, i) => {
        const socket = connect(server.ports.http, '127.0.0.1')
        socket.on('error', () => {})
        socket.on('data', (chunk) => void answers.push(chunk.toString('latin1', 9, 12)))
        // Half of them are in the headers, and half in the body.
        let at = i % 2 === 0 ? 0 : bytes.length - 20
        socket.write(bytes.subarray(0, at))
        const timer = setInterval(() => void socket.write(bytes.subarray(at, ++at)), 1000)
        socket.once('close', () => clearInterval(timer))
        return socket
      })
      await eventually(() => expect(slow.every(({ closed }) => closed)).toBe(true), { timeout: 60_000 })
      expect([answers.length, new Set(answers)]).toEqual([slow.length, new Set(['408'])])
      expect(await load.stop()).toEqual([200])
      await isAsBefore()
    })

    test('half-closed connections get their answers', async () => {
      const requests = Array.from({ length: 50 }, (_, i) => inferOf(i % 2 === 0 ? 'slow' : 'sleep', correct))
      expect(await statusesOf(requests.map((bytes) => send(bytes, true)))).toEqual(new Set([200]))
      await isAsBefore()
    })

    test('requests of clients that left while they wait or run are cancelled', async () => {
      const cancelled = 'nv_inference_request_failure'
      const labels = '{model="patient",version="1",reason="CANCELED"}'
      const load = new Load(server.ports.http, 'floats', 4)
      const bytes = inferOf('patient', correct)
      const sockets = Array.from({ length: 30 }, () => {
        const socket = connect(server.ports.http, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(bytes)
        return socket
      })
      await withSession(server.ports.grpc, async (session) => {
        const calls = Array.from({ length: 10 }, () => call(session, { parts: [inferFrame('patient')] }))
        await eventually(async () => expect(await pending('patient')).toBe(40))
        // One runs, and the others wait. Some clients end their connections, and some reset them.
        for (const [i, socket] of sockets.entries()) if (i % 2 === 0) socket.destroy()
        for (const socket of sockets) if (!socket.destroyed) socket.resetAndDestroy()
        session.destroy()
        await Promise.all(calls)
      })
      await eventually(async () => expect(await pending('patient')).toBe(0))
      expect(await metric(cancelled, labels)).toBe(40)
      expect(await load.stop()).toEqual([200])
      await isAsBefore()
    })

    test('clients that do not read their answers hold nothing for longer than a request may take', async () => {
      const load = new Load(server.ports.http, 'floats', 4)
      const request = { inputs: [input({ datatype: 'UINT8', shape: [0], data: [] })] }
      expect((await infer('bytes', request)).status).toBe(200)
      const bytes = inferOf('bytes', new Uint8Array(2 ** 20), { 'inference-header-content-length': 0 })
      // Requests behind each other on a connection, whose answers are more than the buffers of the system.
      const persistent = Buffer.from(bytes.toString('latin1').replace('connection: close\r\n', ''), 'latin1')
      const sockets = Array.from({ length: 10 }, () => {
        const socket = connect(server.ports.http, '127.0.0.1')
        socket.on('error', () => {})
        socket.pause()
        for (let i = 0; i < 8; i++) socket.write(persistent)
        return socket
      })
      onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
      await eventually(async () => expect(await pending('bytes')).toBe(0))
      expect(await load.stop()).toEqual([200])
      await isAsBefore()
    })

    test('connections without requests do not keep others from their answers', async () => {
      const count = isSoak ? 10_000 : 1000
      const sockets: Socket[] = []
      for (let i = 0; i < count; i++) {
        const socket = connect(server.ports.http, '127.0.0.1')
        socket.on('error', () => {})
        sockets.push(socket)
        if (i % 100 === 99) await once(socket, 'connect')
      }
      await eventually(async () => expect(await metric('tenon_connections')).toBe(count + 1))
      const load = new Load(server.ports.http, 'floats', 8)
      await load.more(100)
      expect(await load.stop()).toEqual([200])
      for (const socket of sockets) socket.destroy()
      await isAsBefore()
    })

    test('a client that opens and resets calls of gRPC without end loses its connection', async () => {
      const load = new Load(server.ports.http, 'floats', 4)
      await withSession(server.ports.grpc, async (session) => {
        const ended = new AbortController()
        session.once('goaway', () => ended.abort()).once('close', () => ended.abort())
        for (let i = 0; i < 50_000 && !ended.signal.aborted; i++) {
          const stream = session.request({ ':method': 'POST', ':path': '/inference.GRPCInferenceService/ModelInfer' })
          stream.on('error', () => {})
          stream.close(constants.NGHTTP2_CANCEL)
          if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        }
        expect(ended.signal.aborted).toBe(true)
      })
      expect(await load.stop()).toEqual([200])
      await isAsBefore()
    })

    describe('shared memory in use', () => {
      const x = { name: 'x', datatype: 'FP32', shape: [2] }
      const at = (offset: number): object => ({
        shared_memory_region: 'data',
        shared_memory_byte_size: 8,
        shared_memory_offset: offset,
      })
      const request = { inputs: [{ ...x, parameters: at(0) }], outputs: [{ name: 'y', parameters: at(8) }] }

      /** Registers an object, sends requests that wait for each other, and does something to the object meanwhile. */
      async function during(change: (path: string) => unknown): Promise<{ answers: HttpAnswer[]; path: string }> {
        const path = fixture.addObject('used', Buffer.from(new Float32Array([1, 2, 0, 0]).buffer))
        const key = `${fixture.prefix}-used`
        const body = JSON.stringify({ key, byte_size: 16 })
        expect((await send(requestOf('/v2/systemsharedmemory/region/data/register', body))).status).toBe(200)
        const answers = Array.from({ length: 20 }, () => infer('slow', request))
        await eventually(async () => expect(await pending('slow')).toBeGreaterThan(10), { interval: 5 })
        await change(path)
        return { answers: await Promise.all(answers), path }
      }

      const unregister = async (): Promise<void> => {
        expect((await send(requestOf('/v2/systemsharedmemory/region/data/unregister', ''))).status).toBe(200)
      }

      const statuses = (answers: readonly HttpAnswer[]): number[] => [...new Set(answers.map(({ status }) => status))]

      test('that becomes shorter is a 400, and is not made longer', async () => {
        const { answers, path } = await during((object) => truncateSync(object, 4))
        expect(statuses(answers)).toContain(400)
        for (const { status, body } of answers) {
          if (status !== 200) expect([status, body.toString()]).toEqual([400, expect.stringContaining('as large')])
        }
        expect(readFileSync(path)).toHaveLength(4)
        await unregister()
        await isAsBefore()
      })

      test('that is unlinked or replaced by a link is still that of the request', async () => {
        const target = fixture.addObject('elsewhere', new Uint8Array(64))
        const { answers, path } = await during((object) => {
          rmSync(object)
          symlinkSync(target, object)
        })
        expect(statuses(answers)).toEqual([200])
        expect(readFileSync(target)).toEqual(Buffer.alloc(64))
        await unregister()
        rmSync(path)
        await isAsBefore()
      })

      test('that is unregistered is still that of the requests in progress', async () => {
        const { answers, path } = await during(unregister)
        expect(statuses(answers)).toEqual([200])
        expect(new Float32Array(new Uint8Array(readFileSync(path)).buffer)).toEqual(new Float32Array([1, 2, 1, 2]))
        expect((await infer('slow', request)).status).toBe(404)
        await isAsBefore()
      })
    })

    test('a model that crashes again and again gets 503, and others are answered', async () => {
      const load = new Load(server.ports.http, 'kernel', 4)
      const answers: HttpAnswer[] = []
      for (let i = 0; i < 8; i++) answers.push(await infer('loop'))
      expect(answers[0]!.status).toBe(500)
      const { status, headers } = answers.at(-1)!
      expect([status, headers['retry-after']]).toEqual([503, '1'])
      expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([500, 503]))
      expect(await load.stop()).toEqual([200])
      for (const model of ['floats', 'kernel', 'slow']) expect((await infer(model)).status).toBe(200)
    })

    test('a server whose log is not read any more answers, and drains', async () => {
      const child = startTenonServe([fixture.repository, '--http-port', '0', '--no-grpc'])
      onTestFinished(() => void child.kill('SIGKILL'))
      const { http } = await listening(child)
      child.stderr!.destroy()
      // Errors are logged.
      for (let i = 0; i < 5; i++) expect((await exchange(http, [inferOf('no', correct)])).status).toBe(404)
      expect((await exchange(http, [inferOf('sleep', correct)])).status).toBe(200)
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      expect(await exit).toEqual([0, null])
    })

    test('SIGTERM with 100 requests in flight answers all, and ends with 0', async () => {
      const args = [fixture.repository, '--http-port', '0', '--grpc-port', '0']
      const child = startTenonServe(args)
      onTestFinished(() => void child.kill('SIGKILL'))
      const { http, grpc } = await listening(child)
      const workers = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ').filter(Boolean)
      // All of them must arrive in the time in which one instance answers 60.
      const bytes = inferOf('slowly', correct)
      const answers = Array.from({ length: 110 }, () => exchange(http, [bytes]))
      await withSession(grpc, async (session) => {
        const calls = Array.from({ length: 50 }, () => call(session, { parts: [inferFrame('slowly')] }))
        await eventually(
          async () => {
            const { body } = await exchange(http, [requestOf('/metrics', '', {}, 'GET')])
            const [waiting, answered] = ['pending_request_count', 'request_success'].map((name) =>
              Number(
                new RegExp(`^nv_inference_${name}\\{model="slowly".* (\\d+)$`, 'm').exec(body.toString())?.[1] ?? 0,
              ),
            ) as [number, number]
            expect(waiting).toBeGreaterThanOrEqual(100)
            expect(waiting + answered).toBe(160)
          },
          { interval: 5 },
        )
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        expect(await statusesOf(answers)).toEqual(new Set([200]))
        expect(new Set((await Promise.all(calls)).map(({ code }) => code))).toEqual(new Set(['0']))
        session.destroy()
        expect(await exit).toEqual([0, null])
      })
      await eventually(() => expect(workers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]))
    })
  })

/** The ports of a command that starts. */
function listening({ stderr }: ChildProcess): Promise<{ readonly http: number; readonly grpc: number }> {
  let text = ''
  return new Promise((resolve, reject) => {
    stderr!.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const line = text.split('\n').find((one) => one.includes('"listening"'))
      if (line === undefined) return
      const { http, grpc = '' } = JSON.parse(line) as { http: string; grpc?: string }
      resolve({ http: Number(http.split(':').at(-1)), grpc: Number(grpc.split(':').at(-1)) })
    })
    stderr!.once('end', () => reject(new Error(`the command ended: ${text}`)))
  })
}
