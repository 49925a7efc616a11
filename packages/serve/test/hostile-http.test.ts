import { eventually } from '@tenon/config/eventually'
import fc from 'fast-check'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { tensor as tensorOf } from 'tenon'
import { defineModel } from '../src/index.ts'
import { double, echo, heldModel } from './models.ts'
import { connectTo, inferHead, inferText, input, Served } from './support.ts'

const request = JSON.stringify({ inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
const one = JSON.stringify({ inputs: [input('x', 'FP32', [1], [1])] })

/** Writes bytes on a connection of its own, and returns all that comes until the server ends it. */
function converse(served: Served, bytes: string | Uint8Array, isHalfClosed = false): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port: served.server.port, host: '127.0.0.1', allowHalfOpen: true })
    let received = ''
    socket.setTimeout(20_000, () => socket.destroy())
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(received))
    socket.write(bytes)
    if (isHalfClosed) socket.end()
  })
}

const head = (...lines: string[]): string =>
  ['POST /v2/models/double/infer HTTP/1.1', 'host: localhost', 'connection: close', ...lines, '', ''].join('\r\n')

const descriptors = (): number => readdirSync('/proc/self/fd').length

/** Whether the server still answers as it did before. */
const isWell = async (served: Served): Promise<void> => {
  const reply = await served.send('POST', '/v2/models/double/infer', request)
  expect([reply.status, JSON.parse(reply.body.toString())]).toMatchObject([200, { outputs: [{ data: [2, 4, 6, 8] }] }])
}

