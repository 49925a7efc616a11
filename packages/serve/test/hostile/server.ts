/**
 * A server in a process of its own, whose descriptors, children and memory a test can count. The arguments are the folder of its
 * repository, the prefix of shared memory, the time in milliseconds for a request, and the options of a second server as JSON, or an empty text.
 * Sends its ports, and answers `usage`.
 */
import { tensor } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { setTimeout } from 'node:timers/promises'
import { dirname, join } from 'node:path'
import { Library, type IsolatedLibrary } from 'tenon'
import { HttpError } from '../../src/http/failure-status.ts'
import { createServer, defineModel, ModelRepository, type Model, type ServerOptions } from '../../src/index.ts'
import { describeFailure } from '../../src/service/describe-failure.ts'
import { double } from '../models.ts'
import { count, endlessModel } from '../streams.ts'
import type { Ports, SecuredPorts, Usage } from './server-process.ts'

const [repository = '', prefix = '', requestTimeout = '', secured = ''] = process.argv.slice(2)

/** A model that returns its input. */
function echo(name: string, type: string, others: object = {}): Model {
  const signature: string = `(x: ${type}) -> (y: ${type})`
  return defineModel({ name, signature, run: ({ x }) => x!, ...others })
}

/** Answers after 20 ms, and one request after the other, so that requests wait. */
const slow = defineModel({
  name: 'slow',
  signature: '(x: f32[n]) -> (y: f32[n])',
  run: async ({ x }) => {
    await setTimeout(20)
    return x
  },
})

/** Answers with the sum of a sequence. */
const sum = defineModel({
  name: 'sum',
  signature: '(x: s32[1]) -> (y: s32[1])',
  sequence: { state: () => ({ total: 0 }), maxCandidateSequences: 8, maxSequenceIdleMicroseconds: 200_000 },
  batching: { defaultQueuePolicy: { maxQueueSize: 16 } },
  run: ({ x }, { sequence: { state } }) => {
    state.total += (x.view() as Int32Array)[0]!
    return tensor('s32', [1], [state.total])
  },
})

const faulty = join(dirname(coreLibrary().path), 'libfaulty.so')
const steady = await Library.isolate(faulty, {
  workers: 2,
  restart: { limit: 1000, window: 1000, backoff: 1 },
  grace: 50,
})
const looping = await Library.isolate(faulty, { restart: { limit: 3, window: 60_000, backoff: 60_000 }, grace: 50 })

/** A kernel that commits a fault, by the number in csrc/fixture/faulty/faults.h. */
const kernel = (library: IsolatedLibrary, name: string, fault: number, others: object = {}): Model =>
  defineModel({ name, kernel: library.kernel('faulty'), attributes: { fault }, memory: library.memory, ...others })

/** The errors that are not those of a request. */
const failures: string[] = []

const server = await createServer({
  models: [
    double,
    slow,
    echo('floats', 'f32[n]'),
    echo('integers', 's64[n]'),
    echo('bytes', 'u8[n]'),
    echo('booleans', 'pred[n]'),
    echo('halves', 'f16[n]'),
    echo('texts', 'string[n]'),
    echo('cube', 'f64[a, b, c]'),
    echo('grid', 'f32[a, b]'),
    echo('batched', 'f32[rows, 2]', { maxBatchSize: 4, batching: { priorityLevels: 2 } }),
    count,
    endlessModel(1000).model,
    sum,
    kernel(steady, 'kernel', 0),
    kernel(steady, 'crash', 1),
    kernel(steady, 'hang', 8, { deadline: 200 }),
    kernel(steady, 'patient', 25),
    kernel(steady, 'sleep', 29, { instances: 2 }),
    kernel(steady, 'once', 25, { instances: 2, idempotent: false }),
    kernel(looping, 'loop', 1),
  ],
  repository: ModelRepository.open(repository),
  modelControl: 'explicit',
  http: { port: 0 },
  grpc: { port: 0 },
  allowClientSharedMemory: prefix,
  maxRequestBytes: 2 ** 20,
  requestTimeout: Number(requestTimeout),
  logError,
})

function logError(error: unknown): void {
  const isRefusal = error instanceof HttpError || describeFailure(error).kind !== 'failed'
  if (!isRefusal && failures.length < 10) failures.push(String((error as Error).stack))
}

/** A second server with encryption and tokens. */
async function startSecured(): Promise<SecuredPorts> {
  const own = JSON.parse(secured) as Pick<ServerOptions, 'access' | 'tls'>
  const { port, grpcPort, monitoringAddress } = await createServer({
    models: [echo('floats', 'f32[n]')],
    http: { port: 0 },
    grpc: { port: 0 },
    monitoring: { port: 0 },
    requestTimeout: Number(requestTimeout),
    log: { format: 'json', write: () => {} },
    logError,
    ...own,
  })
  return { https: port, grpcs: grpcPort!, monitoring: Number(monitoringAddress!.split(':')[1]) }
}

/** The memory that is in use behind the last garbage. */
async function usage(): Promise<Usage> {
  for (let i = 0; i < 2; i++) {
    global.gc!()
    await setTimeout(1)
  }
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  const requests = steady.memory.usage.usedBytes + looping.memory.usage.usedBytes
  const running = steady.health().workers.filter(({ state }) => state === 'running')
  const workers = running.map(({ process: pid }) => pid)
  return { arrayBuffers, heapUsed, requests, workers, failures }
}

process.on('message', () => void usage().then((used) => process.send!(used)))
process.send!({
  http: server.port,
  grpc: server.grpcPort!,
  ...(secured === '' ? {} : { secured: await startSecured() }),
} satisfies Ports)
