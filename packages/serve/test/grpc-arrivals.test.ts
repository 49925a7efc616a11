import { eventually } from '@tenon/config/eventually'
import { setTimeout } from 'node:timers/promises'
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { describe, expect, onTestFinished, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { Caller } from './caller.ts'
import { double, echo, heldModel } from './models.ts'

const MIB = 2 ** 20

/** A message of gRPC, of which a part has been sent. */
interface Partial {
  readonly stream: ClientHttp2Stream
  /** The status of the call, once it has ended: `grpc-status`, or the code of HTTP/2. */
  readonly ended: Promise<string>
}

function begin(session: ClientHttp2Session, method: string, stated: number, sent: number): Partial {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/inference.GRPCInferenceService/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  let status: string | undefined
  stream.on('response', (headers) => (status = headers['grpc-status'] as string | undefined))
  stream.on('error', () => {})
  const ended = new Promise<string>((resolve) => {
    stream.on('close', () => resolve(status ?? `HTTP/2 ${stream.rstCode}`))
  })
  const head = Buffer.alloc(5)
  head.writeUInt32BE(stated, 1)
  // The head may come in parts.
  stream.write(head.subarray(0, 3))
  stream.write(head.subarray(3))
  stream.write(Buffer.alloc(sent))
  stream.resume()
  return { stream, ended }
}

function open(caller: Caller): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${caller.served.server.grpcPort}`)
  onTestFinished(() => session.destroy())
  return session
}

const inFlight = async ({ served }: Caller): Promise<number> => {
  const text = (await served.send('GET', '/metrics')).body.toString()
  return Number(/^tenon_in_flight_bytes (\d+)$/m.exec(text)![1])
}

describe('messages of gRPC that arrive slowly', () => {
  const limits = { maxRequestBytes: 4 * MIB, maxInFlightBytes: 4 * MIB }

  test('count for the memory of all requests, and further ones are unavailable', async () => {
    const caller = await Caller.start([double], limits)
    const session = open(caller)
    const first = begin(session, 'ModelInfer', 4 * MIB, 3 * MIB)
    await eventually(async () => expect(await inFlight(caller)).toBe(3 * MIB + 5))
    const second = begin(session, 'ModelStreamInfer', 4 * MIB, 2 * MIB)
    expect(await second.ended).toBe('14')
    // The first one goes on.
    expect(first.stream.closed).toBe(false)
    first.stream.close(constants.NGHTTP2_CANCEL)
    await eventually(async () => expect(await inFlight(caller)).toBe(0))
  })

  test('have the time of a request to arrive, and others on their connection go on', async () => {
    const caller = await Caller.start([double, echo('f32')], { ...limits, requestTimeout: 300 })
    const session = open(caller)
    const calls = ['ModelInfer', 'ServerLive', 'ModelStreamInfer'].map((method) => begin(session, method, 1000, 10))
    expect(await Promise.all(calls.map(({ ended }) => ended))).toEqual(['4', '4', '4'])
    expect(await inFlight(caller)).toBe(0)
    const whole = begin(session, 'ServerLive', 0, 0)
    whole.stream.end()
    await whole.ended
    expect((await caller.call(GRPCInferenceService.method.serverLive, {})).live).toBe(true)
  })
})

test('calls that send no message, or do not end their side, have the time of a request', async () => {
  const caller = await Caller.start([double, echo('f32')], { requestTimeout: 300 })
  const session = open(caller)
  const silent = (path: string, message?: Buffer): Promise<string> => {
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
    const stream = session.request(headers)
    let status = 'open'
    stream.on('response', (answer) => (status = String(answer['grpc-status'])))
    stream.on('error', () => {})
    stream.resume()
    if (message !== undefined) stream.write(message)
    return new Promise((resolve) => stream.on('close', () => resolve(status)))
  }
  const service = '/inference.GRPCInferenceService'
  const calls = [
    silent(`${service}/ModelInfer`),
    silent(`${service}/Unknown`),
    silent(`${service}/ServerLive`, Buffer.alloc(5)),
  ]
  expect(await Promise.all(calls)).toEqual(['4', '12', '4'])
  // A stream may be silent for longer.
  let hasEnded = false
  void silent(`${service}/ModelStreamInfer`).then(() => (hasEnded = true))
  await setTimeout(600)
  expect(hasEnded).toBe(false)
  expect((await caller.call(GRPCInferenceService.method.serverLive, {})).live).toBe(true)
})

test('a call whose message has arrived may run for longer than the time to arrive', async () => {
  const { model: slow, begun, finish } = heldModel()
  const caller = await Caller.start([slow], { requestTimeout: 300 })
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1n] }]
  const answer = caller.call(GRPCInferenceService.method.modelInfer, {
    modelName: 'slow',
    inputs,
    rawInputContents: [new Uint8Array(4)],
  })
  await begun
  await setTimeout(600)
  finish()
  expect((await answer).rawOutputContents).toHaveLength(1)
})

describe('numbers that JSON does not have', () => {
  test('are elements of contents', async () => {
    const caller = await Caller.start([echo('f32', 'single'), echo('f64', 'wide')])
    const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0]
    for (const [modelName, datatype, contents, array] of [
      ['single', 'FP32', { fp32Contents: values }, Float32Array],
      ['wide', 'FP64', { fp64Contents: values }, Float64Array],
    ] as const) {
      const inputs = [{ name: 'x', datatype, shape: [4n], contents }]
      const { rawOutputContents } = await caller.call(GRPCInferenceService.method.modelInfer, { modelName, inputs })
      const [bytes] = rawOutputContents
      expect([...new array(Uint8Array.from(bytes!).buffer)]).toEqual(values)
      const short = { modelName, inputs: [{ name: 'x', datatype, shape: [5n], contents }] }
      const error = await caller.errorOf(GRPCInferenceService.method.modelInfer, short)
      expect(error).toEqual(['INVALID_ARGUMENT', 'the data of x must be 5 elements for the shape [5], got 4'])
    }
  })
})
