/**
 * `pnpm bench:streams` measures streams of a server in a process of its own: the time from a `yield` to its answer in the client, the memory of
 * 1,000 streams at once, and what clients that do not read take from others. docs/serving-streams.md has the figures.
 */
import { fromBinary, toBinary, create } from '@bufbuild/protobuf'
import { Client, credentials } from '@grpc/grpc-js'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@tenon/serve/client'
import { ModelInferRequestSchema, ModelStreamInferResponseSchema } from '../src/generated/open_inference_pb.js'
import { startServer, type ServerProcess } from './processes.ts'

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** The element of a sorted list at a part of its length. */
const at = (sorted: readonly number[], part: number): number => sorted[Math.floor(part * (sorted.length - 1))]!

/** The milliseconds from a time of `process.hrtime.bigint()`, which all processes of the machine share. */
const since = (yielded: bigint): number => Number(process.hrtime.bigint() - yielded) / 1e6

/** The most streams at once. */
const STREAMS = 1000

function report(name: string, times: number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  const [median, p99] = [at(sorted, 0.5), at(sorted, 0.99)]
  const within = times.filter((time) => time <= 2).length / times.length
  print(
    `${name.padEnd(44)}${median.toFixed(3).padStart(9)}${p99.toFixed(3).padStart(9)}${(100 * within).toFixed(1).padStart(9)} %`,
  )
}

/** The times from each `yield` to its answer over HTTP, of the first elements and of all others. */
async function overHttp(
  port: number,
  rounds: number,
): Promise<{ readonly first: number[]; readonly others: number[] }> {
  const client = createClient(`http://127.0.0.1:${port}`)
  const [first, others]: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    let isFirst = true
    for await (const { time } of client.stream('now', { count: [10] })) {
      ;(isFirst ? first : others).push(since((time!.data as BigUint64Array)[0]!))
      isFirst = false
    }
  }
  await client.closeAsync()
  return { first, others }
}

/** The same over gRPC, in one call. */
async function overGrpc(
  port: number,
  rounds: number,
): Promise<{ readonly first: number[]; readonly others: number[] }> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const same = (bytes: Buffer): Buffer => bytes
  const call = client.makeBidiStreamRequest('/inference.GRPCInferenceService/ModelStreamInfer', same, same)
  const request = create(ModelInferRequestSchema, {
    modelName: 'now',
    inputs: [{ name: 'count', datatype: 'INT32', shape: [1n] }],
    rawInputContents: [new Uint8Array(Int32Array.of(10).buffer)],
  })
  const bytes = Buffer.from(toBinary(ModelInferRequestSchema, request))
  const [first, others]: [number[], number[]] = [[], []]
  let [taken, asked] = [0, 0]
  const askNext = (): void => {
    if (asked++ < rounds) call.write(bytes)
    else call.end()
  }
  call.on('data', (answer: Buffer) => {
    const received = process.hrtime.bigint()
    const [raw] = fromBinary(ModelStreamInferResponseSchema, answer).inferResponse!.rawOutputContents
    const yielded = new DataView(raw!.buffer, raw!.byteOffset).getBigUint64(0, true)
    ;(taken % 10 === 0 ? first : others).push(Number(received - yielded) / 1e6)
    if (++taken % 10 === 0) askNext()
  })
  askNext()
  await new Promise((resolve) => call.once('end', resolve))
  client.close()
  return { first, others }
}

/** A request on a connection of its own, of which nothing is read unless `isRead`. Resolves when the answer has begun. */
async function ask(port: number, model: string, body: string, isRead: boolean): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const head = `POST /v2/models/${model}/generate_stream HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}`
  socket.write(`${head}\r\n\r\n${body}`)
  await new Promise((resolve) => socket.once('readable', resolve))
  if (isRead) socket.resume()
  return socket
}

/** The elements that each of four clients reads. */
const ELEMENTS = 2000

/** The processor time of a server for each element that four clients read, in microseconds. It depends less on other programs than the time. */
async function timeOfElement(server: ServerProcess): Promise<number> {
  const client = createClient(`http://127.0.0.1:${server.port}`)
  await client.metadata('endless')
  const before = server.processorTime()
  const read = async (): Promise<void> => {
    let count = 0
    for await (const _ of client.stream('endless', { x: [0] })) if (++count === ELEMENTS) break
  }
  await Promise.all([read(), read(), read(), read()])
  const after = server.processorTime()
  await client.closeAsync()
  return (after - before) / (4 * ELEMENTS)
}

/** Waits until a server does nothing, because the sockets of all clients that do not read are full. */
async function untilIdle(server: ServerProcess): Promise<void> {
  for (let before = -Infinity; ;) {
    const now = server.processorTime()
    if (now - before < 10_000) return
    before = now
    await sleep(500)
  }
}

const http = await startServer('streams')
const grpc = await startServer('grpc-streams')
print(`${'from yield to its answer, ms'.padEnd(44)}   median      p99  within 2 ms`)
await overHttp(http.port, 50)
await overGrpc(grpc.port, 50)
for (const [name, times] of [
  ['HTTP', await overHttp(http.port, 300)],
  ['gRPC', await overGrpc(grpc.port, 300)],
] as const) {
  report(`${name}, first element`, times.first)
  report(`${name}, later elements, 2 ms apart`, times.others)
}

const before = http.residentBytes()
const held = await Promise.all(Array.from({ length: STREAMS }, () => ask(http.port, 'held', '{"x":0}', true)))
const during = http.residentBytes()
for (const socket of held) socket.destroy()
print(
  `\n${STREAMS} streams at once: ${((during - before) / 1024 / STREAMS).toFixed(1)} KiB of memory each, with their connections`,
)

const alone: number[] = []
const beside: number[] = []
for (let round = 0; round < 5; round++) {
  alone.push(await timeOfElement(http))
  const stuck = await Promise.all(Array.from({ length: 50 }, () => ask(http.port, 'endless', '{"x":0}', false)))
  await untilIdle(http)
  beside.push(await timeOfElement(http))
  for (const socket of stuck) socket.destroy()
  await untilIdle(http)
}
const ratios = beside.map((time, i) => time / alone[i]!).toSorted((a, b) => a - b)
const median = at(
  alone.toSorted((a, b) => a - b),
  0.5,
)
print(
  `an element of 4 KiB takes ${median.toFixed(0)} us of processor time, and ${at(ratios, 0.5).toFixed(2)} (${ratios[0]!.toFixed(2)}-${ratios.at(-1)!.toFixed(2)}) of it beside 50 clients that do not read`,
)
http.close()
grpc.close()
