/** One of the servers that `run.ts` compares, in a process of its own. Sends its port. */
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, defineModel, type BatchingOptions, type Model } from '@tenon/serve'
import { Library } from 'tenon'
import { compileKernels } from './kernels.ts'

const identity = (): Model =>
  defineModel({ name: 'identity', signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })

/** The kinds of servers. Each starts one and returns its port. */
const KINDS: Readonly<Record<string, () => Promise<number>>> = {
  /** Sends the same bytes back, and checks nothing. */
  echo: async () => {
    const echo = createHttpServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks)
        response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': body.length })
        response.end(body)
      })
    })
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
    return (echo.address() as AddressInfo).port
  },
  /** The same over gRPC. */
  'grpc-echo': async () => {
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
    const same = (bytes: Buffer): Buffer => bytes
    server.addService(
      {
        ModelInfer: {
          path: '/inference.GRPCInferenceService/ModelInfer',
          requestStream: false,
          responseStream: false,
          requestSerialize: same,
          requestDeserialize: same,
          responseSerialize: same,
          responseDeserialize: same,
        },
      },
      {
        ModelInfer: ({ request }: { request: Buffer }, callback: (error: null, bytes: Buffer) => void) =>
          callback(null, request),
      },
    )
    return new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      )
    })
  },
  infer: async () => (await createServer({ models: [identity()], http: { port: 0 } })).port,
  'grpc-infer': async () =>
    (await createServer({ models: [identity()], http: { port: 0 }, grpc: { port: 0 } })).grpcPort!,
  isolated: async () => {
    const library = await Library.isolate(await compileKernels())
    const identityKernel = defineModel({
      name: 'identity',
      kernel: library.kernel('copy_slowly'),
      memory: library.memory,
      signature: '(x: f32[n]) -> (y: f32[n])',
    })
    return (await createServer({ models: [identityKernel], http: { port: 0 } })).port
  },
  /** A kernel that computes for five milliseconds in each call, in one worker and in two. */
  workers: async () => {
    const path = await compileKernels()
    const models = [1, 2].map(async (workers) => {
      const library = await Library.isolate(path, { workers })
      return defineModel({
        name: `workers${workers}`,
        kernel: library.kernel('copy_slowly'),
        memory: library.memory,
        signature: '(x: f32[n]) -> (y: f32[n])',
        attributes: { microseconds: 5000 },
        instances: workers,
      })
    })
    return (await createServer({ models: await Promise.all(models), http: { port: 0 } })).port
  },
  /** A kernel that takes a millisecond for each call: without batches, with batches, and with batches that wait to grow. */
  batching: async () => {
    const library = await Library.isolate(await compileKernels())
    const slow = (name: string, maxBatchSize: number, batching: BatchingOptions = {}): Model =>
      defineModel({
        name,
        kernel: library.kernel('copy_slowly'),
        memory: library.memory,
        signature: '(x: f32[rows, columns]) -> (y: f32[rows, columns])',
        attributes: { microseconds: 1000 },
        maxBatchSize,
        batching,
      })
    const models = [slow('single', 0), slow('batched', 32), slow('delayed', 32, { maxQueueDelayMicroseconds: 2000 })]
    return (await createServer({ models, http: { port: 0 } })).port
  },
}

process.send!(await KINDS[process.argv[2]!]!())
