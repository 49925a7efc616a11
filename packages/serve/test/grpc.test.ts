import { eventually } from '@tenon/config/eventually'
import { create, fromBinary, toBinary, type DescMethod } from '@bufbuild/protobuf'
import { status, type ServiceError } from '@grpc/grpc-js'
import { coreLibrary } from '@tenon/core/internal'
import { tensor } from '@tenon/core'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { dirname, join } from 'node:path'
import { Library } from 'tenon'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Health } from '../src/generated/health_pb.js'
import {
  DataType,
  GRPCInferenceService,
  ModelInferRequestSchema,
  ModelStreamInferResponseSchema,
} from '../src/generated/open_inference_pb.js'
import { defineModel } from '../src/index.ts'
import { Caller } from './caller.ts'
import { double, echo } from './models.ts'

const { method: methods } = GRPCInferenceService

const bytesOf = (...values: number[]): Buffer => Buffer.from(new Float32Array(values).buffer)
const x = (shape: number[], contents?: object) => ({
  name: 'x',
  datatype: 'FP32',
  shape: shape.map(BigInt),
  ...(contents === undefined ? {} : { contents }),
})

describe('gRPC', () => {
  test('the methods of the protocol', async () => {
    const caller = await Caller.start([double], { name: 'mine' })
    expect(await caller.call(methods.serverLive, {})).toMatchObject({ live: true })
    expect(await caller.call(methods.serverReady, {})).toMatchObject({ ready: true })
    expect(await caller.call(methods.modelReady, { name: 'double' })).toMatchObject({ ready: true })
    expect(await caller.call(methods.serverMetadata, {})).toMatchObject({ name: 'mine', version: 'source' })
    expect(await caller.call(methods.modelMetadata, { name: 'double' })).toMatchObject({
      name: 'double',
      versions: ['1'],
      platform: 'tenon_kernel',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1n, 4n] }],
    })
    expect(await caller.call(methods.modelConfig, { name: 'double' })).toMatchObject({
      config: { name: 'double', backend: 'tenon', maxBatchSize: 0, input: [{ dataType: 11, dims: [-1n, 4n] }] },
    })
    await caller.call(methods.modelInfer, {
      modelName: 'double',
      inputs: [x([1, 4])],
      rawInputContents: [bytesOf(1, 2, 3, 4)],
    })
    expect(await caller.call(methods.modelStatistics, {})).toMatchObject({
      modelStats: [{ name: 'double', inferenceCount: 1n, inferenceStats: { success: { count: 1n } } }],
    })
    const unknown = { ...methods.serverLive, name: 'TraceSetting' } as DescMethod
    expect(await caller.errorOf(unknown, {})).toEqual(['UNIMPLEMENTED', expect.any(String)])
  })

  test('inputs are all raw or all typed, and outputs are raw', async () => {
    const caller = await Caller.start([double])
    const raw = await caller.call(methods.modelInfer, {
      modelName: 'double',
      id: '42',
      inputs: [x([1, 4])],
      rawInputContents: [bytesOf(1, 2, 3, 4)],
    })
    expect(raw).toMatchObject({
      modelName: 'double',
      modelVersion: '1',
      id: '42',
      outputs: [{ name: 'y', datatype: 'FP32', shape: [1n, 4n] }],
    })
    expect(Buffer.from(raw.rawOutputContents[0]!)).toEqual(bytesOf(2, 4, 6, 8))
    const typed = await caller.call(methods.modelInfer, {
      modelName: 'double',
      inputs: [x([1, 4], { fp32Contents: [1, 2, 3, 4] })],
    })
    expect(Buffer.from(typed.rawOutputContents[0]!)).toEqual(bytesOf(2, 4, 6, 8))
    const both = {
      modelName: 'double',
      inputs: [x([1, 4], { fp32Contents: [1, 2, 3, 4] })],
      rawInputContents: [bytesOf(1, 2, 3, 4)],
    }
    expect(await caller.errorOf(methods.modelInfer, both)).toEqual([
      'INVALID_ARGUMENT',
      expect.stringContaining('contents'),
    ])
    const more = { modelName: 'double', inputs: [x([1, 4])], rawInputContents: [bytesOf(1), bytesOf(1)] }
    expect(await caller.errorOf(methods.modelInfer, more)).toEqual([
      'INVALID_ARGUMENT',
      'raw_input_contents must have one element for each input, got 2 for 1',
    ])
  })

  test('tensors in shared memory take no raw slot, or an empty one', async () => {
    const name = `serve-test-grpc-${process.pid}`
    const path = `/dev/shm/${name}`
    writeFileSync(path, Buffer.concat([bytesOf(1, 2, 3, 4), Buffer.alloc(16)]))
    onTestFinished(() => rmSync(path))
    const caller = await Caller.start([double], { allowClientSharedMemory: 'serve-test-grpc' })
    const region = { name: 'data', key: `/${name}`, offset: 0n, byteSize: 32n }
    await caller.call(methods.systemSharedMemoryRegister, region)
    expect(await caller.errorOf(methods.systemSharedMemoryRegister, region)).toEqual([
      'ALREADY_EXISTS',
      'the region data must be registered once',
    ])
    const { regions } = await caller.call(methods.systemSharedMemoryStatus, {})
    expect(regions['data']).toMatchObject(region)

    const place = (offset: bigint) => ({
      shared_memory_region: { parameterChoice: { case: 'stringParam' as const, value: 'data' } },
      shared_memory_byte_size: { parameterChoice: { case: 'int64Param' as const, value: 16n } },
      shared_memory_offset: { parameterChoice: { case: 'int64Param' as const, value: offset } },
    })
    const reply = await caller.call(methods.modelInfer, {
      modelName: 'double',
      inputs: [{ ...x([1, 4]), parameters: place(0n) }],
      outputs: [{ name: 'y', parameters: place(16n) }],
    })
    expect(reply.rawOutputContents.map(({ length }) => length)).toEqual([0])
    expect(reply.outputs[0]?.parameters['shared_memory_byte_size']?.parameterChoice.value).toBe(16n)
    expect(readFileSync(path).subarray(16)).toEqual(bytesOf(2, 4, 6, 8))

    await caller.call(methods.systemSharedMemoryUnregister, { name: 'data' })
    expect(await caller.errorOf(methods.systemSharedMemoryStatus, { name: 'data' })).toEqual([
      'NOT_FOUND',
      expect.stringContaining('there is no region "data"'),
    ])
  })

  test('strings are in bytes_contents, or have their lengths in raw_input_contents', async () => {
    const caller = await Caller.start([echo('string')])
    const text = { name: 'x', datatype: 'BYTES', shape: [2n] }
    const raw = Buffer.from([1, 0, 0, 0, 0x61, 0, 0, 0, 0])
    const ofRaw = await caller.call(methods.modelInfer, {
      modelName: 'echo_string',
      inputs: [text],
      rawInputContents: [raw],
    })
    const ofContents = await caller.call(methods.modelInfer, {
      modelName: 'echo_string',
      inputs: [{ ...text, contents: { bytesContents: [Buffer.from('a'), new Uint8Array()] } }],
    })
    for (const { rawOutputContents } of [ofRaw, ofContents]) expect(Buffer.from(rawOutputContents[0]!)).toEqual(raw)
    const { config } = await caller.call(methods.modelConfig, { name: 'echo_string' })
    expect(config?.input[0]?.dataType).toBe(DataType.TYPE_STRING)
  })

  test('typed contents work for every datatype but those of 16 bits', async () => {
    const types = {
      pred: 'BOOL',
      s8: 'INT8',
      s16: 'INT16',
      s32: 'INT32',
      s64: 'INT64',
      u8: 'UINT8',
      u16: 'UINT16',
      u32: 'UINT32',
      u64: 'UINT64',
      f32: 'FP32',
      f64: 'FP64',
      f16: 'FP16',
    }
    const caller = await Caller.start(Object.keys(types).map((dtype) => echo(dtype)))
    const contents: Record<string, object> = {
      BOOL: { boolContents: [true, false] },
      INT8: { intContents: [-1, 127] },
      INT16: { intContents: [-1, 32_767] },
      INT32: { intContents: [-1, 2] },
      INT64: { int64Contents: [-(2n ** 63n), 2n] },
      UINT8: { uintContents: [255, 0] },
      UINT16: { uintContents: [65_535, 0] },
      UINT32: { uintContents: [4_294_967_295, 0] },
      UINT64: { uint64Contents: [2n ** 64n - 1n, 0n] },
      FP32: { fp32Contents: [1.5, -0] },
      FP64: { fp64Contents: [0.1, Number.MAX_VALUE] },
      FP16: { fp32Contents: [1, 2] },
    }
    for (const [dtype, datatype] of Object.entries(types)) {
      const given = contents[datatype]!
      const request = { modelName: `echo_${dtype}`, inputs: [{ name: 'x', datatype, shape: [2n], contents: given }] }
      if (datatype === 'FP16') {
        expect(await caller.errorOf(methods.modelInfer, request)).toEqual([
          'INVALID_ARGUMENT',
          expect.stringContaining('raw_input_contents'),
        ])
        continue
      }
      const { rawOutputContents } = await caller.call(methods.modelInfer, request)
      const [[values]] = [Object.values(given)] as [[(number | bigint)[]]]
      const wanted = tensor(dtype, [2], values as never)
      expect([datatype, Buffer.from(rawOutputContents[0]!)]).toEqual([
        datatype,
        Buffer.from(wanted.block.bytes.subarray(wanted.base, wanted.base + wanted.type.byteSize)),
      ])
    }
  })

  test('errors have the statuses of gRPC', async () => {
    const failing = defineModel({
      name: 'failing',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: () => {
        throw new Error('secret')
      },
    })
    const slow = defineModel({
      name: 'slow',
      signature: '(x: f32[n]) -> (y: f32[n])',
      deadline: 30,
      run: () => new Promise(() => {}),
    })
    const caller = await Caller.start([double, failing, slow], { maxRequestBytes: 1 << 20 })
    const request = (modelName: string, shape: number[]) => ({
      modelName,
      inputs: [x(shape)],
      rawInputContents: [bytesOf(1, 2, 3, 4)],
    })
    expect(await caller.errorOf(methods.modelInfer, request('no', [4]))).toEqual([
      'NOT_FOUND',
      'Request for unknown model: there is no model "no"',
    ])
    expect(await caller.errorOf(methods.modelInfer, request('double', [4]))).toEqual([
      'INVALID_ARGUMENT',
      expect.stringContaining('x of double'),
    ])
    expect(await caller.errorOf(methods.modelInfer, request('failing', [4]))).toEqual([
      'INTERNAL',
      'the model failing failed',
    ])
    expect(await caller.errorOf(methods.modelInfer, request('slow', [4]))).toEqual([
      'DEADLINE_EXCEEDED',
      'the model slow did not answer within 30 ms',
    ])
    expect((await caller.errorOf(methods.modelReady, { name: 'no' }))[0]).toBe('NOT_FOUND')
    const large = { modelName: 'double', inputs: [x([1 << 20, 4])], rawInputContents: [Buffer.alloc(1 << 24)] }
    expect((await caller.errorOf(methods.modelInfer, large))[0]).toBe('RESOURCE_EXHAUSTED')
    expect(caller.served.errors.length).toBeGreaterThan(3)
  })

  test('a deadline and a client that leaves cancel the run', async () => {
    const reasons: unknown[] = []
    const endless = defineModel({
      name: 'endless',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as Error).message)
            reject(signal.reason as Error)
          })
        }),
    })
    const caller = await Caller.start([endless, double])
    const request = { modelName: 'endless', inputs: [x([1])], rawInputContents: [bytesOf(1)] }
    await expect(caller.call(methods.modelInfer, request, { deadline: Date.now() + 1000 })).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    })
    await eventually(() => expect(reasons).toEqual(['the client is gone']))
    const fine = await caller.call(methods.modelInfer, {
      modelName: 'double',
      inputs: [x([1, 4])],
      rawInputContents: [bytesOf(1, 2, 3, 4)],
    })
    expect(fine.outputs).toHaveLength(1)
  })

  test('malformed messages and frames fail only their own call', async () => {
    const caller = await Caller.start([double])
    const send = (bytes: Uint8Array): Promise<ServiceError> =>
      new Promise((resolve) => {
        const path = '/inference.GRPCInferenceService/ModelInfer'
        const same = (one: Buffer): Buffer => one
        caller.client.makeUnaryRequest(path, same, same, Buffer.from(bytes), {}, (error) => resolve(error!))
      })
    for (let i = 0; i < 200; i++) {
      const bytes = Buffer.from(
        toBinary(
          ModelInferRequestSchema,
          create(ModelInferRequestSchema, { modelName: 'double', inputs: [x([1, 4])] }),
        ),
      )
      bytes[i % bytes.length] = (bytes[i % bytes.length]! + 1 + i) & 0xff
      const error = await send(bytes)
      expect(status[error.code]).toBeOneOf(['INVALID_ARGUMENT', 'NOT_FOUND'])
    }
    const session = connect(`http://127.0.0.1:${caller.served.server.grpcPort}`)
    onTestFinished(() => session.destroy())
    for (const frame of [
      Buffer.from([2, 0, 0, 0, 0]),
      Buffer.from([0, 255, 255, 255, 255, 1]),
      Buffer.from([0, 0]),
      Buffer.alloc(0),
    ]) {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/inference.GRPCInferenceService/ModelInfer',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      const code = await new Promise((resolve) => {
        stream.on('response', (headers) => headers['grpc-status'] !== undefined && resolve(headers['grpc-status']))
        stream.on('trailers', (trailers) => resolve(trailers['grpc-status']))
        stream.on('error', () => resolve('reset'))
        stream.end(frame)
        stream.resume()
      })
      expect(code).not.toBe('0')
    }
    expect(await caller.call(methods.serverLive, {})).toMatchObject({ live: true })
  })

  test('a stream answers in order, and goes on behind an error', async () => {
    const caller = await Caller.start([double])
    const same = (bytes: Buffer): Buffer => bytes
    const stream = caller.client.makeBidiStreamRequest('/inference.GRPCInferenceService/ModelStreamInfer', same, same)
    const send = (id: string, shape: number[]): void => {
      const request = { modelName: 'double', id, inputs: [x(shape)], rawInputContents: [bytesOf(1, 2, 3, 4)] }
      stream.write(Buffer.from(toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, request))))
    }
    send('a', [1, 4])
    send('b', [4])
    send('c', [1, 4])
    stream.end()
    const answers = []
    for await (const bytes of stream as AsyncIterable<Buffer>)
      answers.push(fromBinary(ModelStreamInferResponseSchema, bytes))
    expect(answers.map(({ errorMessage, inferResponse }) => [inferResponse?.id, errorMessage])).toEqual([
      ['a', ''],
      ['b', expect.stringContaining('x of double must be')],
      ['c', ''],
    ])
    for (const { inferResponse } of answers) {
      expect(inferResponse?.parameters['triton_final_response']?.parameterChoice.value).toBe(true)
    }
  })

  test('health checks say whether the server is ready, and when that changes', async () => {
    const caller = await Caller.start([double])
    expect(await caller.call(Health.method.check, {})).toMatchObject({ status: 1 })
    expect(await caller.call(Health.method.check, { service: 'double' })).toMatchObject({ status: 1 })
    expect((await caller.errorOf(Health.method.check, { service: 'no' }))[0]).toBe('NOT_FOUND')
    const same = (bytes: Buffer): Buffer => bytes
    const watch = caller.client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', same, same, Buffer.alloc(0))
    watch.on('error', () => {})
    const statuses: number[] = []
    watch.on('data', (bytes: Buffer) => statuses.push(fromBinary(Health.method.watch.output, bytes).status))
    await eventually(() => expect(statuses).toEqual([1]))
    caller.served.server.announceEnd()
    await eventually(() => expect(statuses).toEqual([1, 2]))
    expect(await caller.call(methods.serverReady, {})).toMatchObject({ ready: false })
    watch.cancel()
  })

  test('kernels of processes of their own crash alone', async () => {
    const library = await Library.isolate(join(dirname(coreLibrary().path), 'libfaulty.so'))
    onTestFinished(() => library.closeAsync())
    const kernel = library.kernel('faulty')
    const model = (name: string, fault: number) =>
      defineModel({ name, kernel, attributes: { fault }, memory: library.memory })
    const caller = await Caller.start([model('double', 0), model('crash', 1)])
    const request = (modelName: string) => ({ modelName, inputs: [x([2])], rawInputContents: [bytesOf(1, 2)] })
    expect(await caller.errorOf(methods.modelInfer, request('crash'))).toEqual([
      'INTERNAL',
      'the model crash ended its process by SIGSEGV',
    ])
    const { rawOutputContents } = await caller.call(methods.modelInfer, request('double'))
    expect(Buffer.from(rawOutputContents[0]!)).toEqual(bytesOf(2, 4))
  })
})
