/** One of the servers that `run.ts` compares, in a process of its own. Sends its port. */
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, defineModel, type BatchingOptions, type Model } from '@tenon/serve'
import { setTimeout as sleep } from 'node:timers/promises'
import { Library, tensor } from 'tenon'
import { Authority, type Certificate } from '../test/certificates.ts'
import { compileKernels } from './kernels.ts'

const identity = (): Model =>
  defineModel({ name: 'identity', signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })

function echo(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': body.length })
    response.end(body)
  })
}

async function listen(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

function certificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  process.once('SIGTERM', () => process.exit())
  return new Authority(folder).certifyServer()
}

/** The models of `streams.ts`. */
const streams = (): Model[] => [
  // The time of each yield, with pauses of two milliseconds between them.
  defineModel({
    name: 'now',
    signature: '(count: s32[1]) -> (time: u64[1])',
    run: async function* ({ count }) {
      const [most] = count.view() as Int32Array
      for (let i = 0; i < most!; i++) {
        if (i > 0) await sleep(2)
        yield tensor('u64', [1], [process.hrtime.bigint()])
      }
    },
  }),
  defineModel({
    name: 'held',
    signature: '(x: f32[1]) -> (y: f32[1])',
    instances: 2000,
    run: async function* ({ x }, { signal }) {
      yield x
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
  }),
  defineModel({
    name: 'endless',
    signature: '(x: f32[1]) -> (y: f32[1024])',
    run: async function* () {
      const y = tensor('f32', [1024])
      for (;;) yield y
    },
  }),
]

/** The kinds of servers. Each starts one and returns its port. */
const KINDS: Readonly<Record<string, () => Promise<number>>> = {
  /** Sends the same bytes back, and checks nothing. */
  echo: () => listen(createHttpServer(echo)),
  /** The same with encryption. */
  'https-echo': () => {
    const { cert, key } = certificate()
    return listen(createHttpsServer({ cert: readFileSync(cert), key: readFileSync(key), noDelay: true }, echo))
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
  'https-infer': async () => (await createServer({ models: [identity()], http: { port: 0 }, tls: certificate() })).port,
  'grpc-infer': async () =>
    (await createServer({ models: [identity()], http: { port: 0 }, grpc: { port: 0 } })).grpcPort!,
  streams: async () => (await createServer({ models: streams(), http: { port: 0 } })).port,
  'grpc-streams': async () =>
    (await createServer({ models: streams(), http: { port: 0 }, grpc: { port: 0 } })).grpcPort!,
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

/** A kernel that computes for some microseconds in each call, in some workers: `compute-4-2000`. */
async function startComputing(workers: number, microseconds: number): Promise<number> {
  const library = await Library.isolate(await compileKernels(), { workers })
  const model = defineModel({
    name: 'compute',
    kernel: library.kernel('copy_slowly'),
    memory: library.memory,
    signature: '(x: f32[n]) -> (y: f32[n])',
    attributes: { microseconds },
    instances: workers,
  })
  return (await createServer({ models: [model], http: { port: 0 } })).port
}

/** Some models, each of which has a library of its own with one worker: `models-16`. */
async function startModels(count: number): Promise<number> {
  const path = await compileKernels()
  const models = Array.from({ length: count }, async (_, i) => {
    const library = await Library.isolate(path)
    return defineModel({
      name: `m${i}`,
      kernel: library.kernel('copy_slowly'),
      memory: library.memory,
      signature: '(x: f32[n]) -> (y: f32[n])',
    })
  })
  return (await createServer({ models: await Promise.all(models), http: { port: 0 } })).port
}

const [kind = '', first, second] = process.argv[2]!.split('-')
const start =
  kind === 'compute'
    ? () => startComputing(Number(first), Number(second))
    : kind === 'models'
      ? () => startModels(Number(first))
      : KINDS[process.argv[2]!]!
process.send!(await start())
