import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib'
import { InvalidRequestError, RequestTooLargeError } from '../errors.ts'
import type { RequestRecord } from '../log/request-record.ts'
import { ByteShare, freeBytes } from '../service/byte-budget.ts'
import type { RequestLimits, ServerState } from '../service/server-state.ts'
import type { Exchange } from './exchange.ts'
import { HttpError } from './failure-status.ts'

/** The most chunks with contents of one body, so that a client cannot send 64 MiB byte by byte. */
const MOST_CHUNKS = 65_536

const NO_BYTES = Buffer.alloc(0)

const NOTHING: readonly Uint8Array[] = []

/** The limits of the request bodies of a server. */
export type BodyLimits = Pick<ServerState, 'limits' | 'budget'>

/**
 * Reads the body of one request: first bytes of a known number, then parts into memory of the caller. Nothing is read ahead, and
 * nothing is kept beyond the chunk that arrived last.
 */
export class BodyReader {
  readonly #limits: RequestLimits
  readonly #request: IncomingMessage
  readonly #record: RequestRecord
  readonly #stream: Readable
  /** The chunk that arrived last, and where its unread part begins. */
  #chunk: Buffer = NO_BYTES
  #at = 0
  readonly #share: ByteShare
  /** The size of the body, or 0 if it is not known. */
  readonly #expected: number = 0
  #read = 0
  #count = 0
  /** Called when the stream has changed. Undefined until the reader has waited for it. */
  #wake: (() => void) | undefined

