import { eventually } from '@tenon/config/eventually'
import { describe, expect, test } from 'vitest'
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { StringTensor } from 'tenon/tstring'
import { defineModel } from '../src/index.ts'
import { double, echo } from './models.ts'
import { input, Served } from './support.ts'

const bytesOf = (...values: number[]): Buffer => Buffer.from(new Float32Array(values).buffer)

const binary = (shape: readonly number[], size: number): object => ({
  name: 'x',
  datatype: 'FP32',
  shape,
  parameters: { binary_data_size: size },
})

const errorOf = ({ status, body }: { status: number; body: Buffer }): unknown => [status, JSON.parse(body.toString())]

describe('tensors as bytes', () => {
  test('bytes behind the JSON in both directions', async () => {
    const served = await Served.start([double])
    const request = { inputs: [binary([1, 4], 16)], parameters: { binary_data_output: true } }
    const { status, headers, body } = await served.inferBinary('double', request, [bytesOf(1, 2, 3, 4)])
    const size = Number(headers['inference-header-content-length'])
    expect([status, headers['content-type']]).toEqual([200, 'application/octet-stream'])
    expect(JSON.parse(body.subarray(0, size).toString())).toEqual({
      model_name: 'double',
      model_version: '1',
      outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 4], parameters: { binary_data_size: 16 } }],
    })
    expect(body.subarray(size)).toEqual(bytesOf(2, 4, 6, 8))
  })

  test('bodies of many chunks, whose memory is given back chunk by chunk, arrive whole', async () => {
    const served = await Served.start([echo('u8')])
    const url = `http://127.0.0.1:${served.server.port}/v2/models/echo_u8/infer`
    for (const [size, encoding] of [
      [2 ** 20 + 13, undefined],
      [2 ** 20 + 13, 'gzip'],
      [65_536, undefined],
      [16_384, 'gzip'],
    ] as const) {
      const bytes = randomBytes(size)
      const inputs = [{ name: 'x', datatype: 'UINT8', shape: [size], parameters: { binary_data_size: size } }]
      const json = JSON.stringify({ inputs, parameters: { binary_data_output: true } })
      const whole = Buffer.concat([Buffer.from(json), bytes])
      const answers = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const reply = await fetch(url, {
            method: 'POST',
            headers: {
              'inference-header-content-length': String(json.length),
              ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
            },
            body: encoding === undefined ? whole : gzipSync(whole),
          })
          const body = Buffer.from(await reply.arrayBuffer())
          return body.subarray(Number(reply.headers.get('inference-header-content-length')))
        }),
      )
      for (const answer of answers) expect(answer.equals(bytes)).toBe(true)
    }
  })

  test('each answer has its own bytes, also if the client reads it long after others got theirs', async () => {
    let runs = 0
    const counting = defineModel({
      name: 'counting',
      signature: '(x: u8[n]) -> (y: u8[n])',
      run: ({ x }) => {
        runs++
        return x
      },
    })
    const served = await Served.start([counting])
    const size = 15_000
    const inputs = [{ name: 'x', datatype: 'UINT8', shape: [size], parameters: { binary_data_size: size } }]
    const json = JSON.stringify({ inputs, parameters: { binary_data_output: true } })
    /** Sends requests one behind the other on one connection, which does not read yet. */
    const send = (values: readonly number[]): Socket => {
      const socket = connect(served.server.port, '127.0.0.1').pause()
      for (const [i, value] of values.entries()) {
        const isLast = i === values.length - 1
        socket.write(
          `POST /v2/models/counting/infer HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${json.length + size}\r\n` +
            `inference-header-content-length: ${json.length}\r\n${isLast ? 'connection: close\r\n' : ''}\r\n${json}`,
        )
        socket.write(Buffer.alloc(size, value))
      }
      return socket
    }
    const read = async (socket: Socket): Promise<number[]> => {
      let answers = await buffer(socket)
      const values: number[] = []
      while (answers.length > 0) {
        const start = answers.indexOf('\r\n\r\n') + 4
        const head = answers.subarray(0, start).toString('latin1')
        const numberOf = (name: string): number => Number(new RegExp(`\r\n${name}: (\\d+)\r\n`, 'i').exec(head)![1])
        const end = start + numberOf('content-length')
        const bytes = answers.subarray(start + numberOf('inference-header-content-length'), end)
        const value = bytes[0]!
        expect(bytes.equals(Buffer.alloc(size, value))).toBe(true)
        values.push(value)
        answers = answers.subarray(end)
      }
      return values
    }
    // More than what the kernel keeps for a connection.
    const slowValues = Array.from({ length: 1000 }, (_, i) => i % 100)
    const slow = send(slowValues)
    await eventually(async () => {
      const before = runs
      await sleep(50)
      expect(runs).toBe(before)
      expect(runs).toBeGreaterThan(0)
    })
    expect(runs).toBeLessThan(slowValues.length)
    const fastValues = Array.from({ length: 100 }, (_, i) => 100 + i)
    expect(await Promise.all([send(fastValues), send(fastValues)].map(read))).toEqual([fastValues, fastValues])
    expect(await read(slow)).toEqual(slowValues)
  })

  test('answers of every size have exactly their bytes, behind a JSON that is not ASCII', async () => {
    const served = await Served.start([echo('u8', 'größe→')])
    // Bodies of up to 15,360 bytes are copied behind their head.
    const sizes = [0, 1, 255, 4096, ...Array.from({ length: 16 }, (_, i) => 15_220 + 10 * i), 16_384, 100_000]
    for (const size of sizes) {
      const bytes = randomBytes(size)
      const inputs = [{ name: 'x', datatype: 'UINT8', shape: [size], parameters: { binary_data_size: size } }]
      const request = { inputs, parameters: { binary_data_output: true } }
      const { headers, body } = await served.inferBinary(encodeURIComponent('größe→'), request, [bytes])
      const jsonSize = Number(headers['inference-header-content-length'])
      expect(JSON.parse(body.subarray(0, jsonSize).toString())).toMatchObject({
        model_name: 'größe→',
        outputs: [{ shape: [size], parameters: { binary_data_size: size } }],
      })
      expect(body.subarray(jsonSize).equals(bytes)).toBe(true)
      expect(body).toHaveLength(Number(headers['content-length']))
    }
  })

  test('requests with the same JSON and other tensors have nothing else in common', async () => {
    const seen: unknown[] = []
    const model = defineModel({
      name: 'greedy',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: ({ x }, { parameters }) => {
        seen.push({ ...parameters }, Reflect.set(parameters, 'scale', 0))
        return x
      },
    })
    const served = await Served.start([model])
    const parameters = { binary_data_output: true, scale: 3 }
    for (const value of [1, 2]) {
      const request = { inputs: [binary([2], 8)], parameters }
      const { headers, body } = await served.inferBinary('greedy', request, [bytesOf(value, value)])
      const size = Number(headers['inference-header-content-length'])
      expect(body.subarray(size)).toEqual(bytesOf(value, value))
    }
    expect(seen).toEqual([{ scale: 3 }, false, { scale: 3 }, false])
  })

  test('answers to the same JSON describe the outputs that they have', async () => {
    let length = 0
    const growing = defineModel({
      name: 'growing',
      signature: '(x: f32[n]) -> (y: f32[n], text: string[n])',
      run: ({ x }) => ({ y: x, text: StringTensor.from(['a'.repeat(++length)]) }),
    })
    const served = await Served.start([growing])
    const sizesOf = async (...names: string[]): Promise<readonly number[]> => {
      const outputs = names.map((name) => ({ name, parameters: { binary_data: true } }))
      const request = { inputs: [binary([1], 4)], outputs }
      const { headers, body } = await served.inferBinary('growing', request, [bytesOf(1)])
      const size = Number(headers['inference-header-content-length'])
      const { outputs: described } = JSON.parse(body.subarray(0, size).toString()) as {
        readonly outputs: readonly {
          readonly name: string
          readonly parameters: { readonly binary_data_size: number }
        }[]
      }
      expect(described.map(({ name }) => name)).toEqual(names)
      const sizes = described.map(({ parameters }) => parameters.binary_data_size)
      expect(body.length - size).toBe(sizes.reduce((sum, one) => sum + one))
      return sizes
    }
    for (let round = 1; round < 10; round += 3) {
      expect(await sizesOf('y')).toEqual([4])
      expect(await sizesOf('text')).toEqual([4 + round + 1])
      expect(await sizesOf('text', 'y')).toEqual([4 + round + 2, 4])
    }
  })

  test('an output decides for itself, and without a binary one the answer is JSON', async () => {
    const served = await Served.start([double])
    const outputs = (binary_data: boolean) => [{ name: 'y', parameters: { binary_data } }]
    const inputs = [input('x', 'FP32', [1, 4], [1, 2, 3, 4])]
    const asJson = await served.inferBinary(
      'double',
      { inputs, outputs: outputs(false), parameters: { binary_data_output: true } },
      [],
    )
    expect([asJson.headers['content-type'], asJson.headers['inference-header-content-length']]).toEqual([
      'application/json',
      undefined,
    ])
    const asBytes = await served.inferBinary('double', { inputs, outputs: outputs(true) }, [])
    expect(asBytes.body.subarray(-16)).toEqual(bytesOf(2, 4, 6, 8))
    const unknown = await served.infer('double', { inputs, outputs: [{ name: 'z' }] })
    expect(unknown).toEqual([400, { error: 'the model double has no output "z". Its outputs are y.' }])
  })

  test('the size of the JSON is decimal digits within the body', async () => {
    const served = await Served.start([double])
    const json = JSON.stringify({ inputs: [binary([1, 4], 16)] })
    const body = Buffer.concat([Buffer.from(json), bytesOf(1, 2, 3, 4)])
    for (const size of ['-1', 'NaN', '1e3', '0x10', '', ' ', '1.0', '9'.repeat(16), String(body.length + 1), '0']) {
      const headers = { 'inference-header-content-length': size }
      const reply = await served.send('POST', '/v2/models/double/infer', body, headers)
      expect([size, reply.status]).toEqual([size, 400])
    }
    const headers = { 'inference-header-content-length': String(json.length) }
    expect((await served.send('POST', '/v2/models/double/infer', body, headers)).status).toBe(200)
  })

  test('the bytes are exactly those of the inputs', async () => {
    const served = await Served.start([double])
    const request = { inputs: [binary([1, 4], 16)] }
    expect(errorOf(await served.inferBinary('double', request, [bytesOf(1, 2, 3)]))).toEqual([
      400,
      { error: 'the body must have all bytes of the binary inputs, but it ended before' },
    ])
    expect(errorOf(await served.inferBinary('double', request, [bytesOf(1, 2, 3, 4), Buffer.from('x')]))).toEqual([
      400,
      { error: 'the body must have no bytes behind the binary inputs' },
    ])
    expect(errorOf(await served.inferBinary('double', { inputs: [binary([1, 4], 12)] }, [bytesOf(1, 2, 3)]))).toEqual([
      400,
      { error: 'the binary_data_size of x must be 16 for 4 elements, got 12' },
    ])
    const both = { ...(input('x', 'FP32', [1, 4], [1, 2, 3, 4]) as object), parameters: { binary_data_size: 16 } }
    for (const one of [both, { name: 'x', datatype: 'FP32', shape: [1, 4] }]) {
      expect(errorOf(await served.inferBinary('double', { inputs: [one] }, []))).toEqual([
        400,
        { error: 'the input x must have either data, the parameter binary_data_size or shared memory' },
      ])
    }
    for (const size of [-1, 1.5, '16', 2 ** 53, true]) {
      const one = { name: 'x', datatype: 'FP32', shape: [1, 4], parameters: { binary_data_size: size } }
      expect((await served.inferBinary('double', { inputs: [one] }, [bytesOf(1, 2, 3, 4)])).status).toBe(400)
    }
  })

  test('booleans are bytes of 0 and 1', async () => {
    const served = await Served.start([echo('pred', 'bools')])
    const one = { name: 'x', datatype: 'BOOL', shape: [3], parameters: { binary_data_size: 3 } }
    expect(errorOf(await served.inferBinary('bools', { inputs: [one] }, [Buffer.from([0, 1, 2])]))).toEqual([
      400,
      { error: 'element 2 of x must be 0 or 1, got 2' },
    ])
    const reply = await served.inferBinary('bools', { inputs: [one] }, [Buffer.from([0, 1, 1])])
    expect(JSON.parse(reply.body.toString())).toMatchObject({ outputs: [{ data: [false, true, true] }] })
  })

  test('bytes at any offset and in any chunks reach aligned memory', async () => {
    const served = await Served.start([double])
    for (const id of ['', 'a', 'ab', 'abc']) {
      const request = { id, inputs: [binary([256, 4], 4096)], parameters: { binary_data_output: true } }
      const values = Array.from({ length: 1024 }, (_, i) => i)
      const { status, body } = await served.inferBinary('double', request, [bytesOf(...values)])
      expect([status, body.subarray(-4096)]).toEqual([200, bytesOf(...values.map((value) => 2 * value))])
    }
  })

  test('compressed requests are inflated, and answers are compressed if the client asks', async () => {
    const served = await Served.start([double])
    const values = Array.from({ length: 1024 }, (_, i) => i)
    const json = Buffer.from(
      JSON.stringify({ inputs: [binary([256, 4], 4096)], parameters: { binary_data_output: true } }),
    )
    const body = Buffer.concat([json, bytesOf(...values)])
    const wanted = bytesOf(...values.map((value) => 2 * value))
    for (const [encoding, compress] of [
      ['gzip', gzipSync],
      ['deflate', deflateSync],
    ] as const) {
      const headers = { 'content-encoding': encoding, 'inference-header-content-length': String(json.length) }
      const plain = await served.send('POST', '/v2/models/double/infer', compress(body), headers)
      expect([plain.status, plain.headers['content-encoding'], plain.body.subarray(-4096)]).toEqual([
        200,
        undefined,
        wanted,
      ])
      const packed = await served.send('POST', '/v2/models/double/infer', compress(body), {
        ...headers,
        'accept-encoding': encoding,
      })
      const inflate = encoding === 'gzip' ? gunzipSync : inflateSync
      expect([packed.headers['content-encoding'], inflate(packed.body).subarray(-4096)]).toEqual([encoding, wanted])
    }
    const wrong = await served.send('POST', '/v2/models/double/infer', body, { 'content-encoding': 'gzip' })
    expect(errorOf(wrong)).toEqual([400, { error: 'the body must be compressed as its content-encoding states' }])
    expect((await served.send('POST', '/v2/models/double/infer', body, { 'content-encoding': 'br' })).status).toBe(415)
  })

  test('a small body that inflates to a large one is refused', async () => {
    const served = await Served.start([double], { maxRequestBytes: 2 ** 20 })
    const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20))
    const headers = { 'content-encoding': 'gzip' }
    const { status } = await served.send('POST', '/v2/models/double/infer', bomb, headers)
    expect(status).toBe(413)
  })
})
