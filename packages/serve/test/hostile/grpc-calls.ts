import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { gzipSync } from 'node:zlib'
import {
  ModelInferRequestSchema,
  RepositoryModelLoadRequestSchema,
  SystemSharedMemoryRegisterRequestSchema,
} from '../../src/generated/open_inference_pb.js'
import { frame, type RawCall } from './grpc-exchange.ts'

/** A call that a server must refuse. */
export interface HostileCall extends RawCall {
  readonly name: string
  readonly code: string
  /** A part of the message. */
  readonly error: string
}

/** The statuses of gRPC that servers answer hostile calls with. */
const INVALID = '3'
const NOT_FOUND = '5'
const TOO_LARGE = '8'
const UNIMPLEMENTED = '12'
const INTERNAL = '13'

type InferRequest = MessageInitShape<typeof ModelInferRequestSchema>

const x = (fields: object = {}) => ({ name: 'x', datatype: 'FP32', shape: [2n], ...fields })
const two = Buffer.from(new Float32Array([1, 2]).buffer)

/** A request that is answered. */
const correct = { modelName: 'floats', inputs: [x()], rawInputContents: [two] }

const encode = (request: InferRequest): Uint8Array =>
  toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, request))

/** The correct request for a model, in its frame. */
export const inferFrame = (modelName: string): Buffer => frame(encode({ ...correct, modelName }))

/** The bytes of the correct request. */
export const valid: Uint8Array = encode(correct)

const raw = (name: string, code: string, error: string, ...parts: readonly Uint8Array[]): HostileCall => ({
  name,
  code,
  error,
  parts,
})

const infer = (name: string, code: string, error: string, request: InferRequest): HostileCall =>
  raw(name, code, error, frame(encode({ ...correct, ...request })))

const shared = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries({ shared_memory_region: 'data', shared_memory_byte_size: 8n, ...fields }).map(([key, value]) => [
      key,
      typeof value === 'bigint'
        ? { parameterChoice: { case: 'int64Param' as const, value } }
        : { parameterChoice: { case: 'stringParam' as const, value: String(value) } },
    ]),
  )

const inRegion = (name: string, code: string, error: string, fields: Readonly<Record<string, unknown>>): HostileCall =>
  infer(name, code, error, { inputs: [x({ parameters: shared(fields) })], rawInputContents: [] })

const parameter = (name: string, value: object) => ({ [name]: { parameterChoice: value as never } })

const register = (
  name: string,
  error: string,
  region: MessageInitShape<typeof SystemSharedMemoryRegisterRequestSchema>,
): HostileCall => ({
  ...raw(
    name,
    INVALID,
    error,
    frame(toBinary(SystemSharedMemoryRegisterRequestSchema, create(SystemSharedMemoryRegisterRequestSchema, region))),
  ),
  method: 'SystemSharedMemoryRegister',
})

const load = (
  name: string,
  error: string,
  request: MessageInitShape<typeof RepositoryModelLoadRequestSchema>,
): HostileCall => ({
  ...raw(
    name,
    INTERNAL,
    error,
    frame(toBinary(RepositoryModelLoadRequestSchema, create(RepositoryModelLoadRequestSchema, request))),
  ),
  method: 'RepositoryModelLoad',
})

const withHeaders = (
  name: string,
  code: string,
  error: string,
  headers: Readonly<Record<string, string>>,
  method?: string,
): HostileCall => ({
  ...raw(name, code, error, frame(valid)),
  headers,
  ...(method === undefined ? {} : { method }),
})

const notMessage = 'the message must be a ModelInferRequest'
const tooLarge = 2 ** 20 + 2 ** 20 + 1

