import { fromBinary, type DescMessage, type MessageShape } from '@bufbuild/protobuf'
import { WireType } from '@bufbuild/protobuf/wire'
import { InvalidRequestError, RequestTooLargeError } from '../errors.ts'
import { ModelInferRequestSchema, type ModelInferRequest } from '../generated/open_inference_pb.js'

/** The most fields of a message. Each becomes an object, which has a hundred times the bytes of the smallest field. */
const MOST_FIELDS = 2 ** 18

/** The most bytes of a message that has no tensors. */
const MOST_BYTES = 2 ** 20

/** The field `raw_input_contents` of `ModelInferRequest`. */
const RAW_INPUT_CONTENTS = 7

/** The field `shape` of `ModelInferRequest.InferInputTensor`. */
const SHAPE = 3

/** Reads a message without tensors. @throws {InvalidRequestError} if the bytes are none. @throws {RequestTooLargeError} */
export function decodeMessage<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  if (bytes.length > MOST_BYTES) {
    throw new RequestTooLargeError(`a ${schema.name} must have at most ${MOST_BYTES} bytes, got ${bytes.length}`)
  }
  return decode(schema, bytes)
}

/** The parts of a `ModelInferRequest`, without the objects of a message. */
export interface RequestParts {
  /** The bytes of the fields before `raw_input_contents`. Undefined if others follow, or they cannot be read. */
  readonly headLength: number | undefined
  /** The elements of `raw_input_contents`. */
  readonly raw: readonly Uint8Array[]
}

/**
 * Divides the message of an inference into its parts.
 *
 * @param limit the most bytes without `raw_input_contents`.
 * @throws {InvalidRequestError} for a field in the form of another type, or one that is longer than its message. The library would miss where it ends,
 * and read other fields than these.
 * @throws {RequestTooLargeError} if its objects would take too much memory.
 */
export function divideInferRequest(bytes: Buffer, limit: number): RequestParts {
  const envelope = new Envelope(limit)
  envelope.add(bytes, bytes.length, REQUEST)
  return envelope.parts(bytes.length)
}

/** Reads the message of an inference, which {@link divideInferRequest} has checked. @throws {InvalidRequestError} if the bytes are none. */
export const decodeInferRequest = (bytes: Uint8Array): ModelInferRequest => decode(ModelInferRequestSchema, bytes)

function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false })
  } catch (error) {
    throw notA(schema, error)
  }
}

