import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Client, ClientOptions } from '../src/client.ts'
import { connectClient, type Transport } from './connect-client.ts'

const metadata = {
  name: 'm',
  versions: ['1'],
  platform: 'x',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
}

type Infer = (attempt: number, response: ServerResponse, request: IncomingMessage) => void

let transport: Transport

/** A server whose answers to inferences a test decides, and a client of it. */
async function start(infer: Infer, options: ClientOptions = {}): Promise<{ client: Client; attempts: () => number }> {
  let attempts = 0
  const server = createHttpServer((request, response) => {
    if (request.url === '/v2') response.end(JSON.stringify({ extensions: ['binary_tensor_data'] }))
    else if (request.url === '/v2/models/m') response.end(JSON.stringify(metadata))
    else request.resume().on('end', () => infer(++attempts, response, request))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectClient(transport, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, options)
  onTestFinished(async () => {
    server.close().closeAllConnections()
    await client.closeAsync()
  })
  return { client, attempts: () => attempts }
}

const json = (outputs: unknown): string => JSON.stringify({ model_name: 'm', outputs })

const answer = (response: ServerResponse): void => {
  response.end(json([{ name: 'y', datatype: 'FP32', shape: [1], data: [1] }]))
}

const fail = (response: ServerResponse, status: number): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: `no ${status}` }))
}

