import { PoolsError, statusOf } from '../error-status.ts'
import type { Doorbell } from '../native/doorbell.ts'
import { discardAttachment, PeerGone, type Attachment, type Link } from '../native/link.ts'
import { LONGEST_TIMER } from '../native/readable.ts'
import { decodeBody, encodeBody, type Reader } from './body.ts'
import { HEADER_SIZE, operations, readHeader, writeHeader, type FrameHeader, type HeaderFields } from './frame.ts'
import { readError } from './model-codec.ts'

/** How long a driver may leave messages unread before a send gives up, in milliseconds. */
const SEND_TIMEOUT = 5000

/** What a driver lets this client use, as it said. */
export interface Agreement {
  readonly pools: number
  readonly poolBytes: number
  readonly requests: number
}

/** What the answer to a request is read with: the message lies in the socket's buffer until the next. */
type Read<T> = (link: Link, header: FrameHeader) => T

interface Pending {
  readonly operation: number
  readonly read: Read<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  /** Runs when the answer is there, even if nobody waits for it any more. */
  readonly settled: () => void
}

/** What a request says beside its body. */
export interface CallOptions {
  readonly timeout?: number | undefined
  readonly priority?: number
  readonly signal?: AbortSignal | undefined
  readonly attachments?: readonly Attachment[]
  /** Runs once, when the driver can't touch the request's memory any more: answered, or dead. */
  readonly settled?: () => void
  /** Gets what the driver gives for a request that nobody waits for any more, to be given back. */
  readonly late?: (value: never) => void
}

/**
 * The client's end of a channel: sends requests, and matches answers to them. Blocking calls read answers directly; for the
 * others the driver rings the doorbell.
 */
export class DriverChannel {
  readonly #link: Link
  readonly #doorbell: Doorbell
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #dead: PoolsError | undefined
  /** Settled by {@link hello}. */
  agreement: Agreement = { pools: 1, poolBytes: Number.MAX_SAFE_INTEGER, requests: 1 }

