import { eventually } from '@tenon/config/eventually'
import type { DescService } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient, type Client, type Interceptor } from '@connectrpc/connect'
import {
  compressionBrotli,
  compressionGzip,
  createGrpcTransport,
  Http2SessionManager,
  type GrpcTransportOptions,
} from '@connectrpc/connect-node'
import { rmSync, writeFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Health, HealthCheckResponse_ServingStatus } from '../src/generated/health_pb.js'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import { defineModel, ModelLoadError, type Model, type ServerOptions } from '../src/index.ts'
import { double } from './models.ts'
import { Served } from './support.ts'

/** The clients that connect-node makes of the services, and the server that they call. */
class Connected {
  readonly served: Served
  /** The methods that were called. */
  readonly called = new Set<string>()
  /** The encodings of the messages that were sent. */
  readonly sent: (string | null)[] = []
  readonly inference: Client<typeof GRPCInferenceService>
  readonly health: Client<typeof Health>

  private constructor(served: Served, options: Partial<GrpcTransportOptions>) {
    this.served = served
    const baseUrl = `http://127.0.0.1:${served.server.grpcPort}`
    const sessionManager = new Http2SessionManager(baseUrl)
    onTestFinished(() => sessionManager.abort())
    const observe: Interceptor = (next) => async (request) => {
      this.called.add(`${request.service.typeName}/${request.method.name}`)
      const answer = await next(request)
      this.sent.push(request.header.get('grpc-encoding'))
      return answer
    }
    const transport = createGrpcTransport({ baseUrl, sessionManager, interceptors: [observe], ...options })
    this.inference = createClient(GRPCInferenceService, transport)
    this.health = createClient(Health, transport)
  }

  static async start(
    models: readonly Model[],
    server: Partial<ServerOptions> = {},
    client: Partial<GrpcTransportOptions> = {},
  ): Promise<Connected> {
    return new Connected(await Served.start(models, { grpc: { port: 0 }, ...server }), client)
  }
}

/** The fields of a request that these tests set. */
interface Request {
  modelName: string
  modelVersion?: string
  id?: string
  inputs?: { name: string; datatype: string; shape: bigint[] }[]
  rawInputContents?: Uint8Array<ArrayBuffer>[]
}

const bytesOf = (...values: number[]): Uint8Array<ArrayBuffer> => new Uint8Array(new Float32Array(values).buffer)

const doubling = (...values: number[]): Request => ({
  modelName: 'double',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [BigInt(values.length / 4), 4n] }],
  rawInputContents: [bytesOf(...values)],
})

/** Waits until its signal is aborted, and keeps the reasons. */
function endless(reasons: string[]): Model {
  return defineModel({
    name: 'endless',
    signature: '(x: f32[rows, 4]) -> (y: f32[rows, 4])',
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).message)
          reject(signal.reason as Error)
        })
      }),
  })
}

/** The code and the text of a call that fails. */
async function errorOf(call: Promise<unknown>): Promise<[string, string]> {
  const error = await call.then(
    () => expect.fail('answered'),
    (reason: unknown) => ConnectError.from(reason),
  )
  return [Code[error.code]!, error.rawMessage]
}

/** The requests of a stream. */
async function* each(...requests: Request[]): AsyncGenerator<Request> {
  yield* requests
}

