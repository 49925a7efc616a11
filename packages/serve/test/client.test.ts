import { dtypeInfo, tensor } from '@tenon/core'
import { findDType } from '@tenon/core/internal'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { StringTensor } from 'tenon/tstring'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { createClient, type Client, type ClientOptions, type ClientTensor } from '../src/client.ts'
import { datatypes } from '../src/client/datatypes.ts'
import { defineModel, ModelRepository, type Model } from '../src/index.ts'
import { faulty, libfaulty, makeRepository } from './make-repository.ts'
import { double, echo } from './models.ts'
import { Served } from './support.ts'

function clientFor(url: string | number, options: ClientOptions = {}): Client {
  const client = createClient(typeof url === 'number' ? `http://127.0.0.1:${url}` : url, options)
  onTestFinished(() => client.closeAsync())
  return client
}

async function serve(...models: Model[]): Promise<Client> {
  const { server } = await Served.start(models)
  return clientFor(server.port)
}

/** Starts a server that answers as a test says. */
async function answering(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener)
  onTestFinished(() => void server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const upper = defineModel({
  name: 'upper',
  signature: '(text: string[n]) -> (upper: string[n])',
  run: ({ text }) => StringTensor.from(text.toArray().map((one) => one.toUpperCase())),
})

describe('inputs and outputs', () => {
  test('an input is a tensor, nested arrays, or elements with a shape', async () => {
    const client = await serve(double)
    const elements = [1, 2, 3, 4, 5, 6, 7, 8]
    for (const x of [
      tensor('f32', [2, 4], elements),
      tensor('f32', [4, 2], [1, 5, 2, 6, 3, 7, 4, 8]).transpose(),
      [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ],
      { shape: [2, 4], data: elements },
      { shape: [2, 4], data: new Float32Array(elements) },
    ]) {
      const { y } = await client.infer('double', { x })
      expect(y).toEqual({ dtype: 'float32', shape: [2, 4], data: new Float32Array(elements.map((one) => 2 * one)) })
    }
  })

  test.each([...datatypes.values()])('$openInference: elements cross as they are', async ({ dtype, array }) => {
    const client = await serve(echo(dtype, 'echo'))
    const raw = new array(5)
    new Uint8Array(raw.buffer).fill(1)
    const { y } = await client.infer('echo', { x: raw })
    expect(y).toEqual({ dtype, shape: [5], data: raw })
    const empty = await client.infer('echo', { x: new array(0) })
    expect(empty['y']).toEqual({ dtype, shape: [0], data: new array(0) })
  })

  test('the element types are those of the core', () => {
    for (const [name, { dtype, kind, bits, array }] of datatypes) {
      const info = dtypeInfo(dtype)
      expect([info.openInference, info.kind, info.bits, info.array]).toEqual([name, kind, bits, array.name])
    }
    expect(findDType('float32')).toBeDefined()
  })

  test('integers of 64 bits are exact, and numbers become elements of the model', async () => {
    const client = await serve(echo('int64'), echo('bool'))
    const { y } = await client.infer('echo_int64', { x: [2n ** 62n + 1n, -3] })
    expect(y?.data).toEqual(new BigInt64Array([2n ** 62n + 1n, -3n]))
    const flags = await client.infer('echo_bool', { x: [true, 0, 1] })
    expect(flags['y']?.data).toEqual(new Uint8Array([1, 0, 1]))
  })

  test('strings are text, their bytes, or tensors of strings', async () => {
    const client = await serve(upper, echo('string', 'echo'))
    for (const text of [['a', 'ü'], StringTensor.from(['a', 'ü']), { shape: [2], data: [new Uint8Array([97]), 'ü'] }]) {
      const { upper: made } = await client.infer('upper', { text })
      expect([made?.shape, made?.data]).toEqual([[2], ['A', 'Ü']])
    }
    const { y } = await client.infer('echo', { x: [new Uint8Array([0xff]), 'a'] })
    expect((y as { bytes: unknown }).bytes).toEqual([new Uint8Array([0xff]), new Uint8Array([97])])
    expect(() => y?.data).toThrow(/element 0 of the output y is not UTF-8/)
  })

  test('nested arrays can have NaN and infinities, and numbers beyond the type are refused', async () => {
    const client = await serve(double)
    const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1]
    for (const x of [[values], { shape: [1, 4], data: values }, { shape: [1, 4], data: new Float32Array(values) }]) {
      expect([...(await client.infer('double', { x }))['y']!.data]).toEqual([NaN, Infinity, -Infinity, 2])
    }
    await expect(client.infer('double', { x: [[1, 2, 3, 1e39]] })).rejects.toThrow(/in the range of FP32, got 1e\+39/)
  })

  test.each([
    [{ x: 5 }, /the input x must be a tensor or an array, got number/],
    [{ x: null }, /got null/],
    [{ x: {} }, /without shape and data/],
    [{ x: { shape: [-1], data: [] } }, /without shape and data/],
    [{ x: [[1, 2, 3]] }, /Request|must|rows/],
    [{ x: [[1, 2, 3, 4], [1]] }, /lengths of its shape \[2, 4\]/],
    [{ x: [[1, 2, 3, 'a']] }, /element 3 of the input x must be a finite number in the range of FP32, got "a"/],
    [{ x: [['NaN', 2, 3, 4]] }, /element 0 of the input x must be a finite number in the range of FP32, got "NaN"/],
    [{ x: new Int32Array(4) }, /elements of float32, got Int32Array/],
    [{ x: tensor('f64', [1, 4]) }, /elements of float32, got a tensor of float64/],
    [{ x: { shape: [1, 4], data: new Float32Array(3) } }, /4 elements for its shape \[1, 4\], got 3/],
    [{ y: [[1, 2, 3, 4]] }, /has no input "y"/],
    [{}, /must have the input x/],
  ])('wrong input %#: the error says which, and what was expected', async (inputs, message) => {
    const client = await serve(double)
    await expect(client.infer('double', inputs as never)).rejects.toThrow(message)
    await expect(client.infer('double', inputs as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^TENON_(ARGUMENT|INVALID_REQUEST)$/) as unknown,
    })
  })

  test('integers out of range, and floats of 16 bits as numbers, are refused', async () => {
    const client = await serve(echo('int8'), echo('float16'))
    await expect(client.infer('echo_int8', { x: [128] })).rejects.toThrow(/element 0 of the input x/)
    await expect(client.infer('echo_float16', { x: [1] })).rejects.toThrow(/a tensor or a Uint16Array/)
  })

  test('chooses outputs, versions and parameters', async () => {
    const two = defineModel({
      name: 'two',
      version: '2',
      signature: '(x: f32[n]) -> (y: f32[n], z: f32[1])',
      run: ({ x }, { parameters }) => ({ y: x, z: tensor('f32', [1], [Number(parameters['z'])]) }),
    })
    const client = await serve(two)
    const { z, y } = await client.infer(
      'two',
      { x: [1] },
      { outputs: ['z'], version: '2', parameters: { z: 7 }, id: 'a' },
    )
    expect([z?.data, y]).toEqual([new Float32Array([7]), undefined])
    await expect(client.infer('two', { x: [1] }, { version: '1' })).rejects.toMatchObject({
      code: 'TENON_MODEL_NOT_FOUND',
    })
  })

  test('the types of inputs and outputs are those of the signature', async () => {
    const { server } = await Served.start([double, upper])
    const client = createClient<{ double: typeof double; upper: typeof typed }>(`http://127.0.0.1:${server.port}`)
    onTestFinished(() => client.closeAsync())
    const typed = upper
    const { upper: made } = await client.infer('upper', { text: ['a'] })
    expectTypeOf(made.data).toEqualTypeOf<readonly string[]>()
    expect(made.data).toEqual(['A'])
    // @ts-expect-error a number is no text
    await expect(client.infer('upper', { text: [1] })).rejects.toThrow(/must be a text/)
    // @ts-expect-error there is no such model
    await expect(client.infer('none', {})).rejects.toThrow(/unknown model/)
    const half = defineModel({ name: 'half', signature: '(x: f64[n]) -> (y: f64[n])', run: ({ x }) => x })
    const other = createClient<{ half: typeof half }>('http://127.0.0.1:1')
    expectTypeOf(other.infer<'half'>).returns.resolves.toEqualTypeOf<{ readonly y: ClientTensor<'float64'> }>()
    await other.closeAsync()
  })
})