  /** Takes the link over. `install` makes the doorbell, given what a ring and its end lead to. */
  constructor(link: Link, install: (onRing: () => void, onEnd: () => void) => Doorbell) {
    this.#link = link
    this.#doorbell = install(
      () => this.#drain(),
      () => this.#die(),
    )
  }

  /** Introduces itself; the driver answers with its limits. @throws {PoolsError} and is closed */
  async hello(timeout: number | undefined): Promise<void> {
    try {
      const answer = this.request(
        operations.HELLO,
        {},
        (body) => ({
          pools: body.field('pools').u32(),
          poolBytes: body.field('poolBytes').number(),
          requests: body.field('requests').u32(),
        }),
        { timeout, attachments: this.#doorbell.attachments },
      )
      this.#doorbell.sent()
      this.agreement = await answer
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** The buffer in which requests are written behind their header. */
  get sent(): Link['sent'] {
    return this.#link.sent
  }

  /** Sends a message that has no answer. A driver that is gone needs none. */
  notify(operation: number, value: unknown, attachments: readonly Attachment[] = []): void {
    if (this.#dead !== undefined) return
    const length = this.#writeBody(value)
    try {
      this.#send(length, { operation, id: ++this.#lastId, descriptors: attachments.length }, attachments)
    } catch (error) {
      if (error !== this.#dead) throw error
    }
  }

  /** Sends a request with a body and awaits the answer's. @throws {PoolsError} */
  async request<T>(
    operation: number,
    value: unknown,
    read: (body: Reader) => T,
    options: CallOptions = {},
  ): Promise<T> {
    return this.call(operation, this.#writeBody(value), readBody(read), options)
  }

  /** Sends a request that was written into {@link sent} and awaits the answer. @throws {PoolsError} */
  call<T>(operation: number, length: number, read: Read<T>, options: CallOptions): Promise<T> {
    const { timeout, priority = 1, signal, attachments = [], settled = () => {}, late = ignore } = options
    return new Promise<T>((resolve, reject) => {
      let isGivenUp = false
      const giveUp = (error: unknown): void => {
        isGivenUp = true
        reject(error)
      }
      const answered = (value: T): void => (isGivenUp ? late(value as never) : resolve(value))
      try {
        signal?.throwIfAborted()
        this.#checkAlive()
        if (this.#pending.size >= this.agreement.requests)
          throw new PoolsError(
            'RESOURCE_EXHAUSTED_TRANSIENT',
            `at most ${this.agreement.requests} requests may wait for this driver`,
          )
        const id = ++this.#lastId
        this.#send(
          length,
          { operation, id, timeout, priority, descriptors: attachments.length, rings: operation !== operations.HELLO },
          attachments,
        )
        const stop = this.#giveUpOn(id, timeout, signal, giveUp)
        this.#pending.set(id, { operation, read, resolve: answered, reject, settled: () => (stop(), settled()) })
        this.#doorbell.ref()
        // Its answer comes without the bell, which the driver doesn't have before.
        if (operation === operations.HELLO) this.#drainFor(id, 20, true)
      } catch (error) {
        settled()
        reject(error)
      }
    })
  }

  /**
   * Sends a message, whose header is written here, and blocks until its answer. Answers to others that come before are given
   * to those who wait. If the deadline passes before, `settled` runs when the answer comes after all.
   */
  callSync<T>(
    operation: number,
    frame: Uint8Array,
    read: Read<T>,
    timeout: number | undefined,
    priority: number,
    settled: () => void,
  ): T {
    let isLeft = false
    const id = ++this.#lastId
    try {
      this.#checkAlive()
      const { sent } = this.#link
      sent.bytes.set(frame)
      writeHeader(sent.view, frame.length, { operation, id, timeout, priority })
      const end = timeout === undefined ? Infinity : performance.now() + timeout
      let attachments = this.#callLink(frame.length, timeout ?? -1)
      for (;;) {
        if (attachments === undefined) {
          isLeft = true
          this.#pending.set(id, { operation, read, resolve: ignore, reject: ignore, settled })
          // The driver rings for no blocking call.
          this.#drainFor(id, 1000, false)
          throw new PoolsError('MISSED_DEADLINE_TRANSIENT', `the driver did not answer within ${timeout} ms`)
        }
        const header = this.#checkAnswer(attachments)
        if (header.id === id) {
          if (header.operation !== operation) throw this.#breach('an answer to another request')
          return this.#read(read, header)
        }
        this.#settle(header)
        attachments = this.#receive(end === Infinity ? -1 : Math.max(end - performance.now(), 0))
      }
    } finally {
      if (!isLeft) settled()
    }
  }

  /** Ends the channel: what waits fails with `DEAD_OBJECT`. Idempotent. */
  close(): void {
    this.#die()
  }

  /**
   * Looks for an answer that comes without the bell, ever more rarely, until it is there.
   *
   * @param longest the most milliseconds between two looks.
   * @param isAwaited whether the process stays alive for it.
   */
  #drainFor(id: number, longest: number, isAwaited: boolean): void {
    const look = (wait: number): void => {
      this.#drain()
      if (!this.#pending.has(id)) return
      const timer = setTimeout(look, wait, Math.min(wait * 2, longest))
      if (!isAwaited) timer.unref()
    }
    const first = setImmediate(look, 1)
    if (!isAwaited) first.unref()
  }

  #giveUpOn(
    id: number,
    timeout: number | undefined,
    signal: AbortSignal | undefined,
    reject: (error: unknown) => void,
  ): () => void {
    let timer: NodeJS.Timeout | undefined
    const wait = (left: number): void => {
      if (left <= 0)
        return reject(new PoolsError('MISSED_DEADLINE_TRANSIENT', `the driver did not answer within ${timeout} ms`))
      const span = Math.min(left, LONGEST_TIMER)
      timer = setTimeout(wait, span, left - span)
    }
    if (timeout !== undefined) wait(timeout)
    const abort = (): void => {
      reject(signal!.reason)
      try {
        this.notify(operations.CANCEL, { id })
      } catch {
        // A driver that doesn't read can't be told; nobody would hear of it here.
      }
    }
    signal?.addEventListener('abort', abort, { once: true })
    return () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  #writeBody(value: unknown): number {
    const body = encodeBody(value)
    if (HEADER_SIZE + body.length > this.#link.sent.bytes.length)
      throw new PoolsError('INVALID_ARGUMENT', `a message must fit ${this.#link.sent.bytes.length} bytes`)
    this.#link.sent.bytes.set(body, HEADER_SIZE)
    return HEADER_SIZE + body.length
  }

  #send(length: number, fields: HeaderFields, attachments: readonly Attachment[]): void {
    writeHeader(this.#link.sent.view, length, fields)
    try {
      this.#link.send(length, attachments, SEND_TIMEOUT)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #drain(): void {
    try {
      // Without anybody who waits there is nothing to read, but what a later message will be found with.
      while (this.#pending.size > 0) {
        const attachments = this.#receive(0)
        if (attachments === undefined) return
        this.#settle(this.#checkAnswer(attachments))
      }
    } catch {
      // Whoever waited was told by #die.
    }
  }

  /** Gives an answer to who waits for it. */
  #settle(header: FrameHeader): void {
    const pending = this.#pending.get(header.id)
    if (pending === undefined || pending.operation !== header.operation)
      throw this.#breach('an answer that nobody waits for')
    this.#pending.delete(header.id)
    if (this.#pending.size === 0) this.#doorbell.unref()
    pending.settled()
    try {
      pending.resolve(this.#read(pending.read, header) as never)
    } catch (error) {
      pending.reject(error)
    }
  }

  #checkAnswer(attachments: readonly Attachment[]): FrameHeader {
    attachments.forEach(discardAttachment)
    const header = readHeader(this.#link.received.view)
    if (!header.isReply || attachments.length > 0) throw this.#breach('a message that is no answer')
    return header
  }

  #read<T>(read: Read<T>, header: FrameHeader): T {
    const status = statusOf(header.status)
    if (status === undefined || status === 'DEAD_OBJECT') throw this.#breach('an answer of unknown status')
    try {
      if (status === 'NONE') return read(this.#link, header)
      const body = this.#link.received.bytes.subarray(HEADER_SIZE, header.length)
      throw readError(decodeBody(body), status)
    } catch (error) {
      // What doesn't have the shape of an answer is no answer; failures that the driver reports pass.
      if (error instanceof PoolsError && error.status === status && status !== 'NONE') throw error
      throw this.#breach('an answer that makes no sense')
    }
  }

  #callLink(length: number, timeout: number): readonly Attachment[] | undefined {
    try {
      return this.#link.call(length, timeout)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #receive(timeout: number): readonly Attachment[] | undefined {
    try {
      return this.#link.receive(timeout)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** A peer that is gone or sends nonsense ends the channel. */
  #failed(error: unknown): unknown {
    if (error instanceof PeerGone) return this.#die()
    if (error instanceof PoolsError && error.status === 'GENERAL_FAILURE') return this.#breach('a malformed message')
    return error
  }

  /** The driver doesn't keep to the protocol: nothing that it says is believed any more. */
  #breach(what: string): PoolsError {
    return this.#die(`the driver sent ${what} and was disconnected`)
  }

  #die(sentence = 'the driver is gone'): PoolsError {
    if (this.#dead !== undefined) return this.#dead
    const dead = new PoolsError('DEAD_OBJECT', sentence, {
      hint: 'what the request would have written is undefined; start another driver and prepare the models again.',
    })
    this.#dead = dead
    this.#link.close()
    this.#doorbell.close()
    const waiting = [...this.#pending.values()]
    this.#pending.clear()
    for (const { settled, reject } of waiting) {
      settled()
      reject(dead)
    }
    return dead
  }

  #checkAlive(): void {
    if (this.#dead !== undefined) throw this.#dead
  }
}

const ignore = (): void => {}

/** Reads an answer's body. */
function readBody<T>(read: (body: Reader) => T): Read<T> {
  return ({ received }, { length }) => read(decodeBody(received.bytes.subarray(HEADER_SIZE, length)))
}
