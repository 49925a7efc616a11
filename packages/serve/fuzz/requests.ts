/**
 * The command `pnpm fuzz:serve [--seconds N] [--seed N]`. Changes correct requests (bytes of HTTP, headers, JSON, binary tensors, messages and frames
 * of gRPC, streams, the generate extension, sequences, and weights of versions; and tokens, handshakes and requests for a listener with encryption and
 * access control), and sends them to a server in a process of its own for N seconds, 60 by default. Fails if the server ends, hangs, answers 500 or
 * something that is not its protocol, answers a caller without its token, or has more descriptors, children or memory in the end.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { exchange, requestOf } from '../test/hostile/exchange.ts'
import { Fixture } from '../test/hostile/fixture.ts'
import { inferFrame } from '../test/hostile/grpc-calls.ts'
import { call, frame, withSession } from '../test/hostile/grpc-exchange.ts'
import { inferOf, input } from '../test/hostile/hostile-request.ts'
import { ServerProcess, type Holdings } from '../test/hostile/server-process.ts'
import { mutateBytes, mutateJson } from './mutate.ts'
import { Random } from './random.ts'
import {
  changedHandshake,
  changedHttps,
  changedMonitoring,
  makeSecured,
  wrongMetadata,
  wrongToken,
  type SecuredAttempt,
} from './secured.ts'
import { compressed, headers, headersOf, messages, seeds, type Seed } from './seeds.ts'
import { problemOf, readSome, routeRequest, routeSeeds, streamInfer, streamMessages } from './streams.ts'

/** The requests that are sent at the same time. */
const CLIENTS = 8

/** The requests between two looks at what the server holds. */
const ROUND = 2000

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } } })
const seconds = Number(values.seconds)
const seed = Number(values.seed ?? Date.now() % 2 ** 32)
if (!Number.isInteger(seconds) || seconds < 1)
  throw new Error(`--seconds must be a whole number above 0, got ${values.seconds}`)
if (!Number.isInteger(seed)) throw new Error(`--seed must be a whole number, got ${values.seed}`)

const random = new Random(seed)
const secrets = mkdtempSync(join(tmpdir(), 'tenon-fuzz-'))
const secured = await makeSecured(secrets)
const routes = routeSeeds.map(({ path, json }) => routeRequest(path, json))
const correct = seeds.map(({ model, json, bytes }) => framed(model, JSON.stringify(json), bytes))

/** A changed request, and how it is sent. */
interface Attempt {
  readonly kind: string
  readonly bytes: Uint8Array
  send(server: ServerProcess): Promise<string | undefined>
}

function framed(
  model: string,
  json: string,
  bytes?: Uint8Array,
  others: Readonly<Record<string, string>> = {},
): Buffer {
  const text = Buffer.from(json)
  const body = bytes === undefined ? text : Buffer.concat([text, bytes])
  const all = { ...headersOf(body, bytes === undefined ? undefined : text.length), ...others }
  return requestOf(`/v2/models/${model}/infer`, body, all)
}

/** Bytes of HTTP. The client ends its side, so that a request that is not complete ends at once. */
function http(kind: string, bytes: Buffer): Attempt {
  return {
    kind,
    bytes,
    send: async ({ ports }) => {
      const { status, headers: received, body } = await exchange(ports.http, [bytes], true)
      if (status === 0) return body.length === 0 ? undefined : 'an answer that is not HTTP'
      if (status >= 500 && status !== 501) return `the status ${status}: ${body.toString()}`
      if (status < 400 || isHead(bytes)) return undefined
      const text = body.toString()
      if (received['content-type'] !== 'application/json' || !text.startsWith('{"error":"'))
        return `an error without a text: ${status} ${text}`
      return undefined
    },
  }
}

const isHead = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 5) === 'HEAD '