describe('a server without the binary extension', () => {
  test('gets JSON, and its JSON is read', async () => {
    const { server } = await Served.start([double, upper, echo('int64'), echo('float16')])
    const url = await answering(async (request, response) => {
      if (request.url === '/v2') {
        response.end(JSON.stringify({ name: 'plain', version: '1', extensions: [] }))
        return
      }
      const { method = 'GET', headers } = request
      expect(headers['inference-header-content-length']).toBeUndefined()
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = method === 'GET' ? null : Buffer.concat(chunks)
      const reply = await fetch(`http://127.0.0.1:${server.port}${request.url}`, { method, body })
      response.writeHead(reply.status).end(Buffer.from(await reply.arrayBuffer()))
    })
    const client = clientFor(url)
    expect((await client.infer('double', { x: [[1, 2, 3, 4]] }))['y']?.data).toEqual(new Float32Array([2, 4, 6, 8]))
    expect((await client.infer('upper', { text: ['ä'] }))['upper']?.data).toEqual(['Ä'])
    const wide = await client.infer('echo_int64', { x: [2n ** 62n + 1n] })
    expect(wide['y']?.data).toEqual(new BigInt64Array([2n ** 62n + 1n]))
    await expect(client.infer('double', { x: [[1, 2, 3, Number.NaN]] })).rejects.toThrow(/no form in JSON/)
    const nan = new Float32Array([Number.NaN, 0, 0, 0])
    await expect(client.infer('double', { x: { shape: [1, 4], data: nan } })).rejects.toThrow(/no form in JSON/)
    await expect(client.infer('echo_float16', { x: new Uint16Array(1) })).rejects.toThrow(/no form in JSON/)
    await expect(client.infer('upper', { text: [new Uint8Array([0xff])] })).rejects.toThrow(/not UTF-8/)
  })
})

