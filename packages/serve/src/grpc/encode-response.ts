import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import {
  bytesForBody,
  KeptHeads,
  parametersOfRange,
  type AnsweredOutput,
  type InferResponse,
} from '../protocol/infer-response.ts'

// The numbers of the fields are those of `proto/open_inference.proto`.

const NO_BYTES = new Uint8Array()

/** The bytes of a message, which are copied to the place from which the connection sends them. A `Buffer` is one, too. */
export type Message = Pick<Buffer, 'byteLength' | 'copy'>

/** The parts of an answer around the bytes of its outputs. The first one is in front of those of the first output. */
type Frame = readonly Uint8Array[]

const keptFrames = new KeptHeads<Frame>()

/** A `ModelInferResponse`. The bytes of its outputs are those of the tensors, whose memory must stay until they are copied. */
class InferMessage implements Message {
  readonly byteLength: number
  readonly #frame: Frame
  readonly #contents: readonly Uint8Array[]

  constructor(frame: Frame, contents: readonly Uint8Array[]) {
    this.#frame = frame
    this.#contents = contents
    let size = 0
    for (let i = 0; i < frame.length; i++) size += frame[i]!.length
    for (let i = 0; i < contents.length; i++) size += contents[i]!.length
    this.byteLength = size
  }

  /** Copies all bytes. @returns their number */
  copy(target: Uint8Array, start: number = 0): number {
    let at = start
    for (let i = 0; i < this.#frame.length; i++) {
      const part = this.#frame[i]!
      target.set(part, at)
      at += part.length
      const contents = this.#contents[i]
      if (contents === undefined) break
      target.set(contents, at)
      at += contents.length
    }
    return this.byteLength
  }
}

/**
 * Encodes an answer as a `ModelInferResponse`. Messages of a library would be several objects for each answer, and their bytes would be copied
 * three times.
 */
export function encodeInferResponse(response: InferResponse): Message {
  const contents: Uint8Array[] = []
  for (const { tensor, written } of response.outputs) {
    contents.push(written === undefined ? bytesForBody(tensor) : NO_BYTES)
  }
  return new InferMessage(keptFrames.find(response) ?? keptFrames.add(response, frameOf(response, contents)), contents)
}

function frameOf({ model, id, outputs }: InferResponse, contents: readonly Uint8Array[]): Frame {
  const writer = new BinaryWriter()
  writeText(writer, 1, model.name)
  writeText(writer, 2, model.version)
  if (id !== undefined) writeText(writer, 3, id)
  for (const output of outputs) writeMessage(writer, 5, () => writeOutput(writer, output))
  const parts = contents.map(({ length }) => writer.tag(6, WireType.LengthDelimited).uint32(length).finish())
  return parts.length === 0 ? [writer.finish()] : parts
}

/** The field `parameters` of a response that says whether it is the last one of its request. */
const finalParameters = [false, true].map((isFinal) => {
  const writer = new BinaryWriter()
  writeParameter(writer, 'triton_final_response', isFinal)
  return writer.finish()
}) as [Uint8Array, Uint8Array]

/**
 * Encodes an answer of a stream.
 *
 * @param response what {@link encodeInferResponse} returned. @param isFinal whether no further answer to its request follows.
 */
export function encodeStreamResponse(response: Message, isFinal: boolean): Buffer {
  const parameters = finalParameters[isFinal ? 1 : 0]
  const size = response.byteLength + parameters.length
  const head = new BinaryWriter().tag(2, WireType.LengthDelimited).uint32(size).finish()
  const bytes = Buffer.allocUnsafe(head.length + size)
  bytes.set(head)
  response.copy(bytes, head.length)
  bytes.set(parameters, bytes.length - parameters.length)
  return bytes
}

function writeOutput(writer: BinaryWriter, { chosen: { spec, range }, tensor, written }: AnsweredOutput): void {
  writeText(writer, 1, spec.name)
  writeText(writer, 2, spec.datatype)
  if (tensor.shape.length > 0) {
    writeMessage(writer, 3, () => {
      for (const size of tensor.shape) writer.int64(size)
    })
  }
  if (written === undefined) return
  for (const [name, value] of Object.entries(parametersOfRange(range!, written))) writeParameter(writer, name, value)
}

/** Writes an element of the field `parameters`, which has the same number in responses and outputs. */
function writeParameter(writer: BinaryWriter, name: string, value: string | number | boolean): void {
  writeMessage(writer, 4, () => {
    writeText(writer, 1, name)
    writeMessage(writer, 2, () => {
      if (typeof value === 'string') writeText(writer, 3, value)
      else if (typeof value === 'number') writer.tag(2, WireType.Varint).int64(value)
      else writer.tag(1, WireType.Varint).bool(value)
    })
  })
}

function writeText(writer: BinaryWriter, field: number, text: string): void {
  if (text !== '') writer.tag(field, WireType.LengthDelimited).string(text)
}

function writeMessage(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork()
  write()
  writer.join()
}
