import { eventually } from '@tenon/config/eventually'
import { tensor } from '@tenon/core'
import { request as httpRequest, type ClientRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../src/client.ts'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { defineModel } from '../src/index.ts'
import { ByteBudget, ByteShare } from '../src/service/byte-budget.ts'
import { Cancellation } from '../src/service/cancellation.ts'
import { Caller } from './caller.ts'
import { double } from './models.ts'
import { Served } from './support.ts'

const KIB = 1024

const { method: methods } = GRPCInferenceService

/** Begins a request, and sends a part of its body. */
function begin(port: number, byteSize: number, part: number): Promise<number> & { rest(): void; leave(): void } {
  let request: ClientRequest
  const status = new Promise<number>((resolve, reject) => {
    const headers = { 'content-length': byteSize }
    const path = '/v2/models/double/infer'
    request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!))
    })
    request.on('error', reject)
    request.write(' '.repeat(part))
  })
  onTestFinished(() => void request.destroy())
  return Object.assign(status, {
    rest: () => void request.end(' '.repeat(byteSize - part)),
    leave: () => void request.destroy(),
  })
}

const inFlight = async (served: Served): Promise<number> => {
  const text = (await served.send('GET', '/metrics')).body.toString()
  return Number(/^tenon_in_flight_bytes (\d+)$/m.exec(text)![1])
}