describe('what else a server says', () => {
  test('whether it lives and is ready, what it has and what it did', async () => {
    const { server } = await Served.start([double])
    const client = clientFor(server.port)
    expect(await client.live()).toBe(true)
    expect([await client.ready(), await client.ready('double'), await client.ready('none')]).toEqual([
      true,
      true,
      false,
    ])
    expect(await client.metadata()).toMatchObject({ name: 'tenon' })
    expect((await client.metadata('double')).inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, 4] }])
    expect(await client.config('double')).toMatchObject({ max_batch_size: 0 })
    await client.infer('double', { x: [[1, 2, 3, 4]] })
    expect(await client.statistics('double')).toMatchObject({ model_stats: [{ inference_count: 1 }] })
    expect(await client.statistics()).toMatchObject({ model_stats: [{ name: 'double' }] })
    expect(await client.index()).toMatchObject([{ name: 'double', state: 'READY' }])
    const none = clientFor('http://127.0.0.1:1')
    expect([await none.live(), await none.ready()]).toEqual([false, false])
  })

  test('loads and unloads models, with other batches', async () => {
    const folder = makeRepository({ 'a/model.json': faulty(0), 'a/1/libfaulty.so': { copy: libfaulty } })
    const repository = ModelRepository.open(folder)
    const { server } = await Served.start([], { repository, modelControl: 'explicit' })
    const client = clientFor(server.port)
    await expect(client.infer('a', { x: [1] })).rejects.toMatchObject({ code: 'TENON_MODEL_UNAVAILABLE' })
    await client.load('a', { config: { instance_group: [{ count: 2 }] } })
    expect(await client.config('a')).toMatchObject({ instance_group: [{ count: 2 }] })
    expect((await client.infer('a', { x: [1] }))['y']?.data).toEqual(new Float32Array([2]))
    await client.unload('a')
    expect(await client.index()).toMatchObject([{ name: 'a', state: 'UNAVAILABLE' }])
    await expect(client.load('b')).rejects.toThrow(/failed to load/)
  })
})

describe('the end of a client', () => {
  test('waits for requests in progress, and refuses new ones', async () => {
    const slow = defineModel({
      name: 'slow',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: async ({ x }) => (await sleep(100), x),
    })
    const client = await serve(slow)
    const running = client.infer('slow', { x: [1] })
    await client.closeAsync()
    expect((await running)['y']?.data).toEqual(new Float32Array([1]))
    await expect(client.infer('slow', { x: [1] })).rejects.toMatchObject({ code: 'TENON_SCOPE_CLOSED' })
    await client.closeAsync()
  })

  test('options and URLs are checked', () => {
    for (const [url, options] of [
      ['127.0.0.1:8000', {}],
      ['ftp://a', {}],
      ['http://a', { retries: -1 }],
      ['http://a', { deadline: 0 }],
      ['http://a', { retry: 1 }],
    ] as const) {
      expect(() => createClient(url, options as ClientOptions)).toThrow(/must/)
    }
  })
})
