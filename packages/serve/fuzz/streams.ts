import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { constants, type IncomingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'
import { requestOf } from '../test/hostile/exchange.ts'
import { frame, withSession } from '../test/hostile/grpc-exchange.ts'
import { ModelInferRequestSchema } from '../src/generated/open_inference_pb.js'
import type { Ports } from '../test/hostile/server-process.ts'

/** A correct request with a path of its own: streams, the generate extension, sequences, and weights of versions. */
export interface RouteSeed {
  readonly path: string
  readonly json: object
}

const x = (values: readonly number[]): object => ({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [values.length], data: values }],
})
const n = (count: number): object => ({ inputs: [{ name: 'n', datatype: 'INT32', shape: [1], data: [count] }] })
const place = (id: number | string, others: object): object => ({
  inputs: [{ name: 'x', datatype: 'INT32', shape: [1], data: [1] }],
  parameters: { sequence_id: id, ...others },
})

/** The model `stored` must be loaded. */
export const routeSeeds: readonly RouteSeed[] = [
  { path: '/v2/models/floats/generate', json: { x: [1, 2], id: '1', parameters: { priority: 0 } } },
  { path: '/v2/models/texts/generate', json: { x: ['one', 'two'] } },
  { path: '/v2/models/floats/generate_stream', json: { x: 1 } },
  { path: '/v2/models/count/generate_stream', json: { n: 3 } },
  { path: '/v2/models/count/infer_stream', json: n(3) },
  { path: '/v2/models/endless/infer_stream', json: x([1]) },
  { path: '/v2/models/floats/infer_stream', json: x([1, 2]) },
  { path: '/v2/models/sum/infer', json: place(1, { sequence_start: true, sequence_end: true }) },
  { path: '/v2/models/sum/infer', json: place('text', { sequence_start: true }) },
  { path: '/v2/models/sum/infer', json: place(2, { sequence_start: true, timeout: 1000 }) },
  { path: '/v2/repository/models/stored/traffic', json: { traffic: { '1': 3 } } },
  { path: '/v2/repository/models/stored/traffic', json: { traffic: null } },
  { path: '/v2/repository/models/stored/load', json: { parameters: { config: '{"max_batch_size":0}' } } },
  { path: '/v2/repository/index', json: { ready: true } },
]

export const routeRequest = (path: string, json: unknown): Buffer => requestOf(path, JSON.stringify(json) ?? '')

/** The bytes of a stream after which its client leaves. */
const ENOUGH = 65_536

/** The time without a byte after which an answer does not come any more, in milliseconds. */
const SILENCE = 20_000

/**
 * Sends bytes, and reads an answer until it ends, or until there is enough of it: a stream may go on without an end.
 *
 * @returns what the server has sent. @throws (rejects) if nothing comes for too long.
 */
export function readSome(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const chunks: Buffer[] = []
    let length = 0
    socket.setTimeout(SILENCE, () => {
      reject(new Error(`nothing came for ${SILENCE} ms`))
      socket.destroy()
    })
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length >= ENOUGH) socket.destroy()
    })
    socket.on('end', () => socket.end())
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    socket.end(bytes)
  })
}

/** What is wrong with an answer to a changed request; undefined if nothing is. */
export function problemOf(answer: string): string | undefined {
  if (answer === '') return undefined
  const status = Number(/^HTTP\/1\.1 (?!100)(\d{3})/m.exec(answer)?.[1])
  if (Number.isNaN(status)) return 'an answer that is not HTTP'
  // 503 is for a queue that is full and sequences that ended, 504 for a timeout that the request states. A load that fails is 500, as in Triton.
  const isKnown = [501, 503, 504].includes(status) || answer.includes('{"error":"failed to load \'stored\'')
  if (status >= 500 && !isKnown) return `the status ${status}: ${answer}`
  return status >= 400 && !answer.includes('{"error":"') ? `an error without a text: ${answer}` : undefined
}

const int = (value: bigint) => ({ parameterChoice: { case: 'int64Param' as const, value } })
const flag = (value: boolean) => ({ parameterChoice: { case: 'boolParam' as const, value } })
const int32 = (value: number): Buffer => Buffer.from(new Int32Array([value]).buffer)

const requests: readonly MessageInitShape<typeof ModelInferRequestSchema>[] = [
  {
    modelName: 'count',
    id: 'a',
    parameters: { triton_enable_empty_final_response: flag(true) },
    inputs: [{ name: 'n', datatype: 'INT32', shape: [1n] }],
    rawInputContents: [int32(3)],
  },
  {
    modelName: 'sum',
    id: 'b',
    parameters: { sequence_id: int(3n), sequence_start: flag(true), sequence_end: flag(true) },
    inputs: [{ name: 'x', datatype: 'INT32', shape: [1n] }],
    rawInputContents: [int32(1)],
  },
  {
    modelName: 'sum',
    parameters: { sequence_id: int(4n), sequence_start: flag(true) },
    inputs: [{ name: 'x', datatype: 'INT32', shape: [1n], contents: { intContents: [1] } }],
  },
  {
    modelName: 'floats',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1n] }],
    rawInputContents: [int32(0)],
  },
]

/** Correct messages of `ModelStreamInfer`. */
export const streamMessages: readonly Uint8Array[] = requests.map((request) =>
  toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, request)),
)

/** Sends some messages in one call of `ModelStreamInfer`, and leaves when there is enough of the answers. @returns what is wrong with its end. */
export function streamInfer({ grpc }: Ports, messages: readonly Uint8Array[]): Promise<string | undefined> {
  return withSession(
    grpc,
    (session) =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
          'content-type': 'application/grpc',
          te: 'trailers',
        })
        let [length, hasLeft, status] = [0, false, 'none']
        const read = (sent: IncomingHttpHeaders): void => {
          if (sent['grpc-status'] !== undefined) status = String(sent['grpc-status'])
        }
        stream.setTimeout(SILENCE, () => {
          reject(new Error(`nothing came for ${SILENCE} ms`))
          stream.destroy()
        })
        stream.on('response', read).on('trailers', read)
        stream.on('error', () => {})
        stream.on('data', (chunk: Buffer) => {
          length += chunk.length
          if (length < ENOUGH) return
          hasLeft = true
          stream.close(constants.NGHTTP2_CANCEL)
        })
        stream.on('close', () =>
          // A message that is none ends the call, and a request that is wrong is an answer in it.
          resolve(hasLeft || ['0', '3', '8'].includes(status) ? undefined : `the call ended with the status ${status}`),
        )
        for (const message of messages) stream.write(frame(message))
        stream.end()
      }),
  )
}
