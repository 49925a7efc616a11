import { eventually } from '@tenon/config/eventually'
import { Tensor, tensor } from '@tenon/core'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StringTensor } from 'tenon/tstring'
import { beforeEach, describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import type { Client, ClientOptions } from '../src/client.ts'
import { defineModel, type Model } from '../src/index.ts'
import { connectClient, type Transport } from './connect-client.ts'
import { double } from './models.ts'
import { count, endlessModel, steppedModel } from './streams.ts'
import { Served } from './support.ts'

interface Models extends Record<string, Model> {
  readonly count: Model<'(n: s32[1]) -> (i: s32[1])'>
}

let transport: Transport

const connect = (url: string, options: ClientOptions = {}): Client<Models> => {
  const client = connectClient<Models>(transport, url, options)
  onTestFinished(() => client.closeAsync())
  return client
}

const start = async (models: readonly Model[], options?: ClientOptions) => {
  const served = await Served.start(models)
  return { served, client: connect(`http://${served.server.httpAddress}`, options) }
}

/** Starts a server that sends the start of a body for each stream, and then ends the connection. */
async function startOther(body: string, type: string): Promise<string> {
  const other = createHttpServer((request, response) => {
    if (request.url === '/v2') response.end('{"extensions":["binary_tensor_data"]}')
    else if (request.method === 'GET') response.end('{"name":"count","inputs":[{"name":"n","datatype":"INT32"}]}')
    else {
      response.writeHead(200, { 'content-type': type })
      response.write(body, () => setTimeout(() => response.destroy(), 20))
    }
  })
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close().closeAllConnections())
  return `http://127.0.0.1:${(other.address() as AddressInfo).port}`
}

/** The error that ends a stream. */
const errorOf = async (stream: AsyncIterable<unknown>): Promise<unknown> => {
  try {
    for await (const one of stream) void one
  } catch (error) {
    return error
  }
  return 'ended'
}