describe.each(['node:http', 'fetch'] as const)('%s', (name) => {
  beforeEach(() => void (transport = name))

  describe('retries', () => {
    test('a broken connection, 502 and 503 are tried again', async () => {
      const { client, attempts } = await start(
        (attempt, response) => {
          if (attempt === 1) response.socket!.resetAndDestroy()
          else if (attempt < 4) fail(response, attempt === 2 ? 502 : 503)
          else if (attempt === 4) response.writeHead(200, { 'content-length': 100 }).write('{"outp')
          else answer(response)
          if (attempt === 4) setTimeout(() => response.destroy(), 20)
        },
        { retries: 4 },
      )
      const { y } = await client.infer('m', { x: [1] })
      expect([y?.data, attempts()]).toEqual([new Float32Array([1]), 5])
    })

    test('a request of a sequence is sent once, because it may have run', async () => {
      const { client, attempts } = await start((_, response) => void response.socket!.resetAndDestroy(), { retries: 4 })
      const running = client.infer('m', { x: [1] }, { sequence: { id: 1 } })
      await expect(running).rejects.toMatchObject({ code: 'TENON_MODEL_UNAVAILABLE' })
      expect(attempts()).toBe(1)
    })

    test('a server that stays unreachable is an error after the last attempt', async () => {
      const { client, attempts } = await start((_, response) => fail(response, 503))
      await expect(client.infer('m', { x: [1] })).rejects.toMatchObject({
        code: 'TENON_MODEL_UNAVAILABLE',
        sentence: 'no 503',
      })
      expect(attempts()).toBe(3)
      const none = connectClient(transport, 'http://127.0.0.1:1', { retries: 0 })
      await expect(none.metadata()).rejects.toThrow(/cannot be reached/)
    })

    test.each([
      [400, 'TENON_INVALID_REQUEST'],
      [404, 'TENON_MODEL_NOT_FOUND'],
      [408, 'TENON_KERNEL_DEADLINE'],
      [413, 'TENON_REQUEST_TOO_LARGE'],
      [418, 'TENON_PROTOCOL'],
      [500, 'TENON_NATIVE'],
      [501, 'TENON_UNSUPPORTED'],
      [504, 'TENON_KERNEL_DEADLINE'],
    ])('%i is never tried again, and is %s', async (status, code) => {
      const { client, attempts } = await start((_, response) => fail(response, status))
      await expect(client.infer('m', { x: [1] })).rejects.toMatchObject({
        code,
        sentence: `no ${status}`,
        details: { status },
      })
      expect(attempts()).toBe(1)
    })

    test('the page of a proxy is an error with its status', async () => {
      const { client } = await start((_, response) => void response.writeHead(502).end('<html>'), { retries: 0 })
      await expect(client.infer('m', { x: [1] })).rejects.toThrow(/answered with the status 502/)
    })
  })

  describe('deadlines and signals', () => {
    test('the deadline holds for all attempts together', async () => {
      const { client, attempts } = await start((_, response) => fail(response, 503), { retries: 1000, deadline: 300 })
      await expect(client.infer('m', { x: [1] })).rejects.toMatchObject({
        code: 'TENON_KERNEL_DEADLINE',
        details: { deadline: 300 },
      })
      expect(attempts()).toBeGreaterThan(1)
    })

    test('a server that does not answer is left at the deadline, and the server sees it', async () => {
      let closed: Promise<unknown> | undefined
      const { client } = await start((_, response) => void (closed = once(response, 'close')), { deadline: 200 })
      await expect(client.infer('m', { x: [1] })).rejects.toThrow(/did not answer within 200 ms/)
      await closed
    })

    test('a signal ends the request with its reason, also between attempts', async () => {
      const { client } = await start((_, response) => fail(response, 503), { retries: 1000 })
      const reason = new Error('enough')
      const abort = new AbortController()
      const running = client.infer('m', { x: [1] }, { signal: abort.signal })
      await sleep(100)
      abort.abort(reason)
      await expect(running).rejects.toBe(reason)
      await expect(client.infer('m', { x: [1] }, { signal: abort.signal })).rejects.toBe(reason)
      // Other requests still get the metadata.
      await expect(client.metadata('m')).resolves.toMatchObject({ name: 'm' })
    })
  })

  describe('answers that contradict the protocol', () => {
    const output = { name: 'y', datatype: 'FP32', shape: [1] }
    test.each([
      ['no JSON', 'x', {}, /must be JSON/],
      ['no object', '[]', {}, /JSON object/],
      ['no outputs', '{}', {}, /must have outputs/],
      ['an output without a name', json([{ datatype: 'FP32', shape: [1], data: [1] }]), {}, /must have a name/],
      ['a negative size', json([{ ...output, shape: [-1], data: [] }]), {}, /must have a name, a datatype and a shape/],
      ['an unknown datatype', json([{ ...output, datatype: 'FP8', data: [1] }]), {}, /got FP8/],
      ['too few elements', json([{ ...output, data: [] }]), {}, /1 elements/],
      ['another element', json([{ ...output, data: ['a'] }]), {}, /element 0 of the output y must be of FP32/],
      ['no data', json([output]), {}, /must be an array/],
      ['bytes that are missing', json([{ ...output, parameters: { binary_data_size: 4 } }]), {}, /4 bytes, got 0/],
      [
        'a wrong number of bytes',
        json([{ ...output, parameters: { binary_data_size: 0 } }]),
        {},
        /4 bytes for its shape/,
      ],
      ['a size that is none', json([{ ...output, parameters: { binary_data_size: -1 } }]), {}, /must have a name/],
      [
        'bytes left over',
        `${json([])}xy`,
        { 'inference-header-content-length': String(json([]).length) },
        /2 more bytes/,
      ],
      [
        'a header beyond the body',
        json([]),
        { 'inference-header-content-length': '99' },
        /Inference-Header-Content-Length/,
      ],
      ['a header that is no number', json([]), { 'inference-header-content-length': '1e1' }, /Inference-Header/],
    ])('%s', async (_, body, headers, message) => {
      const { client, attempts } = await start((_attempt, response) => void response.writeHead(200, headers).end(body))
      const failed = client.infer('m', { x: [1] })
      await expect(failed).rejects.toThrow(message)
      await expect(failed).rejects.toMatchObject({ code: 'TENON_PROTOCOL' })
      expect(attempts()).toBe(1)
    })

    test('redirects are not followed', async () => {
      const { client } = await start(
        (_, response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
        {
          retries: 0,
        },
      )
      await expect(client.infer('m', { x: [1] })).rejects.toThrow(/cannot be reached|status 307/)
    })
  })

  test('traceparent and tracestate are sent, and other values are refused', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    let headers: unknown
    const { client } = await start((_, response, request) => {
      headers = request.headers
      answer(response)
    })
    await client.infer('m', { x: [1] }, { traceparent, tracestate: 'a=b, c=d' })
    expect(headers).toMatchObject({ traceparent, tracestate: 'a=b, c=d' })
    await expect(client.infer('m', { x: [1] }, { traceparent: 'a\r\nb: c' })).rejects.toThrow(/visible ASCII/)
  })
})