/** Frames, messages and headers that are wrong. @param prefix that of the keys of shared memory. */
export function grpcCalls(prefix: string): readonly HostileCall[] {
  return [
    raw('no frame', UNIMPLEMENTED, ''),
    raw('half of the head of a frame', UNIMPLEMENTED, '', Buffer.from([0, 0, 0])),
    raw('a frame without its message', UNIMPLEMENTED, '', frame(new Uint8Array(), 0, 10)),
    raw('a frame of which half comes', UNIMPLEMENTED, '', frame(valid.subarray(0, 10), 0, valid.length)),
    raw('a frame of 2^32 - 1 bytes', TOO_LARGE, 'larger', frame(new Uint8Array(10), 0, 2 ** 32 - 1)),
    raw('a frame of 2^31 bytes', TOO_LARGE, 'larger', frame(new Uint8Array(10), 0, 2 ** 31)),
    raw('a frame one byte above the limit', TOO_LARGE, 'larger', frame(new Uint8Array(10), 0, tooLarge)),
    raw('a message above the limit', TOO_LARGE, 'larger', frame(new Uint8Array(tooLarge))),
    raw('a compressed message without an encoding', INVALID, notMessage, frame(gzipSync(valid), 1)),
    {
      ...raw('a compressed message that is none', INTERNAL, '', frame(valid, 1)),
      headers: { 'grpc-encoding': 'gzip' },
    },
    {
      ...raw('a compressed message that ends early', INTERNAL, '', frame(gzipSync(valid).subarray(0, 20), 1)),
      headers: { 'grpc-encoding': 'gzip' },
    },
    {
      ...raw('a compressed bomb', TOO_LARGE, '', frame(gzipSync(Buffer.alloc(64 * 2 ** 20)), 1)),
      headers: { 'grpc-encoding': 'gzip' },
    },
    raw('a compressed message with other flags', INVALID, notMessage, frame(gzipSync(valid), 2)),
    raw('two messages', UNIMPLEMENTED, '', frame(valid), frame(valid)),
    raw('a message of the bytes 255', INVALID, notMessage, frame(Buffer.alloc(100, 255))),
    raw('a message of random bytes', INVALID, notMessage, frame(Buffer.from('5f7ae8c1d304bb96', 'hex'))),
    raw('a message that ends early', INVALID, notMessage, frame(valid.subarray(0, -3))),
    raw(
      'a field whose length is 2^32 - 1',
      INVALID,
      notMessage,
      frame(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x61])),
    ),
    raw(
      'a varint of eleven bytes',
      INVALID,
      notMessage,
      frame(Buffer.concat([Buffer.from([0x08]), Buffer.alloc(11, 0x80)])),
    ),
    raw('the field 0', INVALID, notMessage, frame(Buffer.from([0x02, 0]))),
    raw('a group without end', INVALID, notMessage, frame(Buffer.from([0x0b]))),
    raw('100,000 groups', INVALID, notMessage, frame(Buffer.alloc(100_000, 0x0b))),
    raw('300,000 empty inputs', TOO_LARGE, 'fields', frame(Buffer.alloc(600_000, Buffer.from([0x2a, 0])))),
    raw('300,000 empty raw contents', TOO_LARGE, 'fields', frame(Buffer.alloc(600_000, Buffer.from([0x3a, 0])))),
    raw('300,000 unknown fields', TOO_LARGE, 'fields', frame(Buffer.alloc(900_000, Buffer.from([0xa0, 6, 0])))),
    raw(
      '300,000 axes behind a tag of ten bytes',
      TOO_LARGE,
      'fields',
      frame(
        Buffer.concat([
          Buffer.from([0xaa, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0xe4, 0xa7, 0x12]),
          Buffer.from([0x1a, 0xe0, 0xa7, 0x12]),
          Buffer.alloc(300_000, 1),
        ]),
      ),
    ),
    infer('300,000 axes', TOO_LARGE, 'fields', { inputs: [x({ shape: Array.from({ length: 300_000 }, () => 1n) })] }),
    infer('300,000 texts', TOO_LARGE, 'fields', {
      inputs: [x({ contents: { bytesContents: Array.from({ length: 300_000 }, () => new Uint8Array()) } })],
      rawInputContents: [],
    }),
    infer('a model of 1,048,577 characters', TOO_LARGE, 'without raw_input_contents', {
      modelName: 'n'.repeat(2 ** 20 + 1),
    }),
    {
      ...raw('metadata of 1,048,577 bytes', TOO_LARGE, 'at most', frame(new Uint8Array(2 ** 20 + 1))),
      method: 'ModelMetadata',
    },
    raw('a text that is not UTF-8', INVALID, notMessage, frame(Buffer.from([0x0a, 2, 0xc3, 0x28]))),
    raw('an empty message', NOT_FOUND, 'Request for unknown model', frame(new Uint8Array())),
    raw(
      'an empty message byte by byte',
      NOT_FOUND,
      'Request for unknown model',
      ...Array.from({ length: 5 }, () => Buffer.from([0])),
    ),
    raw(
      'a wrong message byte by byte',
      INVALID,
      'no input "z"',
      ...Array.from(frame(encode({ ...correct, inputs: [x({ name: 'z' })] })), (byte) => Buffer.from([byte])),
    ),
    { ...raw('the encoding br', UNIMPLEMENTED, '', frame(valid, 1)), headers: { 'grpc-encoding': 'br' } },
    {
      ...raw('the encoding of the prototype', UNIMPLEMENTED, '', frame(valid, 1)),
      headers: { 'grpc-encoding': '__proto__' },
    },
    withHeaders('an unknown method', UNIMPLEMENTED, '', {}, 'NoMethod'),
    withHeaders('an unknown service', UNIMPLEMENTED, '', {}, '/other.Service/Method'),
    withHeaders('a method of the prototype', UNIMPLEMENTED, '', {}, '/__proto__/constructor'),
    withHeaders('an empty path', UNIMPLEMENTED, '', {}, '/'),
    withHeaders('a path of HTTP', UNIMPLEMENTED, '', {}, '/v2/models/floats/infer'),
    withHeaders('JSON', 'http 415', '', { 'content-type': 'application/json' }),
    withHeaders('no content-type', 'http 415', '', { 'content-type': '' }),
    withHeaders('a deadline that is no number', INTERNAL, '', { 'grpc-timeout': 'x' }),
    infer('an unknown model', NOT_FOUND, 'Request for unknown model', { modelName: 'no' }),
    infer('a model of 1,000,000 characters', NOT_FOUND, 'Request for unknown model', {
      modelName: 'n'.repeat(1_000_000),
    }),
    infer('a version of 1,000,000 characters', INVALID, 'version', { modelVersion: '1'.repeat(1_000_000) }),
    infer('an input of 1,000,000 characters', INVALID, 'no input', { inputs: [x({ name: 'n'.repeat(1_000_000) })] }),
    infer('an output of 1,000,000 characters', INVALID, 'no output', { outputs: [{ name: 'n'.repeat(1_000_000) }] }),
    infer('an output of 500,000 characters twice', INVALID, 'each name once', {
      outputs: [{ name: 'n'.repeat(500_000) }, { name: 'n'.repeat(500_000) }],
    }),
    infer('a name with line feeds', INVALID, 'no input "a\\r\\nb"', { inputs: [x({ name: 'a\r\nb' })] }),
    infer('an input twice', INVALID, 'each name once', { inputs: [x(), x()], rawInputContents: [two, two] }),
    infer('no input', INVALID, 'must have the input x', { inputs: [], rawInputContents: [] }),
    infer('too few raw contents', INVALID, 'raw_input_contents', { inputs: [x(), x({ name: 'z' })] }),
    infer('too many raw contents', INVALID, 'raw_input_contents', { rawInputContents: [two, two] }),
    infer('a byte too few', INVALID, 'binary_data_size of x must be 8', { rawInputContents: [two.subarray(1)] }),
    infer('a byte too many', INVALID, 'binary_data_size of x must be 8', { rawInputContents: [Buffer.alloc(9)] }),
    infer('raw and typed contents', INVALID, 'contents', { inputs: [x({ contents: { fp32Contents: [1, 2] } })] }),
    infer('contents of another type', INVALID, 'data of x must be 2 elements', {
      inputs: [x({ contents: { intContents: [1, 2] } })],
      rawInputContents: [],
    }),
    infer('too few contents', INVALID, 'data of x must be 2 elements', {
      inputs: [x({ contents: { fp32Contents: [1] } })],
      rawInputContents: [],
    }),
    infer('NaN in more contents than elements', INVALID, 'the data of x must be', {
      inputs: [x({ contents: { fp32Contents: [1, Number.NaN, 2, 3, 4, 5, 6, 7, 8] } })],
      rawInputContents: [],
    }),
    infer('the datatype FP64', INVALID, 'datatype FP32', { inputs: [x({ datatype: 'FP64' })] }),
    infer('a negative size', INVALID, 'shape[0] must be', { inputs: [x({ shape: [-1n] })] }),
    infer('a size of 2^63 - 1', INVALID, 'shape[0] must be', { inputs: [x({ shape: [2n ** 63n - 1n] })] }),
    infer('a size of 2^53', INVALID, 'shape[0] must be', { inputs: [x({ shape: [2n ** 53n] })] }),
    infer('33 axes', INVALID, 'at most 32 sizes', { inputs: [x({ shape: Array.from({ length: 33 }, () => 1n) })] }),
    infer('100,000 axes', INVALID, 'at most 32 sizes', {
      inputs: [x({ shape: Array.from({ length: 100_000 }, () => 1n) })],
    }),
    infer('half of a character at the end of a message', INVALID, 'priority must be', {
      parameters: parameter('priority', { case: 'stringParam', value: `a${'\u{1f600}'.repeat(99)}` }),
    }),
    infer('text that is encoded for URLs', INVALID, 'priority must be', {
      parameters: parameter('priority', { case: 'stringParam', value: '%41%zz%' }),
    }),
    infer('a parameter without a value', INVALID, 'parameters.a must be', {
      parameters: parameter('a', { case: undefined }),
    }),
    infer('a sequence', INVALID, 'sequence_id must be absent', {
      parameters: parameter('sequence_id', { case: 'int64Param', value: 1n }),
    }),
    infer('a stream', UNIMPLEMENTED, 'decoupled transaction policy', {
      modelName: 'count',
      inputs: [{ name: 'n', datatype: 'INT32', shape: [1n] }],
      rawInputContents: [new Uint8Array(4)],
    }),
    infer('a sequence_id of true', INVALID, 'sequence_id must be a whole number', {
      parameters: parameter('sequence_id', { case: 'boolParam', value: true }),
    }),
    infer('a sequence_id of 1.5', INVALID, 'sequence_id must be a whole number', {
      parameters: parameter('sequence_id', { case: 'doubleParam', value: 1.5 }),
    }),
    infer('a start without a sequence', INVALID, 'must be with a sequence_id', {
      parameters: parameter('sequence_start', { case: 'boolParam', value: true }),
    }),
    infer('a final response that is a text', INVALID, 'triton_enable_empty_final_response must be', {
      parameters: parameter('triton_enable_empty_final_response', { case: 'stringParam', value: 'yes' }),
    }),
    infer('a negative priority', INVALID, 'priority must be', {
      parameters: parameter('priority', { case: 'int64Param', value: -1n }),
    }),
    infer('texts that end early', INVALID, 'must end within', {
      modelName: 'texts',
      inputs: [x({ datatype: 'BYTES', shape: [1n] })],
      rawInputContents: [Buffer.from([9, 0, 0, 0, 1])],
    }),
    inRegion('an unknown region', NOT_FOUND, 'there is no region', { shared_memory_region: 'other' }),
    inRegion('a region behind its end', INVALID, 'must end within', { shared_memory_offset: 25n }),
    inRegion('a region far behind its end', INVALID, 'must end within', { shared_memory_offset: 2n ** 53n - 1n }),
    inRegion('a region with the offset 2^63 - 1', INVALID, 'shared_memory_offset must be', {
      shared_memory_offset: 2n ** 63n - 1n,
    }),
    inRegion('a region with a negative offset', INVALID, 'shared_memory_offset must be', { shared_memory_offset: -1n }),
    register('a key above', 'key must be', { name: 'a', key: '/../x', byteSize: 8n }),
    register('another key', 'key must be', { name: 'a', key: 'other', byteSize: 8n }),
    register('a size of 2^64 - 1', 'byte_size must be', { name: 'a', key: `${prefix}-data`, byteSize: 2n ** 64n - 1n }),
    register('an offset of 2^64 - 1', 'offset must be', {
      name: 'a',
      key: `${prefix}-data`,
      byteSize: 8n,
      offset: 2n ** 64n - 1n,
    }),
    register('a region without a name', '1 to 255 characters', { name: '', key: `${prefix}-data`, byteSize: 8n }),
    register('a region of 100,000 characters', '1 to 255 characters', {
      name: 'r'.repeat(100_000),
      key: `${prefix}-data`,
      byteSize: 8n,
    }),
    load('a load of a model of 1,000,000 characters', 'failed to load', { modelName: 'n'.repeat(1_000_000) }),
    load('a load of a file', 'failed to poll from model repository', {
      modelName: 'stored',
      parameters: parameter('file:1/x', { case: 'bytesParam', value: new Uint8Array(9) }),
    }),
    load('a load with bytes as configuration', 'failed to poll', {
      modelName: 'stored',
      parameters: parameter('config', { case: 'bytesParam', value: new Uint8Array(9) }),
    }),
  ]
}
