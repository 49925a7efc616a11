import { PoolsError } from '../error-status.ts'
import { DESCRIPTORS } from './local-socket.ts'
import type { TensorLocation } from './tensor-location.ts'

/** The text that the owner of named memory sends, as JSON. */
export interface MemoryDescription {
  readonly identity: string
  readonly label: string
  /** In the order of the descriptors. */
  readonly chunks: readonly { readonly id: number; readonly byteSize: number }[]
  readonly tensors: Readonly<Record<string, TensorLocation>>
}

/** A message and the number of its descriptors. */
export interface NamedMessage {
  readonly bytes: Uint8Array
  readonly descriptors: number
}

const MAGIC = Buffer.from('TNSM')
const VERSION = 1

/** The header: magic, u16 version, index, messages, descriptors, u32 length of the text; little-endian. */
const HEADER = 16

/** The most bytes of text in one message. */
const PIECE = 32_768

/** The most bytes of a message. */
export const MESSAGE_MAXIMUM: number = HEADER + PIECE

/** The most messages: enough for 1024 chunks. */
const MESSAGES = 64

/** Describes memory as messages. @throws {PoolsError} if there are too many chunks or names. */
export function encodeDescription(description: MemoryDescription): readonly NamedMessage[] {
  const text = Buffer.from(JSON.stringify(description))
  const { length: chunks } = description.chunks
  const count = Math.max(Math.ceil(text.length / PIECE), Math.ceil(chunks / DESCRIPTORS), 1)
  if (count > MESSAGES) {
    throw new PoolsError('RESOURCE_EXHAUSTED_PERSISTENT', `memory with ${chunks} chunks cannot be exported`, {
      hint: 'Open the memory with larger chunks, and name fewer tensors.',
    })
  }
  return Array.from({ length: count }, (_, index) => {
    const piece = text.subarray(index * PIECE, (index + 1) * PIECE)
    const descriptors = Math.min(Math.max(chunks - index * DESCRIPTORS, 0), DESCRIPTORS)
    const bytes = Buffer.alloc(HEADER + piece.length)
    MAGIC.copy(bytes)
    ;[VERSION, index, count, descriptors].forEach((value, i) => bytes.writeUInt16LE(value, 4 + 2 * i))
    bytes.writeUInt32LE(piece.length, 12)
    piece.copy(bytes, HEADER)
    return { bytes, descriptors }
  })
}

/** The messages of one memory as far as they have come, from a peer that can be wrong. */
export class DescriptionReader {
  #next = 0
  #count = 1
  readonly #pieces: Buffer[] = []

  get isComplete(): boolean {
    return this.#next === this.#count
  }

  /** Takes the next message, with the number of descriptors that came with it. @throws {PoolsError} if it is malformed. */
  add(message: Buffer, descriptors: number): void {
    if (message.length < HEADER || !message.subarray(0, 4).equals(MAGIC)) throw malformed('the magic bytes')
    const [version, index, count, told] = [4, 6, 8, 10].map((at) => message.readUInt16LE(at)) as Four
    if (version !== VERSION) {
      throw new PoolsError('INVALID_ARGUMENT', `the memory must be described in version ${VERSION}, got ${version}`, {
        hint: 'Use the same version of @tenon/pools in both programs.',
      })
    }
    if (index !== this.#next || count < 1 || count > MESSAGES || (index > 0 && count !== this.#count))
      throw malformed(`message ${index} of ${count}`)
    if (told !== descriptors) throw malformed(`${told} descriptors instead of ${descriptors}`)
    if (message.readUInt32LE(12) !== message.length - HEADER) throw malformed('the length of its text')
    this.#count = count
    this.#next++
    this.#pieces.push(Buffer.from(message.subarray(HEADER)))
  }

  /** Reads the text of all messages. @throws {PoolsError} if it is malformed. */
  read(descriptors: number): MemoryDescription {
    let value: unknown
    try {
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(this.#pieces)))
    } catch {
      throw malformed('text that is not JSON')
    }
    if (typeof value !== 'object' || value === null) throw malformed('text that is not an object')
    const { identity, label, chunks, tensors } = value as Partial<MemoryDescription>
    if (typeof identity !== 'string' || typeof label !== 'string') throw malformed('no identity or label')
    if (!Array.isArray(chunks) || chunks.length !== descriptors) throw malformed('other chunks than descriptors')
    if (typeof tensors !== 'object' || tensors === null) throw malformed('no tensors')
    if (
      chunks.some(
        (chunk) => typeof chunk !== 'object' || chunk === null || !isCount(chunk.id) || !isCount(chunk.byteSize),
      )
    )
      throw malformed('chunks without number or size')
    return { identity, label, chunks: chunks as MemoryDescription['chunks'], tensors }
  }
}

type Four = [number, number, number, number]

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const malformed = (what: string): PoolsError =>
  new PoolsError('INVALID_ARGUMENT', `the description of the memory is malformed: it has ${what}`)