describe('hostile requests', () => {
  test('sizes in the headers that no body has', async () => {
    const served = await Served.start([double])
    const status = async (bytes: string): Promise<string> => (await converse(served, bytes)).slice(9, 12)
    expect(await status(head('content-length: 9223372036854775808'))).toBeOneOf(['400', '413'])
    expect(await status(head(`content-length: ${2 ** 40}`) + request)).toBe('413')
    expect(await status(head('content-length: -1') + request)).toBe('400')
    expect(await status(head('content-length: 1e3') + request)).toBe('400')
    expect(await status(head('content-length: 5', 'content-length: 6') + request)).toBe('400')
    expect(await status(head('content-length: 5', 'transfer-encoding: chunked') + request)).toBe('400')
    expect(await status(head('transfer-encoding: chunked') + 'zz\r\n')).toBe('400')
    for (const encoding of [
      'identity, chunked',
      'gzip, chunked',
      'chunked, chunked',
      'gzip\r\ntransfer-encoding: chunked',
    ])
      expect(await status(`${head(`transfer-encoding: ${encoding}`)}2\r\n{}\r\n0\r\n\r\n`)).toBe('400')
    expect(await status(`${head('transfer-encoding: Chunked')}0\r\n\r\n`)).toBe('400')
    expect(await status(head('transfer-encoding: chunked', 'transfer-encoding: identity') + '0\r\n\r\n')).toBe('400')
    expect(await status(head(`x: ${'y'.repeat(20_000)}`))).toBe('431')
    expect(await status('GET / HTTP/9.9\r\n\r\n')).toBe('400')
    expect(await status('\0\0\0\0\r\n\r\n')).toBe('400')
    await isWell(served)
  })

  test('a request whose body is wrong after its answer was sent gets no second answer', async () => {
    const served = await Served.start([double])
    const kept = (path: string, ...lines: string[]): string =>
      [`POST ${path} HTTP/1.1`, 'host: localhost', ...lines, '', ''].join('\r\n')
    for (const [status, bytes] of [
      ['400', `${kept('/v2/models/double/infer', 'transfer-encoding: xchunked')}2\r\n{}\r\n0\r\n\r\n`],
      ['400', `${kept('/v2/models/double/infer', 'transfer-encoding: chunked;q=1')}0\r\n\r\n`],
      ['404', `${kept('/nowhere', 'transfer-encoding: chunked')}5\r\nabcde\r\nzz\r\n`],
    ] as const) {
      expect((await converse(served, bytes)).match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`])
    }
    await isWell(served)
  })

  test('a request of HTTP/1.0 in chunks is refused', async () => {
    const served = await Served.start([double])
    const bytes = head('transfer-encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0')
    const text = `${bytes}${request.length.toString(16)}\r\n${request}\r\n0\r\n\r\n`
    expect(await converse(served, text)).toMatch(
      /^HTTP\/1\.1 400 .*must be HTTP\/1\.1 with the transfer-encoding chunked/s,
    )
  })

  test('a chunked body is counted, and ends at the limit', async () => {
    const served = await Served.start([double], { maxRequestBytes: 100_000 })
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
    expect((await converse(served, head('transfer-encoding: chunked') + chunk.repeat(50))).slice(9, 12)).toBe('413')
    const tiny = '1\r\n \r\n'.repeat(70_000)
    const larger = await Served.start([double])
    expect((await converse(larger, head('transfer-encoding: chunked') + tiny)).slice(9, 12)).toBe('413')
    await isWell(served)
  })

  test('a client that sends slowly gets 408, and others are answered', async () => {
    const served = await Served.start([double], { requestTimeout: 300 })
    const slow: Socket[] = []
    const answers: string[] = []
    for (let i = 0; i < 200; i++) {
      const socket = connect(served.server.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.on('data', (chunk) => answers.push(chunk.toString().slice(9, 12)))
      socket.write(i % 2 === 0 ? 'POST /v2' : head('content-length: 1000') + '{')
      slow.push(socket)
    }
    await isWell(served)
    await eventually(() => expect(slow.every(({ closed }) => closed)).toBe(true))
    expect(new Set(answers)).toEqual(new Set(['408']))
  })

  test.each([
    ['408', 'POST /v2'],
    ['408', head('content-length: 1000') + '{'],
    ['408', head('transfer-encoding: chunked') + '5\r\n{'],
    ['400', 'POST /v2 HTTP/9.9\r\n\r\n'],
  ])('a client that gets %s and does not end its side is cut off: %j', async (status, bytes) => {
    const served = await Served.start([double], { requestTimeout: 300 })
    const before = descriptors()
    const socket = connect({ port: served.server.port, host: '127.0.0.1', allowHalfOpen: true })
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.write(bytes)
    await once(socket, 'end')
    expect(received.slice(9, 12)).toBe(status)
    // The connection has two descriptors here, and that of the client stays open.
    await eventually(() => expect(descriptors()).toBeLessThanOrEqual(before + 1))
    socket.destroy()
    await isWell(served)
  })

  test('a client that goes on sending what is not HTTP gets its 400', async () => {
    const served = await Served.start([double])
    const socket = connect({ port: served.server.port, host: '127.0.0.1', allowHalfOpen: true })
    const failures: Error[] = []
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('error', (error) => failures.push(error))
    const ended = once(socket, 'end')
    for (let i = 0; i < 20; i++) {
      socket.write('\0\0\0\0\r\n')
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await ended
    socket.destroy()
    expect([received.slice(9, 12), failures]).toEqual(['400', []])
  })

  test('an answer that a client reads slowly is whole, also if its next request never comes', async () => {
    const size = 4 * 2 ** 20
    const large = defineModel({
      name: 'large',
      signature: '(x: f32[n]) -> (y: f32[4194304])',
      run: () => tensorOf('f32', [size]),
    })
    const served = await Served.start([large], { requestTimeout: 1000 })
    const bytes = JSON.stringify({ inputs: [input('x', 'FP32', [1], [1])], parameters: { binary_data_output: true } })
    const socket = connect(served.server.port, '127.0.0.1')
    let received = 0
    let last = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received += chunk.length
      last = Buffer.concat([last, chunk]).subarray(-400)
      socket.pause()
      setTimeout(() => socket.resume(), 20)
    })
    socket.write(inferHead('large', bytes.length) + bytes + inferHead('large', bytes.length) + '{')
    await once(socket, 'close')
    expect(received).toBeGreaterThan(4 * size)
    expect(last.toString('latin1')).toContain('HTTP/1.1 408 ')
  })

  test('bytes that are not HTTP behind a request are refused behind its answer', async () => {
    const { model: slow, begun, finish } = heldModel()
    const served = await Served.start([slow])
    const { socket, received } = connectTo(served)
    socket.write(`${inferText('slow', one)}GARBAGE\r\n\r\n`)
    await begun
    for (let i = 0; i < 20; i++) {
      socket.write('MORE GARBAGE\r\n\r\n')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    finish()
    await once(socket, 'close')
    expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
  })

  test('a request with wrong chunks behind another one is refused behind its answer', async () => {
    const { model: slow, begun, finish } = heldModel()
    const served = await Served.start([slow])
    const { socket, received } = connectTo(served)
    const chunked = 'POST /v2/models/slow/infer HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n'
    socket.write(inferText('slow', one) + chunked)
    await begun
    socket.write('no size\r\n')
    await new Promise((resolve) => setTimeout(resolve, 100))
    finish()
    await once(socket, 'close')
    expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
  })

  test('requests that wait behind others on a connection leave nothing behind when it ends', async () => {
    const { model: slow, begun, finish } = heldModel()
    const options = { maxRequestBytes: 65_536, maxInFlightBytes: 100_000, requestTimeout: 4000 }
    const served = await Served.start([double, slow], options)
    const socket = connect(served.server.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(inferText('slow', one) + inferHead('double', 60_000) + '{')
    await begun
    socket.resetAndDestroy()
    await once(socket, 'close')
    finish()
    // There is room for one such request at a time.
    expect((await served.send('POST', '/v2/models/double/infer', request.padEnd(60_000))).status).toBe(200)
    // Closing waits for all requests.
    await served.server.closeAsync()
  })

  test('a half-closed connection still gets its answer', async () => {
    const served = await Served.start([double])
    const answer = await converse(served, head(`content-length: ${request.length}`) + request, true)
    expect(answer).toContain('"data":[2,4,6,8]')
  })

  test('requests of web pages and of other names are refused', async () => {
    const served = await Served.start([double])
    for (const headers of [
      { origin: 'https://example.com' },
      { host: 'example.com' },
      { host: 'localhost.example.com:80' },
    ]) {
      expect((await served.send('POST', '/v2/models/double/infer', request, headers)).status).toBe(403)
    }
    for (const host of ['localhost', '127.0.0.1:8000', '[::1]:9', 'LOCALHOST']) {
      expect((await served.send('POST', '/v2/models/double/infer', request, { host })).status).toBe(200)
    }
  })

  test('clients that leave at any byte leave nothing behind', async () => {
    const served = await Served.start([double])
    await isWell(served)
    const before = descriptors()
    const bytes = Buffer.from(head(`content-length: ${request.length}`) + request)
    for (let at = 0; at <= bytes.length; at += 3) {
      const socket = connect(served.server.port, '127.0.0.1')
      socket.on('error', () => {})
      await new Promise((resolve) => socket.once('connect', resolve))
      socket.write(bytes.subarray(0, at))
      if (at % 2 === 0) socket.resetAndDestroy()
      else socket.destroy()
    }
    await isWell(served)
    await eventually(() => expect(descriptors()).toBeLessThanOrEqual(before))
  })

  test('property: bytes of any kind get an answer of the protocol, never a 500', { timeout: 60_000 }, async () => {
    const served = await Served.start([double, echo('s64', 'echo'), echo('pred', 'bools')])
    const value: fc.Arbitrary<unknown> = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom(-1, 2 ** 53, 1e300, 'x', '', null, true, [], {}, [[]], 'FP32', 'INT64', 'BOOL', 'BYTES'),
    )
    const tensor = fc.record(
      {
        name: fc.oneof(fc.constantFrom('x', 'y', '__proto__'), value),
        datatype: fc.oneof(fc.constantFrom('FP32', 'INT64', 'BOOL'), value),
        shape: fc.oneof(fc.constantFrom([1, 4], [4], [0], [2 ** 40, 2 ** 40]), value),
        data: fc.oneof(fc.constantFrom([1, 2, 3, 4], [true, 0, 1, false]), value),
        parameters: fc.oneof(fc.record({ binary_data_size: value }), value),
      },
      { requiredKeys: [] },
    )
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      fc
        .record(
          { id: value, inputs: fc.oneof(fc.array(tensor), value), outputs: value, parameters: value },
          { requiredKeys: [] },
        )
        .map((json) => Buffer.from(JSON.stringify(json))),
    )
    const headers = fc.record(
      {
        'inference-header-content-length': fc.oneof(
          fc.constantFrom('0', '-1', 'NaN', '1e3', '0x1', '10'),
          fc.nat().map(String),
        ),
        'content-encoding': fc.constantFrom('gzip', 'deflate', 'br', 'identity', 'GZIP'),
        'accept-encoding': fc.constantFrom('gzip', 'deflate;q=0, *', ',,;', 'gzip;q=0'),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('double', 'echo', 'bools'), body, headers, async (model, bytes, given) => {
        const reply = await served.send('POST', `/v2/models/${model}/infer`, bytes, given as Record<string, string>)
        expect(reply.status).toBeOneOf([200, 400, 413, 415])
        if (reply.status !== 200) expect(JSON.parse(reply.body.toString())).toEqual({ error: expect.any(String) })
      }),
      { numRuns: 400 },
    )
    await isWell(served)
  })
})