  /** @throws {HttpError} for an encoding that is not gzip, deflate or identity. @throws {RequestTooLargeError} */
  constructor(
    { request, cancellation, record }: Pick<Exchange, 'request' | 'cancellation' | 'record'>,
    { limits, budget }: BodyLimits,
  ) {
    this.#limits = limits
    this.#share = new ByteShare(budget, cancellation)
    const length = Number(request.headers['content-length'] ?? 0)
    if (length > limits.bytes) throw this.#tooLarge()
    this.#request = request
    this.#record = record
    this.#stream = decoded(request)
    // The size of other bodies is known only once they have arrived.
    if (this.#stream === request) this.#expected = length
  }

  /** Gives the share of the server's memory back, once the request is answered. */
  release(): void {
    this.#share.release()
  }

  /**
   * Waits until there is memory for a body of a known size. Awaited, it also lets Node.js parse what has arrived with the head of the request.
   *
   * @returns undefined if there is enough.
   */
  start(): Promise<void> | undefined {
    return this.#share.reserve(this.#expected)
  }

  /**
   * Reserves memory for bytes that come next, before there is a place for them. The size of a body in chunks is not known before.
   *
   * @param copiedBytes the bytes that are copied from shared memory.
   * @returns undefined if there is enough. @throws {RequestTooLargeError}
   */
  reserve(byteSize: number, copiedBytes: number): Promise<void> | undefined {
    const whole = this.#read - this.#unread + byteSize
    if (whole > this.#limits.bytes) throw this.#tooLarge()
    return this.#share.reserve(whole + copiedBytes)
  }

  /**
   * Reads exactly as many bytes as the parts have.
   *
   * @returns undefined if they have arrived. @throws (rejects with) {InvalidRequestError} if the body ends before.
   */
  readInto(parts: readonly Uint8Array[]): Promise<void> | undefined {
    const rest = this.#takeInto(parts)
    return rest.length === 0 ? undefined : this.#awaitInto(rest)
  }

  /**
   * Reads bytes, which stay until the next of them are read.
   *
   * @param byteSize the number of bytes, or undefined for all that come. @param limit the most bytes.
   * @returns a promise if they have not arrived.
   * @throws {InvalidRequestError} if the body ends before. @throws {RequestTooLargeError}
   */
  read(byteSize: number | undefined, limit: number): Buffer | Promise<Buffer> {
    if (this.#unread === 0) this.#takeArrived()
    if (byteSize !== undefined && byteSize <= Math.min(limit, this.#unread)) return this.#take(byteSize)
    return this.#awaitBytes(byteSize, limit)
  }

  async #awaitBytes(byteSize: number | undefined, limit: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let size = 0
    while (size !== byteSize) {
      if (this.#unread === 0 && !this.#takeArrived() && !(await this.#next())) {
        if (byteSize === undefined) break
        throw new InvalidRequestError(
          `the body must have the ${byteSize} bytes of JSON that its header states, got ${size}`,
        )
      }
      const taken = this.#take(byteSize === undefined ? this.#unread : Math.min(byteSize - size, this.#unread))
      size += taken.length
      if (size > limit) throw new RequestTooLargeError(`the JSON of a request must have at most ${limit} bytes`)
      parts.push(taken)
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** @returns undefined if the body has ended. @throws (rejects with) {InvalidRequestError} if it has more bytes. */
  expectEnd(): Promise<void> | undefined {
    return this.#unread === 0 && this.#hasEnded() ? undefined : this.#awaitEnd()
  }

  async #awaitEnd(): Promise<void> {
    if (this.#unread === 0 && !(await this.#next())) return
    throw new InvalidRequestError('the body must have no bytes behind the binary inputs')
  }

  /** Copies what has arrived. @returns what is left of the parts. */
  #takeInto(parts: readonly Uint8Array[]): readonly Uint8Array[] {
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!
      for (let at = 0; at < part.length;) {
        if (this.#unread === 0 && !this.#takeArrived()) return [part.subarray(at), ...parts.slice(i + 1)]
        const copied = this.#chunk.copy(part, at, this.#at)
        at += copied
        this.#at += copied
        // Node.js copies each chunk of a body into memory of its own. Those of zlib may have more contents later.
        if (this.#unread === 0 && this.#stream === this.#request) this.#forget()
      }
    }
    return NOTHING
  }

  #forget(): void {
    freeBytes(this.#chunk)
    this.#chunk = NO_BYTES
    this.#at = 0
  }

  async #awaitInto(parts: readonly Uint8Array[]): Promise<void> {
    for (let rest = parts; rest.length > 0; rest = this.#takeInto(rest)) {
      if (await this.#next()) continue
      throw new InvalidRequestError('the body must have all bytes of the binary inputs, but it ended before')
    }
  }

  get #unread(): number {
    return this.#chunk.length - this.#at
  }

  #take(byteSize: number): Buffer {
    return this.#chunk.subarray(this.#at, (this.#at += byteSize))
  }

  /** Waits for the next chunk. Returns false at the end of the body. */
  async #next(): Promise<boolean> {
    // Until then, the connection is not read. A body in the same segment as its head is parsed in the meantime.
    const waiting = this.#share.reserve(this.#needed)
    if (waiting !== undefined) await waiting
    while (!this.#takeArrived()) {
      if (this.#hasEnded()) return false
      if (this.#stream.destroyed) throw this.#failure()
      await this.#change()
    }
    return true
  }

  /** Waits until the stream has something to read, or ends. */
  #change(): Promise<void> {
    if (this.#wake === undefined) {
      const wake = (): void => this.#wake?.()
      this.#stream.on('readable', wake).on('end', wake).on('close', wake)
    }
    return new Promise((resolve) => (this.#wake = resolve))
  }

  /** The memory that must be reserved before the next chunk. */
  get #needed(): number {
    return Math.max(this.#expected, this.#read)
  }

  /** Takes the next chunk, if there is memory for it and it has arrived. */
  #takeArrived(): boolean {
    if (this.#share.lacks(this.#needed) > 0) return false
    const chunk = this.#stream.read() as Buffer | null
    if (chunk === null) return false
    this.#chunk = chunk
    this.#at = 0
    this.#read += chunk.length
    this.#record.bytesIn = this.#read
    if (this.#read > this.#limits.bytes) throw this.#tooLarge()
    if (++this.#count > MOST_CHUNKS) throw new RequestTooLargeError(`a body must have at most ${MOST_CHUNKS} chunks`)
    return true
  }

  /** Whether all bytes were taken. A body without an encoding has ended before its stream says so, if its size was known even before that. */
  #hasEnded(): boolean {
    if (this.#stream !== this.#request) return this.#stream.readableEnded
    if (this.#expected > 0 && this.#read === this.#expected) return true
    return this.#request.complete && this.#request.readableLength === 0
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
