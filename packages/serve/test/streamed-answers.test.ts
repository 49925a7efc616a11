import { eventually } from '@tenon/config/eventually'
import { ArgumentError, tensor, UnsupportedError } from '@tenon/core'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StringTensor } from 'tenon/tstring'
import { defineModel, type Model } from '../src/index.ts'
import { double } from './models.ts'
import { count, endlessModel } from './streams.ts'
import { connectTo, input, Served } from './support.ts'

const signature = '(n: s32[1]) -> (i: s32[1])'
const one = tensor('s32', [1], [1])

/** A model that yields one element, and then fails as a test says. */
const failing = (fail: () => unknown, elements: number = 1): Model =>
  defineModel({
    name: 'failing',
    signature,
    run: async function* () {
      for (let i = 0; i < elements; i++) yield one
      yield (await fail()) as never
    },
  })

/** The data of the events of a body. */
const eventsOf = (body: Buffer): unknown[] =>
  body
    .toString()
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.replace('data: ', '')) as unknown)

describe('defineModel()', () => {
  test('knows streams by an async generator, or by the option stream', () => {
    expect(count.stream).toBeDefined()
    const iterable = async function* (): AsyncGenerator<typeof one> {
      yield one
    }
    expect(defineModel({ name: 'a', signature, stream: true, run: () => iterable() }).stream).toBeDefined()
    expect(defineModel({ name: 'a', signature, run: ({ n }) => n }).stream).toBe(undefined)
    expect(() => void count.run([one], {} as never, undefined)).toThrow(UnsupportedError)
  })

  test('refuses options that contradict a stream', () => {
    const run = async function* (): AsyncGenerator<typeof one> {
      yield one
    }
    const sync = function* (): Generator<typeof one> {
      yield one
    }
    const define = (options: object): (() => unknown) => {
      return () => defineModel({ name: 'a', signature, run, ...options })
    }
    expect(define({ stream: false })).toThrow('the option stream of the model a must be true')
    expect(define({ stream: 1 })).toThrow('stream must be true or false, got 1')
    expect(define({ maxBatchSize: 4, signature: '(n: s32[b]) -> (i: s32[b])' })).toThrow('must be without maxBatchSize')
    expect(define({ run: sync })).toThrow('the function run of the model a must be async')
    expect(define({ run: sync })).toThrow(ArgumentError)
  })
})

