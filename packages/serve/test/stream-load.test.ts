import { eventually } from '@tenon/config/eventually'
import { create, toBinary } from '@bufbuild/protobuf'
import { tensor } from '@tenon/core'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ModelInferRequestSchema } from '../src/generated/open_inference_pb.js'
import { defineModel } from '../src/index.ts'
import { Caller } from './caller.ts'
import { GrpcStream } from './grpc-stream.ts'
import { frame } from './hostile/grpc-exchange.ts'
import { count, endlessModel } from './streams.ts'
import { Served } from './support.ts'

const STREAMS = 1000
const ELEMENTS = 20

/** Sends a request of `generate_stream` on a connection of its own. Its answer has chunks. */
function ask(served: Served, model: string, body: string): Socket {
  const socket = connect(served.server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(
    `POST /v2/models/${model}/generate_stream HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  return socket
}

/** The lines of a metric. */
const metric = async (served: Served, name: string): Promise<string[]> => {
  const text = (await served.send('GET', '/metrics')).body.toString()
  return text.split('\n').filter((line) => line.startsWith(name))
}

describe('many streams', () => {
  test('run at once, have all of their elements in order, and leave nothing', { timeout: 120_000 }, async () => {
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => (begin = resolve))
    let [running, most, ended] = [0, 0, 0]
    const model = defineModel({
      name: 'together',
      signature: '(x: s32[1]) -> (y: s32[256])',
      instances: STREAMS,
      run: async function* ({ x }) {
        running++
        most = Math.max(most, running)
        if (running === STREAMS) begin()
        await begun
        const [first] = x.view() as Int32Array
        try {
          for (let i = 0; i < ELEMENTS; i++) yield tensor('s32', [256], new Int32Array(256).fill(first! + i))
        } finally {
          running--
          ended++
        }
      },
    })
    const served = await Served.start([model])
    const before = await metric(served, 'tenon_connections')
    const texts = await Promise.all(
      Array.from({ length: STREAMS }, async (_, i) => {
        const socket = ask(served, 'together', `{"x":${1000 * i}}`)
        let text = ''
        for await (const chunk of socket) text += String(chunk)
        return text
      }),
    )
    for (const [i, text] of texts.entries()) {
      const firsts = [...text.matchAll(/"y":\[(\d+),/g)].map(([, value]) => Number(value))
      expect(firsts).toEqual(Array.from({ length: ELEMENTS }, (_, k) => 1000 * i + k))
    }
    expect([most, ended]).toEqual([STREAMS, STREAMS])
    expect(await metric(served, 'tenon_in_flight_bytes')).toEqual(['tenon_in_flight_bytes 0'])
    expect(await metric(served, 'nv_inference_pending')).toEqual([
      'nv_inference_pending_request_count{model="together",version="1"} 0',
    ])
    await eventually(async () => expect(await metric(served, 'tenon_connections')).toEqual(before))
  })

  test('go on beside those whose clients do not read, which take the bytes of their sockets only', async () => {
    const endless = endlessModel(2 ** 12)
    const served = await Served.start([endless.model, count])
    const slow = Array.from({ length: 10 }, () => ask(served, 'endless', '{"x":0}').pause())
    await eventually(() => expect(endless.begun).toBe(slow.length))
    let last = -1
    await eventually(
      () => {
        const before = last
        last = endless.asked
        expect(last).toBe(before)
      },
      { interval: 200, timeout: 30_000 },
    )
    const asked = endless.asked
    const bodies = await Promise.all(
      Array.from({ length: 20 }, () => served.send('POST', '/v2/models/count/generate_stream', '{"n":500}')),
    )
    for (const { body } of bodies) expect(body.toString().match(/"i":/g)).toHaveLength(500)
    // The others were made meanwhile, and not one element of these.
    expect(endless.asked).toBe(asked)
    for (const socket of slow) socket.destroy()
    await eventually(() => expect(endless.ended).toBe(slow.length))
    expect(await metric(served, 'tenon_in_flight_bytes')).toEqual(['tenon_in_flight_bytes 0'])
  })

  test('wait for an instance, and those whose clients leave meanwhile never begin', async () => {
    const endless = endlessModel(1, { instances: 2 })
    const served = await Served.start([endless.model])
    const sockets = Array.from({ length: 6 }, () => ask(served, 'endless', '{"x":0}').resume())
    await eventually(async () => {
      expect(await metric(served, 'nv_inference_pending')).toEqual([
        'nv_inference_pending_request_count{model="endless",version="1"} 6',
      ])
    })
    expect(endless.begun).toBe(2)
    // It is not known which ones run, so all leave.
    for (const socket of sockets) socket.destroy()
    await eventually(async () => {
      expect(await metric(served, 'nv_inference_pending')).toEqual([
        'nv_inference_pending_request_count{model="endless",version="1"} 0',
      ])
    })
    expect(endless.ended).toBe(endless.begun)
  })
})

describe('a call of ModelStreamInfer', () => {
  test('reads no further messages while 128 streams are in progress', async () => {
    const endless = endlessModel(1, { instances: 1000 })
    const caller = await Caller.start([endless.model])
    const stream = new GrpcStream(caller)
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [1n] }]
    for (let i = 0; i < 300; i++) stream.write({ modelName: 'endless', inputs, rawInputContents: [new Uint8Array(4)] })
    await eventually(() => expect(endless.begun).toBe(128))
    await stream.received(1000)
    expect(endless.begun).toBe(128)
    stream.call.cancel()
    await eventually(() => expect(endless.ended).toBe(128))
    expect(endless.begun).toBe(128)
  })

  test('whose client takes nothing for too long ends, and its generators with it', async () => {
    const endless = endlessModel(2 ** 14)
    const caller = await Caller.start([endless.model], { requestTimeout: 500 })
    const session = connectHttp2(`http://127.0.0.1:${caller.served.server.grpcPort}`, {
      settings: { initialWindowSize: 0 },
    })
    onTestFinished(() => session.destroy())
    session.on('error', () => {})
    const call = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    call.on('error', () => {})
    const request = create(ModelInferRequestSchema, {
      modelName: 'endless',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1n] }],
      rawInputContents: [new Uint8Array(4)],
    })
    for (let i = 0; i < 3; i++) call.write(frame(toBinary(ModelInferRequestSchema, request)))
    await eventually(() => expect(endless.begun).toBe(3))
    await eventually(() => expect([endless.ended, call.closed]).toEqual([3, true]), { timeout: 20_000 })
    expect(endless.asked).toBeLessThan(20)
  })
})
