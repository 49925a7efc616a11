import { eventually } from '@tenon/config/eventually'
import { QueueFullError } from '@tenon/core'
import { KernelCrashError } from 'tenon/isolate'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { describe, expect, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { defineModel, InvalidRequestError, type Model } from '../src/index.ts'
import { FailureLimit } from '../src/log/failure-limit.ts'
import { Log, type LogOptions } from '../src/log/log.ts'
import { RequestRecord } from '../src/log/request-record.ts'
import { terminalLine } from '../src/log/terminal-line.ts'
import { Caller } from './caller.ts'
import { double } from './models.ts'
import { endlessModel } from './streams.ts'
import { connectTo, input, Served } from './support.ts'

type Line = Readonly<Record<string, unknown>>

/** Lines of JSON, and the function that receives them. */
function collect(): { readonly lines: Line[]; readonly write: (line: string) => void } {
  const lines: Line[] = []
  return { lines, write: (line) => void lines.push(JSON.parse(line) as Line) }
}

/** Logs the failure of one request. */
async function lineOf(error: unknown, options: LogOptions = {}): Promise<Line> {
  const { lines, write } = collect()
  const log = await Log.open({ format: 'json', write, ...options })
  const record = new RequestRecord({ method: 'POST', path: '/v2', address: '127.0.0.1', header: () => undefined })
  record.error = error
  record.status = 500
  log.end(record)
  log.end(record)
  expect(lines).toHaveLength(1)
  return lines[0]!
}

const failing: Model = defineModel({
  name: 'failing',
  signature: '(x: f32[n]) -> (y: f32[n])',
  run: () => {
    throw new Error('broken\nand more')
  },
})

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const float = expect.any(Number) as number

describe('the log of requests', () => {
  test('has one line for each request, with its times and bytes, over HTTP and gRPC', async () => {
    const { lines, write } = collect()
    const caller = await Caller.start([double], { log: { sample: 1, format: 'json', write } })
    const body = JSON.stringify({ id: 'one', inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
    const reply = await caller.served.send('POST', '/v2/models/double/infer?secret=1', body, { traceparent })
    expect(reply.status).toBe(200)
    await caller.served.send('GET', '/v2/health/live', undefined, { 'x-request-id': 'two' })
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [1n, 4n], contents: { fp32Contents: [1, 2, 3, 4] } }]
    await caller.call(GRPCInferenceService.method.modelInfer, { modelName: 'double', id: 'three', inputs })
    const common = { time: expect.any(String) as string, level: 'info', message: 'answered' }
    const times = { durationMs: float, queueMs: float, runMs: float }
    const model = { model: 'double', version: '1' }
    expect(lines).toEqual([
      {
        ...common,
        ...{ method: 'POST', path: '/v2/models/double/infer', status: 200, address: '127.0.0.1', id: 'one' },
        ...{ trace: traceparent.slice(3, 35), ...model, ...times },
        ...{ bytesIn: body.length, bytesOut: reply.body.length },
      },
      {
        ...common,
        ...{ method: 'GET', path: '/v2/health/live', status: 200, address: '127.0.0.1', id: 'two' },
        ...{ durationMs: float, bytesIn: 0, bytesOut: 13 },
      },
      {
        ...common,
        ...{ method: 'gRPC', path: 'ModelInfer', status: 0, address: '127.0.0.1', id: 'three' },
        ...{ ...model, ...times, bytesIn: float, bytesOut: float },
      },
    ])
  })

  test('has a failure once, as its first line and without a stack', async () => {
    const { lines, write } = collect()
    const served = await Served.start([failing], { log: { sample: 1, format: 'json', write } })
    await served.infer('failing', { inputs: [input('x', 'FP32', [1], [1])] })
    await served.send('GET', '/nowhere')
    expect(lines).toMatchObject([
      { level: 'error', message: 'broken', name: 'Error', status: 500, model: 'failing', reason: 'BACKEND' },
      { level: 'warn', path: '/nowhere', status: 404 },
    ])
    expect(lines[0]).not.toHaveProperty('stack')
  })

  test('has the address of a client that left before the end of its stream', async () => {
    const { lines, write } = collect()
    const { model } = endlessModel(1)
    const served = await Served.start([model], { log: { sample: 1, format: 'json', write } })
    const { socket, received } = connectTo(served)
    const body = '{"x":1}'
    const head = 'POST /v2/models/endless/generate_stream HTTP/1.1\r\nhost: localhost'
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    await eventually(() => expect(received()).toContain('data: '))
    socket.destroy()
    await eventually(() => expect(lines).toHaveLength(1))
    expect(lines[0]).toMatchObject({ message: 'the client has left', reason: 'CANCELED', address: '127.0.0.1' })
  })

  test('has the address of a client of gRPC whose connection ended before its request', async () => {
    const { lines, write } = collect()
    const caller = await Caller.start([double], { log: { sample: 1, format: 'json', write } })
    const session = connect(`http://127.0.0.1:${caller.served.server.grpcPort}`)
    const call = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    call.on('error', () => {})
    await once(call, 'ready')
    // The answer to a ping follows the head of the call, which the server has read then.
    await new Promise((resolve) => session.ping(resolve))
    session.destroy()
    await eventually(() => expect(lines).toHaveLength(1))
    expect(lines[0]).toMatchObject({ message: 'the client has left', method: 'gRPC', address: '127.0.0.1' })
  })

  test('leaves out answered requests by the sample, and never failures', async () => {
    const { lines, write } = collect()
    const log = { sample: 0.2, format: 'json', write } as const
    const served = await Served.start([failing], { log })
    for (let i = 0; i < 200; i++) await served.send('GET', '/v2')
    expect(lines.length).toBeGreaterThan(5)
    expect(lines.length).toBeLessThan(120)
    lines.length = 0
    for (let i = 0; i < 5; i++) await served.send('GET', `/nowhere/${i}`)
    expect(lines).toHaveLength(5)
  })

  test('has the stack of an error of the server if it is asked for, and none of a client', async () => {
    const broken = new Error('broken\nand more')
    expect(await lineOf(broken, { stacks: true })).toMatchObject({ message: broken.message, stack: broken.stack })
    expect(await lineOf(new InvalidRequestError('wrong'), { stacks: true })).not.toHaveProperty('stack')
    expect(await lineOf('text')).toMatchObject({ level: 'error', message: 'text', name: 'Error' })
    expect(await lineOf(new QueueFullError('too many wait', { hint: 'Wait.' }))).toMatchObject({
      level: 'warn',
      message: 'too many wait',
      name: 'QueueFullError',
    })
  })

  test('has the place of a crash in one field, without what the kernel printed', async () => {
    const backtrace = ['deep crash.c:3 (libcrash.so+0x1125)']
    const details = { kernel: 'm', signal: 'SIGSEGV', address: '0x0', access: undefined, backtrace, output: 'secret' }
    const line = await lineOf(new KernelCrashError('m crashed', { details }))
    expect(line['crash']).toEqual({ kernel: 'm', signal: 'SIGSEGV', address: '0x0', backtrace })
  })

  test('cuts the texts that a client chooses', async () => {
    const { lines, write } = collect()
    const served = await Served.start([], { log: { format: 'json', write } })
    await served.send('GET', `/${'a'.repeat(4000)}`, undefined, { 'x-request-id': 'b'.repeat(4000) })
    expect(lines).toMatchObject([{ path: `/${'a'.repeat(199)}`, id: 'b'.repeat(200) }])
  })

  test('options that are not valid are refused', async () => {
    for (const log of [
      { sample: 2 },
      { sample: Number.NaN },
      { format: 'xml' },
      { stacks: 1 },
      { write: 1 },
      { x: 1 },
    ]) {
      await expect(Served.start([], { log: log as LogOptions })).rejects.toThrow(/^log/)
    }
  })
})

test('failures have ten lines of one kind in a second, and then the number of those without a line', () => {
  let now = 0
  const limit = new FailureLimit(() => now)
  const full = Array.from({ length: 100 }, () => limit.count('full'))
  expect(full.filter((count) => count !== undefined)).toEqual(Array.from({ length: 10 }, () => 0))
  // Another kind has lines of its own.
  expect(limit.count('other')).toBe(0)
  now = 1000
  expect([limit.count('full'), limit.count('full')]).toEqual([90, 0])
  // A client that makes many kinds takes no memory.
  for (let i = 0; i < 10_000; i++) limit.count(`kind ${i}`)
  expect(limit.count('full')).toBe(0)
})

test('a line for people has no control characters of clients', () => {
  const line = {
    time: '2026-12-01T12:00:01.250Z',
    level: 'warn',
    message: 'no \u001b[2J',
    method: 'GET',
    path: '/\u0007',
  }
  const text = terminalLine(JSON.stringify({ ...line, status: 404, durationMs: 1.5, id: 'a\u009b', stack: 'x\ny' }))
  expect(text).toBe('12:00:01.250 warn  GET /� 404 1.5 ms no �[2J id=a�\nx\ny\n')
})

test('logError gets the status, the address and the id of a request of each transport', async () => {
  const logged: unknown[] = []
  const caller = await Caller.start([failing, double], { logError: (_, failed) => void logged.push(failed) })
  const { served } = caller
  await served.infer('failing', { id: 'one', inputs: [input('x', 'FP32', [1], [1])] })
  await served.send('GET', '/nowhere', undefined, { 'x-request-id': 'two' })
  const message = { modelName: 'failing', id: 'three', inputs: [{ name: 'x', datatype: 'FP32', shape: [1n] }] }
  const inputs = [{ ...message.inputs[0]!, contents: { fp32Contents: [1] } }]
  await caller.errorOf(GRPCInferenceService.method.modelInfer, { ...message, inputs })
  await caller.errorOf(
    GRPCInferenceService.method.modelMetadata,
    { name: 'no' },
    { headers: { 'x-request-id': 'four' } },
  )
  const address = expect.stringContaining('127.0.0.1') as string
  expect(logged).toEqual([
    { method: 'POST', path: '/v2/models/failing/infer', status: 500, address, id: 'one' },
    { method: 'GET', path: '/nowhere', status: 404, address, id: 'two' },
    { method: 'gRPC', path: 'ModelInfer', status: 13, address, id: 'three' },
    { method: 'gRPC', path: 'ModelMetadata', status: 5, address, id: 'four' },
  ])
})