function grpc(kind: string, bytes: Uint8Array, method: string): Attempt {
  return {
    kind,
    bytes,
    send: ({ ports }) =>
      withSession(ports.grpc, async (session) => {
        const end = await call(session, { parts: [bytes], method })
        if (end.code === 'reset') return 'a stream that was reset'
        const next = await call(session, { parts: [inferFrame('floats')] })
        return next.code === '0' ? undefined : `the next call of the connection got ${next.code}: ${next.message}`
      }),
  }
}

const ofSecured = (kind: string, { bytes, send }: SecuredAttempt): Attempt => ({
  kind,
  bytes,
  send: ({ ports }) => send(ports.secured!),
})

const chosen = (): Seed => random.pick(seeds)

const kinds: readonly (() => Attempt)[] = [
  () => http('bytes of HTTP', mutateBytes(random, random.pick(correct), correct)),
  () => {
    const { model, json, bytes } = chosen()
    const changed = Object.fromEntries(Array.from({ length: 1 + random.below(3) }, () => random.pick(headers)))
    return http('headers', framed(model, JSON.stringify(json), bytes, changed))
  },
  () => {
    const { model, json, bytes } = chosen()
    return http('JSON', framed(model, JSON.stringify(mutateJson(random, json)) ?? '', bytes))
  },
  () => {
    const { model, json, bytes } = random.pick(seeds.filter((one) => one.bytes !== undefined))
    const changed = mutateBytes(random, bytes!)
    const sized = JSON.stringify(json).replace(/"binary_data_size":\d+/, `"binary_data_size":${changed.length}`)
    return http('binary tensors', framed(model, random.below(4) > 0 ? sized : JSON.stringify(json), changed))
  },
  () => {
    const { model, json } = chosen()
    const isWhole = random.below(2) === 0
    const body = compressed(Buffer.from(JSON.stringify(isWhole ? mutateJson(random, json) : json) ?? ''))
    const sent = isWhole ? body : mutateBytes(random, body)
    return http('compression', requestOf(`/v2/models/${model}/infer`, sent, { 'content-encoding': 'gzip' }))
  },
  () =>
    grpc(
      'messages of gRPC',
      frame(mutateBytes(random, random.pick(messages), messages)),
      random.pick(['ModelInfer', 'ModelStreamInfer']),
    ),
  () => {
    const { path, json } = random.pick(routeSeeds)
    const bytes =
      random.below(2) === 0
        ? routeRequest(path, mutateJson(random, json))
        : mutateBytes(random, routeRequest(path, json), routes)
    return {
      kind: 'streams, generate, sequences and weights',
      bytes,
      send: async ({ ports }) => problemOf(await readSome(ports.http, bytes)),
    }
  },
  () => {
    const changed = Array.from({ length: 1 + random.below(4) }, () => {
      const message = random.pick(streamMessages)
      return random.below(2) === 0 ? message : mutateBytes(random, message, streamMessages)
    })
    return {
      kind: 'calls of ModelStreamInfer',
      bytes: Buffer.concat(changed),
      send: ({ ports }) => streamInfer(ports, changed),
    }
  },
  () => ofSecured('wrong tokens', wrongToken(random, secured)),
  () => ofSecured('requests over TLS without a token', changedHttps(random, secured)),
  () => ofSecured('wrong metadata of gRPC over TLS', wrongMetadata(random, secured)),
  () => ofSecured('handshakes', changedHandshake(random, secured)),
  () => ofSecured('requests for the monitoring', changedMonitoring(random)),
  () => grpc('frames of gRPC', mutateBytes(random, frame(random.pick(messages)), messages), 'ModelInfer'),
  () =>
    grpc(
      'other methods',
      frame(mutateBytes(random, Buffer.from([0x0a, 6, ...Buffer.from('floats')]))),
      random.pick([
        'ModelMetadata',
        'ModelConfig',
        'ModelReady',
        'ModelStatistics',
        'SystemSharedMemoryStatus',
        'SystemSharedMemoryRegister',
      ]),
    ),
]

