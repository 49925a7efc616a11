import { ArgumentError } from '@tenon/core/errors'
import type { TypedArray } from '@tenon/core'
import { elementCountOf } from '../protocol/json-elements.ts'
import { decodeUtf8 } from '../protocol/parse-json.ts'
import { integerForJson } from '../protocol/raw-json.ts'
import { readStrings } from '../protocol/string-bytes.ts'
import type { InferOptions } from './call-options.ts'
import { datatypes } from './datatypes.ts'
import type { ReadInput } from './read-input.ts'
import type { ClientRequest } from './transport.ts'

/**
 * Encodes a request of the protocol.
 *
 * @param takesBytes whether the server takes tensors as bytes behind the JSON. Otherwise they are JSON.
 * @throws {ArgumentError} if an input has elements that JSON does not have, and the server takes no bytes.
 */
export function encodeRequest(
  inputs: readonly ReadInput[],
  options: InferOptions,
  takesBytes: boolean,
): Pick<ClientRequest, 'method' | 'headers' | 'body'> {
  const { id, outputs, priority, sequence, parameters = {}, traceparent, tracestate } = options
  const text = JSON.stringify({
    ...(id === undefined ? {} : { id }),
    parameters: {
      ...Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, parameterForJson(value)])),
      ...(priority === undefined ? {} : { priority }),
      ...(takesBytes ? { binary_data_output: true } : {}),
      ...(sequence === undefined
        ? {}
        : {
            sequence_id: parameterForJson(sequence.id),
            sequence_start: sequence.start ?? false,
            sequence_end: sequence.end ?? false,
          }),
    },
    inputs: inputs.map(({ name, datatype, shape, bytes, region }) => {
      const described = { name, datatype, shape }
      if (region !== undefined) return { ...described, parameters: parametersOf(region, bytes.length) }
      if (takesBytes) return { ...described, parameters: { binary_data_size: bytes.length } }
      return { ...described, data: elementsOf({ name, datatype, shape, bytes }) }
    }),
    ...(outputs === undefined ? {} : { outputs: outputs.map((name) => ({ name })) }),
  })
  const trace = {
    ...(traceparent === undefined ? {} : { traceparent: checkText('traceparent', traceparent) }),
    ...(tracestate === undefined ? {} : { tracestate: checkText('tracestate', tracestate) }),
  }
  const json = new TextEncoder().encode(text)
  if (!takesBytes) return { method: 'POST', body: [json], headers: { 'content-type': 'application/json', ...trace } }
  const headers = {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': String(json.length),
    ...trace,
  }
  return {
    method: 'POST',
    body: [json, ...inputs.flatMap(({ bytes, region }) => (region === undefined ? [bytes] : []))],
    headers,
  }
}

/** @throws {ArgumentError} if a header cannot have this value. */
function checkText(name: string, value: unknown): string {
  if (typeof value === 'string' && /^[\x20-\x7e]+$/.test(value)) return value
  throw new ArgumentError(`${name} must be a text of visible ASCII characters`)
}

const parametersOf = ({ name, offset }: NonNullable<ReadInput['region']>, byteSize: number): object => ({
  shared_memory_region: name,
  shared_memory_offset: offset,
  shared_memory_byte_size: byteSize,
})

const parameterForJson = (value: unknown): unknown => (typeof value === 'bigint' ? integerForJson(value) : value)

/** The elements of an input for JSON. */
function elementsOf({ name, datatype, shape, bytes }: ReadInput): readonly unknown[] {
  const count = elementCountOf(shape)
  if (datatype === 'BYTES') return readStrings(name, bytes, count).map((one) => textOf(name, one))
  const type = datatypes.get(datatype)!
  if (type.kind === 'float' && type.bits === 16) throw noJson(name, `elements of ${type.dtype}`)
  const elements = new type.array(bytes.slice().buffer, 0, count) as TypedArray
  if (type.kind === 'bool') return Array.from(elements as Uint8Array, (value) => value !== 0)
  if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) {
    return Array.from(elements, integerForJson)
  }
  const values = Array.from(elements as Float64Array)
  const other = values.find((value) => !Number.isFinite(value))
  if (other !== undefined) throw noJson(name, `the value ${other}`)
  return values
}

function textOf(name: string, bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes)
  } catch {
    throw noJson(name, 'a string that is not UTF-8')
  }
}

const noJson = (name: string, what: string): ArgumentError =>
  new ArgumentError(`the input ${name} has ${what}, which has no form in JSON, and the server takes nothing else`)