describe('generate_stream', () => {
  const ask = (served: Served, model: string, json: object, verb = 'generate_stream') =>
    served.send('POST', `/v2/models/${model}/${verb}`, JSON.stringify(json))

  test('sends an event for each answer, with flat elements', async () => {
    const served = await Served.start([count])
    const { status, headers, body } = await ask(served, 'count', { id: 'a', n: 2 })
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(body.toString()).toBe(
      'data: {"id":"a","model_name":"count","model_version":"1","i":0}\n\n' +
        'data: {"id":"a","model_name":"count","model_version":"1","i":1}\n\n',
    )
    expect(eventsOf((await ask(served, 'count', { n: 0 })).body)).toEqual([])
    const text = (await served.send('GET', '/metrics')).body.toString()
    expect(text).toContain('nv_inference_first_response_histogram_ms_count{model="count",version="1"} 1')
    expect(text).toContain('nv_inference_request_success{model="count",version="1"} 2')
    const versioned = await served.send('POST', '/v2/models/count/versions/1/generate_stream', '{"n":1}')
    expect(eventsOf(versioned.body)).toEqual([{ model_name: 'count', model_version: '1', i: 0 }])
  })

  test('maps fields to inputs by name, also in parameters, and others to parameters', async () => {
    const seen: unknown[] = []
    const model = defineModel({
      name: 'chat',
      signature: '(text_input: string[1], k: s64[b, n], f: f32[2, m]) -> (text_output: string[2])',
      run: async function* ({ text_input, k, f }, { parameters }) {
        seen.push(text_input.toArray(), k.shape, k.toArray(), f.shape, { ...parameters })
        yield { text_output: StringTensor.from(['a', 'b']) }
      },
    })
    const served = await Served.start([model])
    const request =
      '{"text_input":"hi","k":[1,2,9007199254740993],"stream":true,"parameters":{"f":[1,2,3,4],"temperature":0.5}}'
    const { status, body } = await served.send('POST', '/v2/models/chat/generate', request)
    expect([status, JSON.parse(body.toString())]).toEqual([
      200,
      { model_name: 'chat', model_version: '1', text_output: ['a', 'b'] },
    ])
    const parameters = { stream: true, temperature: 0.5 }
    expect(seen).toEqual([['hi'], [1, 3], [1n, 2n, 9007199254740993n], [2, 2], parameters])
    const errorOf = async (json: object) => JSON.parse((await ask(served, 'chat', json)).body.toString()) as unknown
    expect(await errorOf({ text_input: ['a', 'b'] })).toEqual({
      error: 'the input text_input must have elements for the shape [1], got 2',
    })
    expect(await errorOf({ text_input: 'a', f: [1, 2, 3] })).toEqual({
      error: 'the input f must have elements for the shape [2, -1], got 3',
    })
    expect(await errorOf({ parameters: 1 })).toEqual({ error: 'parameters must be an object, got 1' })
    expect(await errorOf({ other: {} })).toEqual({
      error: 'parameters.other must be a boolean, a number or a text, got an object',
    })
    expect(await errorOf({ text_input: 'a', k: 1 })).toEqual({
      error: 'the request must have the input f of the model chat',
    })
    expect(await errorOf([])).toEqual({ error: 'the request must be an object, got an array' })
  })

  test('answers with a status before the first answer, and with an event behind it', async () => {
    const throwing = (): never => {
      throw new RangeError('no')
    }
    for (const elements of [0, 1]) {
      const served = await Served.start([failing(throwing, elements)])
      const { status, headers, body } = await ask(served, 'failing', { n: 0 })
      const error = { error: 'the model failing failed' }
      if (elements === 0) {
        expect([status, headers['content-type']]).toEqual([500, 'application/json'])
        expect(JSON.parse(body.toString())).toEqual(error)
      } else {
        expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
        expect(eventsOf(body)).toEqual([expect.objectContaining({ i: 1 }), error])
      }
      expect(served.errors).toEqual([new RangeError('no')])
    }
  })

  test.each([
    ['nothing', () => undefined],
    ['a number', () => 1],
    ['a tensor of another type', () => tensor('f32', [1])],
    ['a tensor of another shape', () => tensor('s32', [2])],
    ['an object without the output', () => ({ j: one })],
  ])('a generator that yields %s fails its own stream', async (_, make) => {
    const served = await Served.start([failing(make), count])
    const { body } = await ask(served, 'failing', { n: 0 })
    expect(eventsOf(body)).toEqual([expect.objectContaining({ i: 1 }), { error: 'the model failing failed' }])
    expect(eventsOf((await ask(served, 'count', { n: 1 })).body)).toHaveLength(1)
  })

  test('a model that never yields misses its deadline, and its generator ends', async () => {
    let aborted: unknown
    const never = defineModel({
      name: 'never',
      signature,
      deadline: 100,
      run: async function* (_, { signal }) {
        yield one
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        aborted = signal.reason
      },
    })
    const served = await Served.start([never])
    const { body } = await ask(served, 'never', { n: 0 })
    expect(eventsOf(body)).toEqual([
      expect.objectContaining({ i: 1 }),
      { error: 'the model never did not answer within 100 ms' },
    ])
    expect(aborted).toMatchObject({ code: 'TENON_KERNEL_DEADLINE' })
  })

  test('an answer of generate must be the only one', async () => {
    const served = await Served.start([count, double])
    const [status, json] = await served.post('/v2/models/count/generate', { n: 1 })
    expect([status, json]).toEqual([200, { model_name: 'count', model_version: '1', i: 0 }])
    for (const n of [0, 2]) {
      expect(await served.post('/v2/models/count/generate', { n })).toEqual([
        400,
        { error: expect.stringContaining('generate expects model to produce exactly 1 response') as string },
      ])
    }
    const text = (await served.send('GET', '/metrics')).body.toString()
    expect(text).toContain('nv_inference_request_failure{model="count",version="1",reason="OTHER"} 2')
    // A model that answers once has one event.
    const { body } = await ask(served, 'double', { x: [1, 2, 3, 4] })
    expect(eventsOf(body)).toEqual([{ model_name: 'double', model_version: '1', y: [2, 4, 6, 8] }])
  })

  test('infer refuses a model with streams as Triton does', async () => {
    const served = await Served.start([count])
    const [status, { error }] = await served.infer('count', { inputs: [input('n', 'INT32', [1], [1])] })
    expect(status).toBe(501)
    expect(error).toContain("HTTP end point doesn't support models with decoupled transaction policy")
    // The client is at fault, and not the model.
    const text = (await served.send('GET', '/metrics')).body.toString()
    expect(text).toContain('nv_inference_request_failure{model="count",version="1",reason="OTHER"} 1')
  })
})

