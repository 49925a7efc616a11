import type { ArrayOf, DType } from '@tenon/core'
import { ProtocolError } from '../errors.ts'
import { elementCountOf, elementReader, flatElements, isSize } from '../protocol/json-elements.ts'
import { decodeUtf8, parseJson } from '../protocol/parse-json.ts'
import { readStrings } from '../protocol/string-bytes.ts'
import type { ClientStrings, ClientTensor } from './client-tensor.ts'
import { datatypes, type Datatype } from './datatypes.ts'
import type { Reply } from './exchange.ts'

type Json = Readonly<Record<string, unknown>>

/** Reads JSON. @throws {ProtocolError} if it is none. */
export function parseAnswer(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes, true)
  } catch (error) {
    throw new ProtocolError('the answer of the server must be JSON', { cause: error })
  }
}

/** Reads an object from JSON. @throws {ProtocolError} if it is none. */
export function readJson(bytes: Uint8Array): Json {
  const json = parseAnswer(bytes)
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Json
  throw new ProtocolError('the answer of the server must be a JSON object')
}

/** Reads the outputs of an answer. @throws {ProtocolError} if it contradicts the protocol. */
export function readAnswer({
  bytes,
  header,
}: Pick<Reply, 'bytes' | 'header'>): Readonly<Record<string, ClientTensor | ClientStrings>> {
  const size = headerLength(header('inference-header-content-length'), bytes.length)
  const { outputs } = readJson(bytes.subarray(0, size))
  if (!Array.isArray(outputs)) throw new ProtocolError('the answer of the server must have outputs')
  const read: Record<string, ClientTensor | ClientStrings> = {}
  let at = size
  for (const output of outputs as readonly unknown[]) {
    const { name, datatype, shape, byteSize, data } = readDescription(output)
    const path = `the output ${name}`
    if (byteSize === undefined) {
      read[name] = fromJson(path, datatype, shape, data)
      continue
    }
    const end = at + byteSize
    if (end > bytes.length) throw new ProtocolError(`${path} must have ${byteSize} bytes, got ${bytes.length - at}`)
    read[name] = fromBytes(path, datatype, shape, bytes.subarray(at, end))
    at = end
  }
  if (at === bytes.length) return read
  throw new ProtocolError(`the answer of the server must end with its outputs, got ${bytes.length - at} more bytes`)
}

/** The size of the JSON in front of the bytes. */
function headerLength(text: string | undefined, byteSize: number): number {
  if (text === undefined) return byteSize
  const size = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (size <= byteSize) return size
  throw new ProtocolError(
    `Inference-Header-Content-Length must be the bytes of the JSON, got ${text.slice(0, 60)} of ${byteSize}`,
  )
}

interface Description {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly number[]
  /** Undefined for elements in the JSON. */
  readonly byteSize: number | undefined
  readonly data: unknown
}

function readDescription(output: unknown): Description {
  const { name, datatype, shape, parameters, data } = (output ?? {}) as Json
  const byteSize = ((parameters ?? {}) as Json)['binary_data_size']
  if (
    typeof name === 'string' &&
    typeof datatype === 'string' &&
    Array.isArray(shape) &&
    shape.every(isSize) &&
    (byteSize === undefined || isSize(byteSize))
  ) {
    return { name, datatype, shape, byteSize, data }
  }
  throw new ProtocolError('an output of the server must have a name, a datatype and a shape')
}

function typeOf(path: string, datatype: string): Datatype {
  const type = datatypes.get(datatype)
  if (type !== undefined) return type
  throw new ProtocolError(`${path} must have a datatype of the protocol, got ${datatype.slice(0, 60)}`)
}

function fromBytes(
  path: string,
  datatype: string,
  shape: readonly number[],
  bytes: Uint8Array,
): ClientTensor | ClientStrings {
  if (datatype === 'BYTES') {
    return stringsOf(
      path,
      shape,
      asProtocol(() => readStrings(path, bytes, elementCountOf(shape))),
    )
  }
  const type = typeOf(path, datatype)
  const byteSize = (elementCountOf(shape) * type.bits) / 8
  if (bytes.length !== byteSize) {
    throw new ProtocolError(`${path} must have ${byteSize} bytes for its shape, got ${bytes.length}`)
  }
  // A TypedArray needs its alignment. In the body, a tensor can begin anywhere.
  const { buffer, byteOffset } = (bytes.byteOffset * 8) % type.bits === 0 ? bytes : bytes.slice()
  const data = new type.array(buffer, byteOffset, elementCountOf(shape)) as ArrayOf<DType>
  return { dtype: type.dtype, shape, data }
}

function fromJson(
  path: string,
  datatype: string,
  shape: readonly number[],
  data: unknown,
): ClientTensor | ClientStrings {
  const size = { shape, elementCount: elementCountOf(shape) }
  const values = asProtocol(() => flatElements(path, data, size))
  if (datatype === 'BYTES') {
    const encoder = new TextEncoder()
    return stringsOf(
      path,
      shape,
      values.map((text) => encoder.encode(String(text))),
    )
  }
  const type = typeOf(path, datatype)
  const read = asProtocol(() => elementReader(type))
  const elements = new type.array(values.length)
  for (const [i, value] of values.entries()) {
    const element = read(value)
    if (element === undefined) throw new ProtocolError(`element ${i} of ${path} must be of ${datatype}`)
    elements[i] = element as never
  }
  return { dtype: type.dtype, shape, data: elements as ArrayOf<DType> }
}

function stringsOf(path: string, shape: readonly number[], bytes: readonly Uint8Array[]): ClientStrings {
  return {
    dtype: 'string',
    shape,
    bytes,
    get data() {
      return bytes.map((one, i) => {
        try {
          return decodeUtf8(one)
        } catch (error) {
          throw new ProtocolError(`element ${i} of ${path} is not UTF-8 text`, {
            hint: 'Use bytes, which has the bytes of each element.',
            cause: error,
          })
        }
      })
    },
  }
}

/** Runs a check that client and server share. @throws {ProtocolError} instead of the error of the server. */
function asProtocol<Result>(check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    const { message } = error as Error
    const { sentence = message } = error as { readonly sentence?: string }
    throw new ProtocolError(sentence, { cause: error })
  }
}
