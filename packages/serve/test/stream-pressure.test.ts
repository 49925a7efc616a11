import { eventually } from '@tenon/config/eventually'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { tensor } from '@tenon/core'
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ModelInferRequestSchema, ModelStreamInferResponseSchema } from '../src/generated/open_inference_pb.js'
import { defineModel } from '../src/index.ts'
import { Caller } from './caller.ts'
import { frame } from './hostile/grpc-exchange.ts'
import { double, heldModel } from './models.ts'
import { inferText, Served } from './support.ts'

const OUTPUT_SIZE = 2 ** 14
const REQUESTS = 50

/** A stream of a client that reads nothing before it opens its window. */
class Stream {
  readonly #session: ClientHttp2Session
  readonly #stream: ClientHttp2Stream
  readonly #chunks: Buffer[] = []
  status: string | undefined
  isClosed = false

  constructor(port: number) {
    this.#session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } })
    onTestFinished(() => this.#session.destroy())
    this.#stream = this.#session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    this.#stream.on('data', (chunk: Buffer) => this.#chunks.push(chunk))
    this.#stream.on('trailers', (trailers) => {
      this.status = String(trailers['grpc-status'])
      // As clients of gRPC do, because the server waits for both sides.
      this.#stream.close()
    })
    this.#stream.on('close', () => (this.isClosed = true))
    for (const one of [this.#session, this.#stream]) one.on('error', () => {})
  }

  write(...ids: readonly number[]): void {
    for (const id of ids) {
      const request = create(ModelInferRequestSchema, {
        modelName: 'large',
        id: String(id),
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1n] }],
        rawInputContents: [new Uint8Array(4)],
      })
      this.#stream.write(frame(toBinary(ModelInferRequestSchema, request)))
    }
  }

  end(): void {
    this.#stream.end()
  }

  openWindow(): void {
    this.#session.settings({ initialWindowSize: 2 ** 20 })
  }

  leave(): void {
    this.#session.destroy()
  }

  /** The numbers of the requests that were answered. */
  answers(): number[] {
    const bytes = Buffer.concat(this.#chunks)
    const ids: number[] = []
    for (let at = 0; at + 5 <= bytes.length;) {
      const end = at + 5 + bytes.readUInt32BE(at + 1)
      if (end > bytes.length) break
      const { inferResponse } = fromBinary(ModelStreamInferResponseSchema, bytes.subarray(at + 5, end))
      expect(inferResponse?.rawOutputContents[0]).toHaveLength(4 * OUTPUT_SIZE)
      ids.push(Number(inferResponse?.id))
      at = end
    }
    return ids
  }
}

const numbers = Array.from({ length: REQUESTS }, (_, i) => i)

describe('a stream whose client does not read', () => {
  /** Starts a server, and a stream whose first request runs. */
  const start = async () => {
    const y = tensor('f32', [OUTPUT_SIZE], new Float32Array(OUTPUT_SIZE))
    const run = vi.fn<() => typeof y>(() => y)
    const large = defineModel({ name: 'large', signature: `(x: f32[1]) -> (y: f32[${OUTPUT_SIZE}])`, run })
    const { server } = (await Caller.start([large])).served
    const stream = new Stream(server.grpcPort!)
    stream.write(...numbers)
    await eventually(() => expect(run).toHaveBeenCalled())
    return { server, run, stream }
  }

  test('gets the next answer when it has taken the last one', async () => {
    const { run, stream } = await start()
    stream.end()
    await sleep(300)
    expect(run.mock.calls.length).toBeLessThan(5)
    stream.openWindow()
    await eventually(() => expect(stream.status).toBe('0'))
    expect(stream.answers()).toEqual(numbers)
    expect(run).toHaveBeenCalledTimes(REQUESTS)
  })

  test('runs nothing any more when its client leaves', async () => {
    const { server, run, stream } = await start()
    stream.leave()
    expect(await server.closeAsync()).toBe(true)
    expect(run.mock.calls.length).toBeLessThan(5)
  })

  test('gets the answer that waits and the end of the stream from a server that closes', async () => {
    const { server, run, stream } = await start()
    await sleep(50)
    const isDrained = server.closeAsync()
    await sleep(50)
    stream.openWindow()
    expect(await isDrained).toBe(true)
    await eventually(() => expect(stream.status).toBe('14'))
    expect(stream.answers()).toEqual(numbers.slice(0, run.mock.calls.length))
    expect(run.mock.calls.length).toBeLessThan(5)
  })

  test('does not hold up a server that closes for longer than its deadline', async () => {
    const { server, run, stream } = await start()
    expect(await server.closeAsync({ deadline: 200 })).toBe(false)
    await eventually(() => expect(stream.isClosed).toBe(true))
    expect(run.mock.calls.length).toBeLessThan(5)
  })
})

describe('a connection that its client has ended', () => {
  test('is not watched any more when it is closed, also with two requests behind each other', async () => {
    const { model: slow, begun, finish } = heldModel()
    const { server } = await Served.start([slow, double])
    onTestFinished(() => finish())
    const set = vi.spyOn(globalThis, 'setInterval')
    const cleared = vi.spyOn(globalThis, 'clearInterval')
    onTestFinished(() => void vi.restoreAllMocks())
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }] })
    const first = inferText('slow', body)
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => {})
    socket.end(`${first}GET /v2 HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    await begun
    const timers = () => set.mock.results.filter((_, i) => set.mock.calls[i]![1] === 250)
    await eventually(() => expect(timers().length).toBe(1), { timeout: 5000 })
    const timer = timers()[0]!.value as unknown
    // Ends the connection while both requests are without an answer.
    expect(await server.closeAsync({ deadline: 100 })).toBe(false)
    // Timers are too large for the text of a failure.
    const isCleared = () => cleared.mock.calls.some(([one]) => one === timer)
    await eventually(() => expect(isCleared()).toBe(true), { timeout: 5000 })
  })
})
