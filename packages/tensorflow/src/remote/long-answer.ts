import { NativeError, type Segment } from '@tenon/core'
import type { RemoteAnswer, RemoteHost, RemotePart } from '@tenon/core/internal'

/** The body of an answer, which is fetched if it does not fit. */
export class LongAnswer {
  readonly #host: RemoteHost
  #long: Segment | undefined

  constructor(host: RemoteHost) {
    this.#host = host
  }

  /** Returns where the body is copied to, once; nothing for a body that fits. */
  parts(answer: RemoteAnswer): readonly RemotePart[] {
    if (!answer.isLong || this.#long !== undefined) return []
    const size = answer.body.length === 8 ? Number(Buffer.from(answer.body).readBigUInt64LE()) : Number.NaN
    if (!Number.isSafeInteger(size)) throw damaged('the size of the answer')
    this.#long = this.#host.allocator.allocate(size, 8)
    return [partOf(this.#long, 0)]
  }

  /** Returns a copy of the body, because the worker can write to its memory as long as it runs. */
  bytes({ body }: RemoteAnswer): Buffer {
    return this.#long === undefined ? Buffer.from(body) : copyOf(this.#long)
  }
}

/** Returns the request for a part of a kept value. */
export function partOf(target: Segment, index: number): RemotePart {
  const body = Buffer.alloc(4)
  body.writeUInt32LE(index)
  return { target, body }
}

/** Returns a copy of the bytes of a segment. */
export const copyOf = ({ block, base, byteSize }: Segment): Buffer =>
  Buffer.from(block.bytes.subarray(base, base + byteSize))

/** The error for an answer that no worker gives unless it is damaged. */
export const damaged = (what: string): NativeError =>
  new NativeError(`the worker answered with ${what}, which is not valid`)
