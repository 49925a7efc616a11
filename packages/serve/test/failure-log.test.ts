import { QueueFullError } from '@tenon/core'
import { KernelCrashError } from 'tenon/isolate'
import { describe, expect, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { defineModel, InvalidRequestError } from '../src/index.ts'
import { failureLog } from '../src/failure-log.ts'
import { Caller } from './caller.ts'
import { double } from './models.ts'
import { input } from './support.ts'

const request = { method: 'POST', path: '/v2/models/m/infer', status: 503, address: '127.0.0.1', id: 'a' }

describe('the log of failures', () => {
  test('has a line with the status, the address and the id, and a stack if the server or a model is at fault', () => {
    const lines: unknown[] = []
    const log = failureLog((message, fields) => void lines.push({ message, ...fields }))
    const full = new QueueFullError('too many wait', { hint: 'Wait.' })
    log(full, request)
    log(new InvalidRequestError('wrong'), { ...request, status: 400, address: undefined, id: undefined })
    const broken = new Error('broken')
    log(broken, { ...request, status: 500, id: 'b'.repeat(1000) })
    log('text', { ...request, method: 'gRPC', status: 13 })
    const { method, path, address, id } = request
    expect(lines).toEqual([
      { message: 'too many wait', method, path, status: 503, address, id, name: 'QueueFullError' },
      { message: 'wrong', method, path, status: 400, name: 'InvalidRequestError' },
      {
        message: 'broken',
        method,
        path,
        status: 500,
        address,
        id: 'b'.repeat(100),
        name: 'Error',
        stack: broken.stack,
      },
      { message: 'text', method: 'gRPC', path, status: 13, address, id, name: 'Error' },
    ])
  })

  test('has the place of a crash in one field, without what the kernel printed', () => {
    const lines: Readonly<Record<string, unknown>>[] = []
    const log = failureLog((_message, fields) => void lines.push(fields))
    const backtrace = ['deep crash.c:3 (libcrash.so+0x1125)']
    const details = { kernel: 'm', signal: 'SIGSEGV', address: '0x0', access: undefined, backtrace, output: 'secret' }
    log(new KernelCrashError('m crashed', { details }), { ...request, status: 500 })
    expect(lines[0]!['crash']).toEqual({ kernel: 'm', signal: 'SIGSEGV', address: '0x0', backtrace })
  })

  test('has ten lines of one kind in a second, and then the number of those without a line', () => {
    const lines: Readonly<Record<string, unknown>>[] = []
    let now = 0
    const log = failureLog(
      (_, fields) => void lines.push(fields),
      () => now,
    )
    for (let i = 0; i < 100; i++) log(new QueueFullError('full'), request)
    // Another kind has lines of its own.
    log(new Error('x'), { ...request, status: 500 })
    expect(lines.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 503), 500])
    now = 1000
    for (let i = 0; i < 2; i++) log(new QueueFullError('full'), request)
    expect(lines.slice(-2).map(({ suppressed }) => suppressed)).toEqual([90, undefined])
  })
})

test('logError gets the status, the address and the id of a request of each transport', async () => {
  const logged: unknown[] = []
  const failing = defineModel({
    name: 'failing',
    signature: '(x: f32[n]) -> (y: f32[n])',
    run: () => {
      throw new Error('broken')
    },
  })
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