describe('the memory of all requests', () => {
  test('is limited: a request waits until another one has ended', async () => {
    const options = { maxRequestBytes: 64 * KIB, maxInFlightBytes: 100 * KIB, requestTimeout: 20_000 }
    const served = await Served.start([double], options)
    const first = begin(served.server.port, 60 * KIB, KIB)
    await eventually(async () => expect(await inFlight(served)).toBe(60 * KIB))
    const second = begin(served.server.port, 60 * KIB, KIB)
    let isAnswered = false
    void second.then(() => (isAnswered = true))
    second.rest()
    // A small request does not overtake it, and others are answered.
    expect((await served.get('/v2/health/live'))[0]).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect([isAnswered, await inFlight(served)]).toEqual([false, 60 * KIB])
    first.rest()
    expect([await first, await second]).toEqual([400, 400])
    await eventually(async () => expect(await inFlight(served)).toBe(0))
  })

  test('a request that waits too long gets 503', async () => {
    const options = { maxRequestBytes: 64 * KIB, maxInFlightBytes: 100 * KIB, requestTimeout: 4000 }
    const served = await Served.start([double], options)
    const first = begin(served.server.port, 60 * KIB, KIB)
    await eventually(async () => expect(await inFlight(served)).toBe(60 * KIB))
    const second = begin(served.server.port, 60 * KIB, 60 * KIB)
    expect([await second, await first]).toEqual([503, 408])
    await eventually(async () => expect(await inFlight(served)).toBe(0))
  })

  test('a request that is refused, or whose client leaves, gives its bytes back', async () => {
    const served = await Served.start([double])
    const left = begin(served.server.port, 60 * KIB, KIB)
    await eventually(async () => expect(await inFlight(served)).toBe(60 * KIB))
    left.catch(() => {})
    await served.infer('double', {})
    const packed = gzipSync(JSON.stringify({ inputs: [] }))
    await served.send('POST', '/v2/models/double/infer', packed, { 'content-encoding': 'gzip' })
    await served.send('POST', '/v2/repository/index', '{}')
    expect(await inFlight(served)).toBe(60 * KIB)
  })

  test('a client that leaves while it waits does not keep others waiting', async () => {
    const options = { maxRequestBytes: 64 * KIB, maxInFlightBytes: 100 * KIB, requestTimeout: 600_000 }
    const caller = await Caller.start([double], options)
    const { served } = caller
    const first = begin(served.server.port, 60 * KIB, KIB)
    await eventually(async () => expect(await inFlight(served)).toBe(60 * KIB))
    const x = (rows: number): object => ({
      modelName: 'double',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [BigInt(rows), 4n] }],
      rawInputContents: [new Uint8Array(16 * rows)],
    })
    // Over gRPC and over HTTP, one that must wait, and a small one behind it.
    const deadline = Date.now() + 500
    const large = caller.errorOf(methods.modelInfer, x(3000), { deadline })
    const left = begin(served.server.port, 50 * KIB, 50 * KIB)
    left.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 200))
    const small = caller.call(methods.modelInfer, x(1))
    left.leave()
    expect((await large)[0]).toBe('DEADLINE_EXCEEDED')
    expect((await small).outputs).toHaveLength(1)
    first.rest()
    expect(await first).toBe(400)
    await eventually(async () => expect(await inFlight(served)).toBe(0))
  })

  test('counts the inputs of a body in chunks before they arrive', async () => {
    const served = await Served.start([double], { maxRequestBytes: 64 * KIB, maxInFlightBytes: 100 * KIB })
    const parameters = { binary_data_size: 40 * KIB }
    const head = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2560, 4], parameters }] })
    const request = httpRequest({
      port: served.server.port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v2/models/double/infer',
      headers: { 'inference-header-content-length': head.length },
      agent: false,
    })
    request.on('error', () => {})
    onTestFinished(() => void request.destroy())
    request.write(head)
    await eventually(async () => expect(await inFlight(served)).toBe(head.length + 40 * KIB))
    request.destroy()
    await eventually(async () => expect(await inFlight(served)).toBe(0))
  })

  test('is about what requests hold while they wait, also for nested elements', async () => {
    const answers: (() => void)[] = []
    const waits = defineModel({
      name: 'waits',
      signature: '(x: f32[n, 1]) -> (y: f32[1])',
      instances: 4,
      run: async () => {
        await new Promise<void>((resolve) => answers.push(resolve))
        return tensor('f32', [1])
      },
    })
    const served = await Served.start([waits])
    const count = 100_000
    const data = `[${'[1],'.repeat(count - 1)}[1]]`
    const body = `{"inputs":[{"name":"x","datatype":"FP32","shape":[${count},1],"data":${data}}]}`
    const heap = (): number => {
      for (let i = 0; i < 2; i++) globalThis.gc!()
      return process.memoryUsage().heapUsed
    }
    const send = (): Promise<{ readonly status: number }> => served.send('POST', '/v2/models/waits/infer', body)
    const before = heap()
    const replies = Array.from({ length: 4 }, send)
    await eventually(() => expect(answers).toHaveLength(4))
    // The arrays of a request take more than 5 MB.
    expect(heap() - before).toBeLessThan(8 * 2 ** 20)
    for (const answer of answers) answer()
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  test('counts the bytes of gRPC too', async () => {
    let seen = 0
    const look = defineModel({
      name: 'look',
      signature: '(x: f32[n]) -> (y: f32[1])',
      run: async () => {
        seen = await inFlight(caller.served)
        return tensor('f32', [1], [1])
      },
    })
    const caller = await Caller.start([look])
    const { served } = caller
    await caller.infer('look', new Float32Array(256))
    // The whole message, whose head has less than 100 bytes.
    expect([seen > 1024 && seen < 1124, await inFlight(served)]).toEqual([true, 0])
    const contents = { fp32Contents: Array.from({ length: 256 }, () => 1) }
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [256n], contents }]
    await caller.call(methods.modelInfer, { modelName: 'look', inputs })
    expect([seen > 1024 && seen < 1124, await inFlight(served)]).toEqual([true, 0])
    const client = createClient(`http://127.0.0.1:${served.server.port}`)
    await client.infer('look', { x: new Float32Array(256) })
    expect(seen).toBeGreaterThan(1024)
    await client.closeAsync()
  })

  test('a request of fetch() that waits gets its answer', async () => {
    const options = { maxRequestBytes: 64 * KIB, maxInFlightBytes: 100 * KIB, requestTimeout: 600_000 }
    const served = await Served.start([double], options)
    const first = begin(served.server.port, 60 * KIB, KIB)
    await eventually(async () => expect(await inFlight(served)).toBe(60 * KIB))
    const url = `http://127.0.0.1:${served.server.port}/v2/models/double/infer`
    const waits = fetch(url, { method: 'POST', body: ' '.repeat(50 * KIB) })
    await new Promise((resolve) => setTimeout(resolve, 500))
    first.rest()
    expect([await first, (await waits).status]).toEqual([400, 400])
  })

  test('a gRPC request that is too large is refused at once, and does not keep others waiting', async () => {
    const options = { maxRequestBytes: 64 * KIB, maxInFlightBytes: 64 * KIB, requestTimeout: 600_000 }
    const caller = await Caller.start([double], options)
    const x = (rows: number): object => ({
      modelName: 'double',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [BigInt(rows), 4n] }],
      rawInputContents: [new Uint8Array(16 * rows)],
    })
    const large = caller.errorOf(methods.modelInfer, x(6400))
    expect((await caller.call(methods.modelInfer, x(1))).outputs).toHaveLength(1)
    expect(await large).toEqual(['RESOURCE_EXHAUSTED', expect.stringContaining('at most 65536 bytes, got 102400')])
    // Its message is larger than the memory of all requests, of which it gets all.
    expect((await caller.call(methods.modelInfer, x(4096))).outputs).toHaveLength(1)
    expect(await inFlight(caller.served)).toBe(0)
  })

  test('maxInFlightBytes must hold one request', async () => {
    await expect(Served.start([], { maxInFlightBytes: 10 })).rejects.toThrow(/at least maxRequestBytes/)
  })
})