/** Counts the fields of a message and finds its tensors, before any of it becomes an object. */
class Envelope {
  readonly #limit: number
  #bytes = 0
  #fields = 0
  #at = 0
  readonly #raw: Uint8Array[] = []
  /** Where `raw_input_contents` begin. */
  #headEnd = -1
  /** Whether all fields can be read, and `raw_input_contents` are the last ones. */
  #isPlain = true

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Counts a part of a message up to what cannot be read, where its reader fails. @throws {InvalidRequestError | RequestTooLargeError} */
  add(bytes: Uint8Array, end: number, fields: Fields): void {
    while (this.#at < end) {
      const from = this.#at
      const tag = this.#uint32(bytes)
      const field = tag >>> 3
      const wire = tag & 7
      const known = fields[field]
      if (known?.wires.includes(wire) === false) throw notA(ModelInferRequestSchema)
      this.#fields++
      if (wire === WireType.Varint) this.#uint32(bytes)
      else if (wire === WireType.Bit64) this.#at += 8
      else if (wire === WireType.Bit32) this.#at += 4
      else if (wire === WireType.LengthDelimited) {
        const length = this.#uint32(bytes)
        const next = this.#at + length
        if (next > end) {
          this.#isPlain = false
          return
        }
        // A shape is packed, and each of its bytes can be a size.
        if (fields === INPUT && field === SHAPE) this.#fields += length
        if (known?.fields !== undefined) {
          this.add(bytes, next, known.fields)
          if (this.#at !== next) throw notA(ModelInferRequestSchema)
        } else if (known?.packed !== undefined) {
          if (!endsWhole(bytes, this.#at, next, known.packed)) throw notA(ModelInferRequestSchema)
        } else if (fields === REQUEST && field === RAW_INPUT_CONTENTS)
          this.#addRaw(bytes.subarray(this.#at, next), from)
        this.#at = next
      } else this.#isPlain = false
      if (fields === REQUEST && field !== RAW_INPUT_CONTENTS) {
        this.#bytes += this.#at - from
        if (this.#headEnd !== -1) this.#isPlain = false
      }
      this.#check()
    }
  }

  #addRaw(contents: Uint8Array, from: number): void {
    if (this.#headEnd === -1) this.#headEnd = from
    this.#raw.push(contents)
  }

  /** The parts of a message of this length, which was added. */
  parts(length: number): RequestParts {
    const hasHead = this.#isPlain && this.#at === length && this.#headEnd !== -1
    return { headLength: hasHead ? this.#headEnd : undefined, raw: this.#raw }
  }

  #check(): void {
    if (this.#bytes > this.#limit) {
      throw new RequestTooLargeError(`a message without raw_input_contents must have at most ${this.#limit} bytes`)
    }
    if (this.#fields > MOST_FIELDS) {
      throw new RequestTooLargeError(`a message must have at most ${MOST_FIELDS} fields and sizes`)
    }
  }

  /** The lower 32 bits of a number, which are all that readers of messages take for tags and lengths. */
  #uint32(bytes: Uint8Array): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[this.#at++] ?? 0
      if (shift < 32) value |= (byte & 127) << shift
      if (byte < 128) return value >>> 0
    }
  }
}

const notA = ({ name }: DescMessage, cause?: unknown): InvalidRequestError =>
  new InvalidRequestError(`the message must be a ${name}`, { cause })

/** Whether the last number of a wire type in a part of a message ends with it. */
function endsWhole(bytes: Uint8Array, start: number, end: number, wire: WireType): boolean {
  if (wire === WireType.Varint) return start === end || bytes[end - 1]! < 128
  return (end - start) % (wire === WireType.Bit64 ? 8 : 4) === 0
}

/** The fields of a message by their numbers, which are those of `proto/open_inference.proto`. */
type Fields = Readonly<Record<number, Field>>

/** A field of a message: the wire types that it can have, that of the numbers in its bytes, and the fields of the messages in it. */
interface Field {
  readonly wires: readonly WireType[]
  readonly packed?: WireType
  readonly fields?: Fields
}

const { Varint, Bit64, LengthDelimited, Bit32 } = WireType

const varint: Field = { wires: [Varint] }
const bytes: Field = { wires: [LengthDelimited] }
const message = (fields: Fields): Field => ({ wires: [LengthDelimited], fields })
/** Numbers, each on its own or all as bytes. */
const numbers = (wire: WireType): Field => ({ wires: [wire, LengthDelimited], packed: wire })

const PARAMETER: Fields = { 1: varint, 2: varint, 3: bytes, 4: { wires: [Bit64] }, 5: varint }

/** Of a map of parameters: a key and a parameter. */
const ENTRY: Fields = { 1: bytes, 2: message(PARAMETER) }

const CONTENTS: Fields = {
  1: numbers(Varint),
  2: numbers(Varint),
  3: numbers(Varint),
  4: numbers(Varint),
  5: numbers(Varint),
  6: numbers(Bit32),
  7: numbers(Bit64),
  8: bytes,
}

const INPUT: Fields = { 1: bytes, 2: bytes, [SHAPE]: numbers(Varint), 4: message(ENTRY), 5: message(CONTENTS) }

const OUTPUT: Fields = { 1: bytes, 2: message(ENTRY) }

const REQUEST: Fields = {
  1: bytes,
  2: bytes,
  3: bytes,
  4: message(ENTRY),
  5: message(INPUT),
  6: message(OUTPUT),
  [RAW_INPUT_CONTENTS]: bytes,
}