describe.each(['node:http', 'fetch'] as const)('stream() of the client with %s', (kind) => {
  beforeEach(() => void (transport = kind))

  test('has the answers in a loop, typed by the signature', async () => {
    const { client } = await start([count, double])
    const got: unknown[] = []
    for await (const { i } of client.stream('count', { n: [3] })) {
      expectTypeOf(i.dtype).toEqualTypeOf<'int32'>()
      got.push(i.data)
    }
    expect(got).toEqual([[0], [1], [2]].map((one) => Int32Array.from(one)))
    // @ts-expect-error the model has no input of this name
    expect(await errorOf(client.stream('count', { m: [3] }))).toMatchObject({ code: 'TENON_ARGUMENT' })
    expect(await errorOf(client.stream('count', { n: [0] }))).toBe('ended')
    expect(await errorOf(client.stream('none', {}))).toMatchObject({ code: 'TENON_MODEL_NOT_FOUND' })
    const only: unknown[] = []
    for await (const { y } of client.stream('double', { x: [[1, 2, 3, 4]] })) only.push(y)
    expect(only).toMatchObject([{ shape: [1, 4] }])
  })

  test('has all elements of all types, also those that JSON does not have', async () => {
    const every = defineModel({
      name: 'every',
      signature: '(n: s32[1]) -> (a: f16[2], b: f32[2], c: s64[1], d: string[2], e: bool[2])',
      run: async function* () {
        yield {
          a: tensor('f16', [2], [0.5, Number.NaN]),
          b: tensor('f32', [2], [Number.POSITIVE_INFINITY, -0]),
          c: tensor('s64', [1], [2n ** 62n + 1n]),
          d: StringTensor.from([Uint8Array.of(255, 13, 10, 45, 45), '']),
          e: tensor('bool', [2], [true, false]),
        }
      },
    })
    const { client } = await start([every])
    const got = []
    for await (const { a, b, c, d, e } of client.stream('every', { n: [1] })) {
      got.push(a!.data, b!.data, c!.data, 'bytes' in d! && d.bytes, e!.data)
    }
    expect(got).toEqual([
      Uint16Array.of(0x3800, 0x7e00),
      Float32Array.of(Number.POSITIVE_INFINITY, -0),
      BigInt64Array.of(2n ** 62n + 1n),
      [Uint8Array.of(255, 13, 10, 45, 45), new Uint8Array()],
      Uint8Array.of(1, 0),
    ])
  })

  test('ends the generator of the server when its loop is left, and when its signal is aborted', async () => {
    const endless = endlessModel(100)
    const { client } = await start([endless.model])
    for await (const { y } of client.stream('endless', { x: [1] })) {
      expect(y?.data).toHaveLength(100)
      break
    }
    await eventually(() => expect([endless.begun, endless.ended]).toEqual([1, 1]))
    const controller = new AbortController()
    const reason = new RangeError('enough')
    let taken = 0
    const stream = client.stream('endless', { x: [1] }, { signal: controller.signal })
    const loop = async (): Promise<void> => {
      for await (const _ of stream) if (++taken === 3) controller.abort(reason)
    }
    await expect(loop()).rejects.toBe(reason)
    expect(taken).toBe(3)
    await eventually(() => expect([endless.begun, endless.ended]).toEqual([2, 2]))
  })

  test('does not let the server go on while its loop does not', async () => {
    const endless = endlessModel(2 ** 14)
    const { client } = await start([endless.model])
    const stream = client.stream('endless', { x: [1] })
    await stream.next()
    let last = -1
    await eventually(
      () => {
        const before = last
        last = endless.asked
        expect(last).toBe(before)
      },
      { interval: 200, timeout: 20_000 },
    )
    // Far less than a loop would take in this time.
    expect(last * 2 ** 16).toBeLessThan(64 * 2 ** 20)
    await stream.return()
    await eventually(() => expect(endless.ended).toBe(1))
  })

  test('throws the error that ends a stream, behind the answers before it', async () => {
    const failing = defineModel({
      name: 'failing',
      signature: '(n: s32[1]) -> (i: s32[1])',
      deadline: 100,
      run: async function* ({ n }, { signal }) {
        yield n
        if ((n.view() as Int32Array)[0] === 0) throw new Error('no')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    })
    const { client } = await start([failing])
    const stream = client.stream('failing', { n: [0] })
    expect(await stream.next()).toMatchObject({ done: false })
    await expect(stream.next()).rejects.toMatchObject({ code: 'TENON_NATIVE', details: { status: 500 } })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(await errorOf(client.stream('failing', { n: [1] }))).toMatchObject({ code: 'TENON_KERNEL_DEADLINE' })
  })

  test('misses its own deadline if an answer takes longer, but not if the loop does', async () => {
    const stepped = steppedModel()
    const { client } = await start([stepped.model])
    const stream = client.stream('stepped', { x: [1] }, { deadline: 1000 })
    const next = stream.next()
    await eventually(() => stepped.step(1))
    await next
    await new Promise((resolve) => setTimeout(resolve, 1200))
    await expect(stream.next()).rejects.toMatchObject({
      code: 'TENON_KERNEL_DEADLINE',
      sentence: 'the server did not answer within 1000 ms',
    })
    stepped.finish()
  })

  test('keeps the client open until it has ended', async () => {
    const { client } = await start([count])
    const stream = client.stream('count', { n: [2] })
    await stream.next()
    let isClosed = false
    const closing = client.closeAsync().then(() => (isClosed = true))
    await stream.next()
    expect(isClosed).toBe(false)
    expect(await stream.next()).toMatchObject({ done: true })
    await closing
    await expect(client.stream('count', { n: [1] }).next()).rejects.toMatchObject({ code: 'TENON_SCOPE_CLOSED' })
  })

  const part = (headers: string, content: string): string => `--b\r\n${headers}\r\n\r\n${content}\r\n`
  const json = '{"outputs":[]}'
  test.each([
    ['that breaks off behind a part', part(`content-length: ${json.length}`, json), 'TENON_MODEL_UNAVAILABLE'],
    ['that breaks off within a part', part('content-length: 100', json), 'TENON_MODEL_UNAVAILABLE'],
    ['with another boundary', '--a\r\n', 'TENON_PROTOCOL'],
    ['without a length', part('content-type: application/json', json), 'TENON_PROTOCOL'],
    ['with a wrong length', part('content-length: 5', json), 'TENON_PROTOCOL'],
    ['with an enormous header', `--b\r\na: ${'a'.repeat(5000)}`, 'TENON_PROTOCOL'],
    ['with many headers', `--b\r\n${'a: b\r\n'.repeat(50)}`, 'TENON_PROTOCOL'],
    ['with a part that is not an answer', part('content-length: 2', '[]'), 'TENON_PROTOCOL'],
  ])('refuses a body %s', async (_, body, code) => {
    const client = connect(await startOther(body, 'multipart/mixed; boundary=b'))
    expect(await errorOf(client.stream('count', { n: [1] }))).toMatchObject({ code })
  })

  test('refuses an answer that is not a stream', async () => {
    const client = connect(await startOther('{}', 'application/json'))
    expect(await errorOf(client.stream('count', { n: [1] }))).toMatchObject({ code: 'TENON_PROTOCOL' })
  })
})

test('outputs of a stream may have the memory of its generator, which overwrites it for the next answer', async () => {
  const reused = defineModel({
    name: 'reused',
    signature: '(n: s32[1]) -> (i: s32[1000])',
    run: async function* () {
      const i = tensor('s32', [1000])
      expect(i).toBeInstanceOf(Tensor)
      for (let step = 0; step < 100; step++) {
        ;(i.view() as Int32Array).fill(step)
        yield i
      }
    },
  })
  transport = 'node:http'
  const { client } = await start([reused])
  let step = 0
  for await (const { i } of client.stream('reused', { n: [1] })) {
    expect(i!.data).toEqual(new Int32Array(1000).fill(step++))
  }
  expect(step).toBe(100)
})
