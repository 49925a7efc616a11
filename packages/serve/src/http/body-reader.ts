import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib'
import { InvalidRequestError, RequestTooLargeError } from '../errors.ts'
import type { RequestLimits } from '../service/server-state.ts'
import { HttpError } from './failure-status.ts'

/** The most chunks with contents of one body, so that a client cannot send 64 MiB byte by byte. */
const MOST_CHUNKS = 65_536

/**
 * Reads the body of one request: first bytes of a known number, then parts into memory of the caller. Nothing is read ahead, and
 * nothing is kept beyond the chunk that arrived last.
 */
export class BodyReader {
  readonly #limits: RequestLimits
  readonly #stream: Readable
  #chunk: Uint8Array = new Uint8Array()
  #read = 0
  #count = 0

  /** @throws {HttpError} for an encoding that is not gzip, deflate or identity. @throws {RequestTooLargeError} */
  constructor(request: IncomingMessage, limits: RequestLimits) {
    this.#limits = limits
    const length = request.headers['content-length']
    if (length !== undefined && Number(length) > limits.bytes) throw this.#tooLarge()
    this.#stream = decoded(request)
  }

  /** Reads exactly as many bytes as the parts have. @throws {InvalidRequestError} if the body ends before. */
  async readInto(parts: readonly Uint8Array[]): Promise<void> {
    for (const part of parts) {
      for (let at = 0; at < part.length;) {
        if (this.#chunk.length === 0 && !(await this.#next())) {
          throw new InvalidRequestError('the body must have all bytes of the binary inputs, but it ended before')
        }
        const taken = this.#take(part.length - at)
        part.set(taken, at)
        at += taken.length
      }
    }
  }

  /**
   * Reads bytes to new memory.
   *
   * @param byteSize the number of bytes, or undefined for all that come. @throws {InvalidRequestError} if the body ends before.
   */
  async read(byteSize: number | undefined): Promise<Uint8Array> {
    const limit = this.#limits.jsonBytes
    const parts: Uint8Array[] = []
    let size = 0
    while (size !== byteSize) {
      if (this.#chunk.length === 0 && !(await this.#next())) {
        if (byteSize === undefined) break
        throw new InvalidRequestError(
          `the body must have the ${byteSize} bytes of JSON that its header states, got ${size}`,
        )
      }
      const taken = this.#take(byteSize === undefined ? this.#chunk.length : byteSize - size)
      size += taken.length
      if (size > limit) throw new RequestTooLargeError(`the JSON of a request must have at most ${limit} bytes`)
      parts.push(taken)
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** @throws {InvalidRequestError} if the body has more bytes. */
  async expectEnd(): Promise<void> {
    if (this.#chunk.length === 0 && !(await this.#next())) return
    throw new InvalidRequestError('the body must have no bytes behind the binary inputs')
  }

  #take(most: number): Uint8Array {
    const taken = this.#chunk.subarray(0, most)
    this.#chunk = this.#chunk.subarray(taken.length)
    return taken
  }

  /** Waits for the next chunk. Returns false at the end of the body. */
  async #next(): Promise<boolean> {
    let chunk: Buffer | null
    while ((chunk = this.#stream.read() as Buffer | null) === null) {
      if (this.#stream.readableEnded) return false
      if (this.#stream.destroyed) throw this.#failure()
      await changeOf(this.#stream)
    }
    this.#chunk = chunk
    this.#read += chunk.length
    if (this.#read > this.#limits.bytes) throw this.#tooLarge()
    if (++this.#count > MOST_CHUNKS) throw new RequestTooLargeError(`a body must have at most ${MOST_CHUNKS} chunks`)
    return true
  }

  /** The error of a body that broke off. */
  #failure(): Error {
    const error = this.#stream.errored as NodeJS.ErrnoException | null
    if (error?.code?.startsWith('Z_') !== true) return error ?? new Error('the client is gone')
    return new InvalidRequestError('the body must be compressed as its content-encoding states', { cause: error })
  }

  #tooLarge(): RequestTooLargeError {
    return new RequestTooLargeError(`the body must have at most ${this.#limits.bytes} bytes`)
  }
}

/** Waits until a stream has something to read, or ends. */
function changeOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    const change = (): void => {
      stream.off('readable', change).off('end', change).off('close', change)
      resolve()
    }
    stream.on('readable', change).on('end', change).on('close', change)
  })
}

function decoded(request: IncomingMessage): Readable {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  switch (encoding) {
    case 'identity':
      return request
    case 'gzip':
      return through(request, createGunzip())
    case 'deflate':
      return through(request, createInflate())
    default:
      throw new HttpError(415, 'the content-encoding must be gzip, deflate or identity', {
        'accept-encoding': 'gzip, deflate',
      })
  }
}

/** Unlike pipeline(), this leaves the request open when its contents are wrong, because it still gets an answer. */
function through(request: IncomingMessage, inflate: Gunzip | Inflate): Readable {
  request.once('close', () => {
    if (!request.complete) inflate.destroy(new Error('the client is gone'))
  })
  // The reader gets the error when it reads. It may never read, because the request was refused before.
  inflate.on('error', () => {})
  return request.pipe(inflate)
}