describe('a budget of bytes', () => {
  const nobody = new Cancellation()

  test('serves those that wait in their order', async () => {
    const budget = new ByteBudget(10, 1000)
    expect(budget.reserve(8, nobody)).toBeUndefined()
    const order: number[] = []
    const waiting = [5, 2, 3].map((size) => budget.reserve(size, new Cancellation())!.then(() => void order.push(size)))
    expect(budget.used).toBe(8)
    budget.release(8)
    await Promise.all(waiting)
    expect([order, budget.used]).toEqual([[5, 2, 3], 10])
  })

  test('one that gives up lets the next one begin', async () => {
    const budget = new ByteBudget(10, 50)
    void budget.reserve(8, nobody)
    const large = budget.reserve(5, new Cancellation())!
    const small = budget.reserve(2, new Cancellation())!
    await expect(large).rejects.toThrow(/at most 10 bytes/)
    await small
    expect(budget.used).toBe(10)
  })

  test('one that is cancelled leaves at once, and lets the next one begin', async () => {
    const budget = new ByteBudget(10, 60_000)
    void budget.reserve(8, nobody)
    const cancellation = new Cancellation()
    const large = budget.reserve(5, cancellation)!
    const small = budget.reserve(2, new Cancellation())!
    cancellation.cancel(new Error('the client is gone'))
    await expect(large).rejects.toThrow('the client is gone')
    await small
    expect(budget.used).toBe(10)
    await expect(budget.reserve(1, cancellation)).rejects.toThrow('the client is gone')
    // Later listeners belong to others.
    budget.release(10)
    const again = new Cancellation()
    expect(budget.reserve(10, again)).toBeUndefined()
    again.cancel(new Error('the client is gone'))
    expect(budget.used).toBe(10)
  })

  test('requests that hold bytes come before others, which may wait for these bytes', async () => {
    const budget = new ByteBudget(10, 60_000)
    const [first, second] = [new ByteShare(budget, nobody), new ByteShare(budget, new Cancellation())]
    expect([first.reserve(4), second.reserve(4)]).toEqual([undefined, undefined])
    const large = new ByteShare(budget, new Cancellation()).reserve(8)!
    // Two bytes are free, for which nobody else may ask before.
    expect(first.reserve(6)).toBeUndefined()
    const more = second.reserve(8)!
    first.release()
    await more
    expect(budget.used).toBe(8)
    second.release()
    await large
    expect(budget.used).toBe(8)
  })

  test('a request that needs more than all bytes gets all of them', () => {
    const budget = new ByteBudget(10, 60_000)
    const share = new ByteShare(budget, nobody)
    expect([share.reserve(8), share.reserve(16), share.reserve(100), budget.used]).toEqual([
      undefined,
      undefined,
      undefined,
      10,
    ])
    share.release()
    expect(budget.used).toBe(0)
  })
})
