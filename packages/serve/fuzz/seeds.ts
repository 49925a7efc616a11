import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { gzipSync } from 'node:zlib'
import { ModelInferRequestSchema } from '../src/generated/open_inference_pb.js'

/** A correct request: a model, its JSON, and the bytes behind it. */
export interface Seed {
  readonly model: string
  readonly json: object
  readonly bytes?: Uint8Array
}

const x = (datatype: string, shape: readonly number[], others: object): object => ({
  name: 'x',
  datatype,
  shape,
  ...others,
})
const binary = (size: number): object => ({ parameters: { binary_data_size: size } })

/** Two strings in the binary form of the protocol. */
const texts = Buffer.from([3, 0, 0, 0, 0x6f, 0x6e, 0x65, 0, 0, 0, 0])

/** Correct requests of all kinds for HTTP. The region `data` has 32 bytes. */
export const seeds: readonly Seed[] = [
  { model: 'floats', json: { id: '1', inputs: [x('FP32', [2], { data: [1, 2] })], outputs: [{ name: 'y' }] } },
  {
    model: 'double',
    json: {
      inputs: [
        x('FP32', [2, 4], {
          data: [
            [1, 2, 3, 4],
            [5, 6, 7, 8],
          ],
        }),
      ],
    },
  },
  { model: 'integers', json: { inputs: [x('INT64', [2], { data: [1, -2] })] } },
  { model: 'booleans', json: { inputs: [x('BOOL', [3], { data: [true, false, 1] })] } },
  { model: 'texts', json: { inputs: [x('BYTES', [2], { data: ['one', ''] })] } },
  { model: 'cube', json: { inputs: [x('FP64', [1, 2, 1], { data: [[[1], [2]]] })] } },
  { model: 'kernel', json: { inputs: [x('FP32', [2], { data: [1, 2] })], parameters: { binary_data_output: true } } },
  {
    model: 'batched',
    json: { inputs: [x('FP32', [1, 2], { data: [1, 2] })], parameters: { priority: 1, timeout: 1_000_000 } },
  },
  {
    model: 'floats',
    json: { inputs: [x('FP32', [2], binary(8))], outputs: [{ name: 'y', parameters: { binary_data: true } }] },
    bytes: new Uint8Array(8),
  },
  { model: 'kernel', json: { inputs: [x('FP32', [2], binary(8))] }, bytes: new Uint8Array(8) },
  { model: 'booleans', json: { inputs: [x('BOOL', [2], binary(2))] }, bytes: new Uint8Array([0, 1]) },
  {
    model: 'halves',
    json: { inputs: [x('FP16', [2], binary(4))], parameters: { binary_data_output: true } },
    bytes: new Uint8Array(4),
  },
  { model: 'texts', json: { inputs: [x('BYTES', [2], binary(texts.length))] }, bytes: texts },
  {
    model: 'texts',
    json: { inputs: [x('BYTES', [2], binary(texts.length))], parameters: { binary_data_output: true } },
    bytes: texts,
  },
  {
    model: 'floats',
    json: {
      inputs: [x('FP32', [2], { parameters: { shared_memory_region: 'data', shared_memory_byte_size: 8 } })],
      outputs: [
        {
          name: 'y',
          parameters: { shared_memory_region: 'data', shared_memory_byte_size: 8, shared_memory_offset: 8 },
        },
      ],
    },
  },
]

/** Headers of requests. @param length the bytes of the JSON before other bytes, or undefined. */
export function headersOf(body: Uint8Array, length: number | undefined): Record<string, string> {
  const sizes = length === undefined ? {} : { 'inference-header-content-length': String(length) }
  return { host: 'localhost', connection: 'close', 'content-length': String(body.length), ...sizes }
}

/** Values of headers that most requests must not have. */
export const headers: readonly (readonly [string, string])[] = [
  ...['0', '-1', '1e3', 'NaN', '5', '999999999999999', '', '10, 10'].map(
    (value) => ['inference-header-content-length', value] as const,
  ),
  ...['0', '-1', '1', '1048577', '18446744073709551615', '18446744073709551616', '+5'].map(
    (value) => ['content-length', value] as const,
  ),
  ...['gzip', 'deflate', 'br', 'identity', 'GZIP', 'gzip, gzip', ''].map(
    (value) => ['content-encoding', value] as const,
  ),
  ...['gzip', 'deflate;q=0, *', ',,;', 'gzip;q=0', ';q='].map((value) => ['accept-encoding', value] as const),
  ...['chunked', 'identity', 'gzip, chunked', 'chunked, chunked', ''].map(
    (value) => ['transfer-encoding', value] as const,
  ),
  ...['localhost', 'example.com', '', '[::1]:80', 'a:b:c'].map((value) => ['host', value] as const),
  ...['https://example.com', 'null', ''].map((value) => ['origin', value] as const),
  ...['100-continue', 'x'].map((value) => ['expect', value] as const),
  ...['keep-alive', 'upgrade', 'close, keep-alive', ''].map((value) => ['connection', value] as const),
  ...['application/json', 'application/octet-stream', 'x', ''].map((value) => ['content-type', value] as const),
  ...['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '00-0-0-0', ''].map(
    (value) => ['traceparent', value] as const,
  ),
  ...['x'.repeat(17_000), '\u00ff', '%0d%0a'].map((value) => ['x-other', value] as const),
]

const f = (values: readonly number[]): Buffer => Buffer.from(new Float32Array(values).buffer)
const int = (value: bigint) => ({ parameterChoice: { case: 'int64Param' as const, value } })
const text = (value: string) => ({ parameterChoice: { case: 'stringParam' as const, value } })

const requests: readonly MessageInitShape<typeof ModelInferRequestSchema>[] = [
  {
    modelName: 'floats',
    id: '1',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [2n] }],
    rawInputContents: [f([1, 2])],
  },
  { modelName: 'kernel', inputs: [{ name: 'x', datatype: 'FP32', shape: [2n], contents: { fp32Contents: [1, 2] } }] },
  {
    modelName: 'integers',
    inputs: [{ name: 'x', datatype: 'INT64', shape: [2n], contents: { int64Contents: [1n, -2n] } }],
  },
  {
    modelName: 'booleans',
    inputs: [{ name: 'x', datatype: 'BOOL', shape: [2n], contents: { boolContents: [true, false] } }],
  },
  { modelName: 'texts', inputs: [{ name: 'x', datatype: 'BYTES', shape: [2n] }], rawInputContents: [texts] },
  {
    modelName: 'texts',
    inputs: [{ name: 'x', datatype: 'BYTES', shape: [1n], contents: { bytesContents: [f([1])] } }],
  },
  {
    modelName: 'batched',
    parameters: { priority: int(2n), timeout: int(1_000_000n) },
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1n, 2n] }],
    outputs: [{ name: 'y' }],
    rawInputContents: [f([1, 2])],
  },
  {
    modelName: 'floats',
    inputs: [
      {
        name: 'x',
        datatype: 'FP32',
        shape: [2n],
        parameters: { shared_memory_region: text('data'), shared_memory_byte_size: int(8n) },
      },
    ],
  },
]

/** Correct messages of `ModelInfer`. */
export const messages: readonly Uint8Array[] = requests.map((request) =>
  toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, request)),
)

/** The body of a request in a compressed form that its headers may state. */
export const compressed = (body: Uint8Array): Buffer => gzipSync(body)
