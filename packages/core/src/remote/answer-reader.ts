import type { NativeAllocator } from '../memory/native-allocator.ts'
import type { Segment } from '../memory/segment.ts'
import type { RemoteAnswer, RemotePart } from './remote-call.ts'

/** A part of the value of an answer, and the memory to which it is copied. */
export interface AnswerPart {
  readonly target: Segment
  /** The number of the part in the kept value. */
  readonly index: number
}

/** The value that the bytes of an answer describe, and the parts that it has outside of them. */
export interface DecodedAnswer<T> {
  readonly value: T
  readonly parts: readonly AnswerPart[]
}

/** How the answers of one call are read. */
export interface AnswerFormat<T> {
  /**
   * Decodes the bytes of an answer, once. They are not trusted, and a copy.
   *
   * @param hasParts whether the process keeps a value. Without one, an answer that refers to parts is not valid.
   */
  decode(bytes: Uint8Array<ArrayBuffer>, hasParts: boolean): DecodedAnswer<T>
  /** Returns the error for an answer that no process gives unless it is damaged. */
  malformed(what: string): Error
  /** The largest answer in bytes. The default is what the memory has. */
  readonly mostBytes?: number
}

const COUNT_SIZE = 8

/**
 * Reads the answer of one call of another process, whose value can have parts: its own bytes if they do not fit into the body, and those that
 * the bytes describe.
 */
export class AnswerReader<T> {
  readonly #allocator: NativeAllocator
  readonly #format: AnswerFormat<T>
  #long: Segment | undefined
  #decoded: DecodedAnswer<T> | undefined

  /** @param allocator of the memory to which a long answer is copied. */
  constructor(allocator: NativeAllocator, format: AnswerFormat<T>) {
    this.#allocator = allocator
    this.#format = format
  }

  /** Returns where parts are copied to, as {@link RemoteCall.parts} does. */
  parts(answer: RemoteAnswer): readonly RemotePart[] {
    if (this.#decoded !== undefined) return []
    if (answer.isLong && this.#long === undefined) {
      this.#long = this.#allocator.allocate(this.#sizeOf(answer), COUNT_SIZE)
      return [partOf({ target: this.#long, index: 0 })]
    }
    this.#decoded = this.#format.decode(this.#bytesOf(answer), true)
    return this.#decoded.parts.map(partOf)
  }

  /** Returns the value, whose parts have arrived. */
  read(answer: RemoteAnswer): T {
    return (this.#decoded ??= this.#format.decode(this.#bytesOf(answer), false)).value
  }

  #sizeOf({ body }: RemoteAnswer): number {
    const size = body.length === COUNT_SIZE ? Number(Buffer.from(body).readBigUInt64LE()) : Number.NaN
    if (size <= (this.#format.mostBytes ?? Number.MAX_SAFE_INTEGER)) return size
    throw this.#format.malformed('the size of the answer')
  }

  /** The bytes are copied, because the process can write to the memory as long as it runs. */
  #bytesOf({ body }: RemoteAnswer): Uint8Array<ArrayBuffer> {
    if (this.#long === undefined) return new Uint8Array(body)
    const { block, base, byteSize } = this.#long
    return new Uint8Array(block.bytes.subarray(base, base + byteSize))
  }
}

/** Returns the request for a part. */
function partOf({ target, index }: AnswerPart): RemotePart {
  const body = Buffer.alloc(4)
  body.writeUInt32LE(index)
  return { target, body }
}