describe('a client of connect-node', () => {
  test('calls every method', async () => {
    const name = `serve-test-connect-${process.pid}`
    writeFileSync(`/dev/shm/${name}`, Buffer.alloc(16))
    onTestFinished(() => rmSync(`/dev/shm/${name}`))
    const connected = await Connected.start([double], {
      name: 'mine',
      allowClientSharedMemory: 'serve-test-connect',
      modelControl: 'explicit',
      repository: {
        names: () => ['loaded'],
        load: async (model) => {
          throw new ModelLoadError(`failed to load '${model}': on purpose`)
        },
      },
    })
    const { inference, health } = connected
    expect(await inference.serverLive({})).toMatchObject({ live: true })
    expect(await inference.serverReady({})).toMatchObject({ ready: true })
    expect(await inference.modelReady({ name: 'double' })).toMatchObject({ ready: true })
    expect(await inference.serverMetadata({})).toMatchObject({ name: 'mine' })
    expect(await inference.modelMetadata({ name: 'double' })).toMatchObject({ name: 'double', versions: ['1'] })
    expect((await inference.modelConfig({ name: 'double' })).config).toMatchObject({ name: 'double', backend: 'tenon' })
    expect((await inference.modelInfer(doubling(1, 2, 3, 4))).rawOutputContents).toEqual([bytesOf(2, 4, 6, 8)])
    const answers = []
    for await (const { errorMessage, inferResponse } of inference.modelStreamInfer(
      each({ ...doubling(1, 2, 3, 4), id: 'a' }, { modelName: 'none' }, { ...doubling(1, 2, 3, 4), id: 'b' }),
    )) {
      answers.push(errorMessage === '' ? inferResponse?.id : errorMessage)
    }
    expect(answers).toEqual(['a', expect.stringContaining('unknown model'), 'b'])
    const { modelStats } = await inference.modelStatistics({ name: 'double' })
    expect(modelStats).toMatchObject([{ name: 'double', inferenceCount: 3n }])

    const { models } = await inference.repositoryIndex({})
    expect(models.map((one) => [one.name, one.state])).toEqual([
      ['double', 'READY'],
      ['loaded', 'UNAVAILABLE'],
    ])
    const failed = ['Internal', "failed to load 'loaded': on purpose"]
    expect(await errorOf(inference.repositoryModelLoad({ modelName: 'loaded' }))).toEqual(failed)
    await inference.repositoryModelUnload({ modelName: 'loaded' })

    await inference.systemSharedMemoryRegister({ name: 'data', key: `/${name}`, byteSize: 16n })
    const { regions } = await inference.systemSharedMemoryStatus({})
    expect(regions['data']).toMatchObject({ name: 'data', key: `/${name}`, offset: 0n, byteSize: 16n })
    await inference.systemSharedMemoryUnregister({ name: 'data' })
    expect((await inference.cudaSharedMemoryStatus({})).regions).toEqual({})
    await inference.cudaSharedMemoryUnregister({})
    expect((await errorOf(inference.cudaSharedMemoryRegister({ name: 'data' })))[0]).toBe('Unimplemented')

    const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus
    expect(await health.check({ service: 'double' })).toMatchObject({ status: SERVING })
    const statuses: unknown[] = []
    for await (const { status } of health.watch({})) {
      statuses.push(status)
      if (statuses.length === 2) break
      connected.served.server.announceEnd()
    }
    expect(statuses).toEqual([SERVING, NOT_SERVING])

    const methodsOf = ({ typeName, methods }: DescService): string[] => methods.map((one) => `${typeName}/${one.name}`)
    expect([...connected.called].toSorted()).toEqual(
      [...methodsOf(GRPCInferenceService), ...methodsOf(Health)].toSorted(),
    )
  })

  test('gets the status of each kind of failure, with its text', async () => {
    const failing = defineModel({
      name: 'failing',
      signature: '(x: f32[rows, 4]) -> (y: f32[rows, 4])',
      run: () => {
        throw new Error('on purpose')
      },
    })
    const slow = defineModel({
      name: 'slow',
      signature: '(x: f32[rows, 4]) -> (y: f32[rows, 4])',
      deadline: 20,
      run: () => new Promise(() => {}),
    })
    const { inference, served } = await Connected.start([double, failing, slow], { maxRequestBytes: 1 << 20 })
    const infer = (change: Partial<Request>) => errorOf(inference.modelInfer({ ...doubling(1, 2, 3, 4), ...change }))
    expect(await infer({ modelName: 'é none' })).toEqual([
      'NotFound',
      expect.stringContaining('there is no model "é none"'),
    ])
    expect((await infer({ modelVersion: '7' }))[0]).toBe('NotFound')
    expect((await infer({ rawInputContents: [] }))[0]).toBe('InvalidArgument')
    expect(await infer({ modelName: 'failing' })).toEqual(['Internal', 'the model failing failed'])
    expect((await infer({ modelName: 'slow' }))[0]).toBe('DeadlineExceeded')
    expect((await infer({ rawInputContents: [new Uint8Array(4 << 20)] }))[0]).toBe('ResourceExhausted')
    expect((await errorOf(inference.repositoryModelLoad({ modelName: 'double' })))[0]).toBe('Unimplemented')
    expect((await inference.modelInfer(doubling(1, 2, 3, 4))).rawOutputContents).toEqual([bytesOf(2, 4, 6, 8)])
    expect(served.errors.length).toBeGreaterThanOrEqual(6)
  })

  test('a deadline of the client cancels the run', async () => {
    const reasons: string[] = []
    const { inference } = await Connected.start([endless(reasons), double])
    const call = inference.modelInfer({ ...doubling(1, 2, 3, 4), modelName: 'endless' }, { timeoutMs: 50 })
    expect((await errorOf(call))[0]).toBe('DeadlineExceeded')
    await eventually(() => expect(reasons).toEqual(['the client is gone']))
    await inference.modelInfer(doubling(1, 2, 3, 4))
  })

  test('a client that leaves cancels what waits and what runs', async () => {
    const reasons: string[] = []
    const { inference, served } = await Connected.start([endless(reasons), double])
    const infer = ({ signal }: AbortController) =>
      errorOf(inference.modelInfer({ ...doubling(1, 2, 3, 4), modelName: 'endless' }, { signal }))
    const hasPending = (count: number) =>
      eventually(async () => {
        const metrics = (await served.send('GET', '/metrics')).body.toString()
        expect(metrics).toContain(`nv_inference_pending_request_count{model="endless",version="1"} ${count}\n`)
      })
    const [first, second] = [new AbortController(), new AbortController()]
    const running = infer(first)
    await hasPending(1)
    const waiting = [infer(second), infer(second)]
    await hasPending(3)
    second.abort()
    expect((await Promise.all(waiting)).map(([code]) => code)).toEqual(['Canceled', 'Canceled'])
    await hasPending(1)
    expect(reasons).toEqual([])
    first.abort()
    expect((await running)[0]).toBe('Canceled')
    await eventually(() => expect(reasons).toEqual(['the client is gone']))

    // The slot of the run is free again, and a stream that is cancelled frees it too.
    const stream = inference.modelStreamInfer(each({ ...doubling(1, 2, 3, 4), modelName: 'endless' }), {
      timeoutMs: 50,
    })
    expect((await errorOf(stream[Symbol.asyncIterator]().next()))[0]).toBe('DeadlineExceeded')
    await eventually(() => expect(reasons).toHaveLength(2))
    await inference.modelInfer(doubling(1, 2, 3, 4))
  })

  test('messages may be compressed with gzip, and with nothing else', async () => {
    const gzip = { sendCompression: compressionGzip, compressMinBytes: 0 }
    const zipped = await Connected.start([double], {}, gzip)
    const zeros = Array.from({ length: 40_000 }, () => 0)
    const answer = await zipped.inference.modelInfer(doubling(...zeros))
    expect(answer.rawOutputContents[0]).toHaveLength(160_000)
    expect(zipped.sent).toEqual(['gzip'])

    const brotli = { sendCompression: compressionBrotli, compressMinBytes: 0 }
    const other = await Connected.start([double], {}, brotli)
    expect((await errorOf(other.inference.modelInfer(doubling(1, 2, 3, 4))))[0]).toBe('Unimplemented')
  })

  test('a message that is larger than allowed behind gzip is refused', async () => {
    const gzip = { sendCompression: compressionGzip, compressMinBytes: 0 }
    const { inference } = await Connected.start([double], { maxRequestBytes: 1 << 20 }, gzip)
    const bomb = { ...doubling(1, 2, 3, 4), rawInputContents: [new Uint8Array(64 << 20)] }
    expect((await errorOf(inference.modelInfer(bomb)))[0]).toBe('ResourceExhausted')
    expect((await inference.modelInfer(doubling(1, 2, 3, 4))).rawOutputContents).toEqual([bytesOf(2, 4, 6, 8)])
  })

  test('calls share one connection, and each gets its own answer', async () => {
    const { inference } = await Connected.start([double])
    const values = Array.from({ length: 100 }, (_, i) => i)
    const answers = await Promise.all(values.map((value) => inference.modelInfer(doubling(value, 0, 0, 0))))
    expect(answers.map(({ rawOutputContents: [bytes] }) => bytes)).toEqual(
      values.map((value) => bytesOf(2 * value, 0, 0, 0)),
    )
  })
})