describe('a client of HTTP', () => {
  /** Opens a stream, and waits for the head of its answer. Nothing is read. */
  const open = (served: Served, json: object): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const path = '/v2/models/endless/generate_stream'
      const request = httpRequest(
        { host: '127.0.0.1', port: served.server.port, method: 'POST', path, agent: false },
        resolve,
      )
      request.on('error', reject)
      onTestFinished(() => void request.destroy())
      request.end(JSON.stringify(json))
    })

  test('gets the next answer when it has taken the one before', async () => {
    const endless = endlessModel(2 ** 14)
    const served = await Served.start([endless.model])
    const response = await open(served, { x: 0 })
    let last = -1
    // The buffers of the system fill up, and then the generator waits.
    await eventually(
      () => {
        const before = last
        last = endless.asked
        expect(last).toBe(before)
      },
      { interval: 200 },
    )
    const asked = endless.asked
    response.on('data', () => {})
    await eventually(() => expect(endless.asked).toBeGreaterThan(2 * asked))
    response.destroy()
    await eventually(() => expect(endless.ended).toBe(1))
    expect(endless.signals[0]?.aborted).toBe(true)
  })

  test('ends the generator when it leaves, or ends its side of the connection', async () => {
    const quiet = defineModel({
      name: 'quiet',
      signature: '(x: f32[1]) -> (y: f32[1])',
      run: async function* ({ x }, { signal }) {
        try {
          yield x
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        } finally {
          ended++
        }
      },
    })
    let ended = 0
    const served = await Served.start([quiet])
    const body = '{"x":1}'
    const head = `POST /v2/models/quiet/generate_stream HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}`
    for (const leave of ['destroy', 'end'] as const) {
      const { socket, received } = connectTo(served)
      socket.write(`${head}\r\n\r\n${body}`)
      await eventually(() => expect(received()).toContain('"y":1'))
      socket[leave]()
    }
    await eventually(() => expect(ended).toBe(2))
    const text = (await served.send('GET', '/metrics')).body.toString()
    expect(text).toContain('nv_inference_request_failure{model="quiet",version="1",reason="CANCELED"} 2')
    expect(text).toContain('tenon_in_flight_bytes 0')
  })

  test('that takes nothing for too long loses the stream', async () => {
    const endless = endlessModel(2 ** 16)
    const served = await Served.start([endless.model], { requestTimeout: 500 })
    await open(served, { x: 0 })
    await eventually(() => expect([endless.begun, endless.ended]).toEqual([1, 1]), { timeout: 20_000 })
  })

  test('gets all of its stream from a server that closes, unless that takes too long', async () => {
    const served = await Served.start([count])
    const { server } = served
    const response = served.send('POST', '/v2/models/count/generate_stream', '{"n":20000}')
    await eventually(async () => {
      const text = (await served.send('GET', '/metrics')).body.toString()
      expect(text).toContain('nv_inference_pending_request_count{model="count",version="1"} 1')
    })
    expect(await server.closeAsync()).toBe(true)
    expect(eventsOf((await response).body)).toHaveLength(20_000)

    const endless = endlessModel(1)
    const other = await Served.start([endless.model])
    const cut = await open(other, { x: 0 })
    cut.on('error', () => {}).resume()
    expect(await other.server.closeAsync({ deadline: 100 })).toBe(false)
    await eventually(() => expect(endless.ended).toBe(1))
  })
})