/** Sends a changed request. @throws {Error} with the request, if the server does not stand it. */
async function attempt(server: ServerProcess, { kind, bytes, send }: Attempt): Promise<void> {
  const problem = await send(server).catch((error: unknown) => String(error))
  if (problem === undefined && server.isAlive) return
  throw new Error(`${kind}: ${problem ?? 'the server ended'}\n${JSON.stringify(Buffer.from(bytes).toString('latin1'))}`)
}

/** Whether correct requests are answered, and nothing is left over. @throws {Error} */
async function check(server: ServerProcess, before: Holdings | undefined): Promise<Holdings> {
  const { status } = await exchange(server.ports.http, [inferOf('kernel', { inputs: [input()] })])
  if (status !== 200) throw new Error(`a correct request got ${status}`)
  for (let left = 50; ; left--) {
    const now = await server.holdings()
    if (now.failures.length > 0) throw new Error(`the server failed: ${now.failures.join('\n')}`)
    const isLess =
      before === undefined ||
      (now.descriptors <= before.descriptors &&
        now.children === before.children &&
        now.memoryFiles === before.memoryFiles &&
        now.requests === before.requests &&
        now.arrayBuffers < before.arrayBuffers + 2 ** 23 &&
        now.heapUsed < before.heapUsed + 2 ** 26)
    if (isLess) return now
    if (left === 0) throw new Error(`something is left over: ${JSON.stringify(now)}, before ${JSON.stringify(before)}`)
    await setTimeout(200)
  }
}

/** Registers a region, and checks that the requests that will be changed are answered. @throws {Error} */
async function prepare({ ports }: ServerProcess, key: string): Promise<void> {
  const body = JSON.stringify({ key, byte_size: 32 })
  const region = requestOf('/v2/systemsharedmemory/region/data/register', body)
  const load = requestOf('/v2/repository/models/stored/load', '{}')
  for (const bytes of [region, load, ...correct]) {
    const { status, body: text } = await exchange(ports.http, [bytes])
    if (status !== 200) throw new Error(`a correct request got ${status}: ${text.toString()}`)
  }
  for (const bytes of routes) {
    const answer = await readSome(ports.http, bytes)
    if (!/^HTTP\/1\.1 200 /m.test(answer)) throw new Error(`a correct request got ${answer}`)
  }
}

/** Sends changed requests until the time is over. @throws {Error} for the first one that the server does not stand. */
async function fuzz(server: ServerProcess): Promise<void> {
  let before = await check(server, undefined)
  const end = Date.now() + 1000 * seconds
  while (Date.now() < end) {
    for (let i = 0; i < ROUND && Date.now() < end; i += CLIENTS) {
      const attempts = Array.from({ length: CLIENTS }, () => random.pick(kinds)())
      const ends = await Promise.allSettled(attempts.map((one) => attempt(server, one)))
      const failed = ends.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
      sent += CLIENTS
    }
    const now = await check(server, before)
    // The first round fills caches.
    if (sent <= ROUND) before = now
  }
}

process.stdout.write(`${seconds} s, --seed ${seed}\n`)
let sent = 0
const fixture = new Fixture()
let server: ServerProcess | undefined
try {
  fixture.addModel('stored', 0)
  fixture.addObject('data', new Uint8Array(32))
  server = await ServerProcess.start(fixture.repository, fixture.prefix, 5000, secured.options)
  await prepare(server, `${fixture.prefix}-data`)
  await fuzz(server)
  process.stdout.write(`${sent} requests, no failure\n`)
} catch (error) {
  process.stdout.write(`${(error as Error).message}\nafter ${sent} requests, --seed ${seed}\n`)
  process.exitCode = 1
} finally {
  server?.[Symbol.dispose]()
  fixture[Symbol.dispose]()
  rmSync(secrets, { recursive: true })
}
