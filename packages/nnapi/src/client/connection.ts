import { LONGEST_TIMER } from '@tenon/core/internal'
import { errorStatus, PoolsError } from '@tenon/pools'
import { statusOf, type Attachment } from '@tenon/pools/internal'
import type { Doorbell } from '../link/doorbell.ts'
import { discardAttachment, PeerGone, type Link } from '../link/link.ts'
import { decodeBody, number, type Read as ReadBody, record, u32, writeBody } from '../wire/body.ts'
import { HEADER_SIZE, operations, readHeader, writeHeader, type FrameHeader, type HeaderFields } from '../wire/frame.ts'
import { readError } from '../wire/model-codec.ts'
import { type Agreement, type PoolReceiver, SentPools } from './sent-pools.ts'

/** How long a driver may leave messages unread before a send gives up, in milliseconds. */
const SEND_TIMEOUT = 5000

/** The time for the last message of a driver that has ended, in milliseconds. */
const LAST_MESSAGE_TIME = 1000
const END_PERIOD = 5

/** What to do when a driver is gone, for a client that stays without it and for one that connects again. */
const WITHOUT_DRIVER = 'Start another driver and prepare the models again.'
const BEFORE_RECONNECTING = 'Make the request again, which waits until the driver is connected.'

/** Reads the answer to a request, which lies in the link's buffer until the next message. */
type Read<T> = (link: Link, header: FrameHeader) => T

interface Pending {
  readonly operation: number
  readonly read: Read<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  /** Runs when the answer arrives, even if the caller has stopped waiting. */
  readonly settled: () => void
}

export interface CallOptions {
  readonly timeout?: number | undefined
  readonly priority?: number
  readonly signal?: AbortSignal | undefined
  readonly attachments?: readonly Attachment[]
  /** Runs once, when the driver no longer uses the request's memory: it has answered, or is dead. */
  readonly settled?: () => void
  /** Receives the answer to a request whose caller has stopped waiting, and releases what the driver created. */
  readonly late?: (value: never) => void
}

/**
 * The client's end of a channel, which sends requests and matches answers to them, and knows which pools the driver has. Blocking
 * calls read answers directly. For the others the driver rings the doorbell.
 */
export class Connection implements PoolReceiver {
  readonly #link: Link
  readonly #doorbell: Doorbell
  readonly #reconnects: boolean
  readonly #pending = new Map<number, Pending>()
  readonly #endListeners: (() => void)[] = []
  #lastId = 0
  #dead: PoolsError | undefined
  agreement: Agreement = { pools: 1, poolBytes: Number.MAX_SAFE_INTEGER, requests: 1 }
  /** The pools that the driver has. */
  readonly pools: SentPools = new SentPools(this)

  /**
   * Takes the link over.
   *
   * @param install makes the doorbell, which calls these functions when it rings and when it ends.
   * @param reconnects whether the client connects again when this connection has ended.
   */
  constructor(link: Link, install: (onRing: () => void, onEnd: () => void) => Doorbell, reconnects: boolean) {
    this.#link = link
    this.#reconnects = reconnects
    this.#doorbell = install(
      () => this.#drain(),
      () => this.#awaitEnd(LAST_MESSAGE_TIME),
    )
  }

  /** Introduces itself; the driver answers with its limits. @throws {PoolsError} and is closed */
  async hello(timeout: number | undefined): Promise<void> {
    try {
      const read = record<Agreement>({ pools: u32, poolBytes: number, requests: u32 })
      const options = { timeout, attachments: this.#doorbell.attachments }
      const answer = this.request(operations.HELLO, {}, read, options)
      this.#doorbell.sent()
      this.agreement = await answer
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Whether the driver can still be asked. */
  get isAlive(): boolean {
    return this.#dead === undefined
  }

  /** Calls a function once, when the driver is dead or the channel is closed. */
  onEnd(listener: () => void): void {
    if (this.isAlive) this.#endListeners.push(listener)
    else listener()
  }

  get sent(): Link['sent'] {
    return this.#link.sent
  }

  /** Sends a message without an answer, unless the driver has disconnected. */
  notify(operation: number, value: unknown, attachments: readonly Attachment[] = []): void {
    if (this.#dead !== undefined) return
    const length = writeBody(this.#link.sent.bytes, value)
    try {
      this.#send(length, { operation, id: ++this.#lastId, descriptors: attachments.length }, attachments, true)
    } catch (error) {
      if (error !== this.#dead) throw error
    }
  }

  async request<T>(operation: number, value: unknown, read: ReadBody<T>, options: CallOptions = {}): Promise<T> {
    return this.call(operation, writeBody(this.#link.sent.bytes, value), readBody(read), options)
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
        const { requests } = this.agreement
        if (this.#pending.size >= requests)
          throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `at most ${requests} requests may wait for this driver`)
        const id = ++this.#lastId
        const fields = { operation, id, timeout, priority, descriptors: attachments.length }
        this.#send(length, { ...fields, rings: operation !== operations.HELLO }, attachments)
        const stop = this.#giveUpOn(id, timeout, signal, giveUp)
        this.#pending.set(id, { operation, read, resolve: answered, reject, settled: () => (stop(), settled()) })
        this.#doorbell.ref()
        // The driver answers HELLO without the doorbell, which it receives with this message.
        if (operation === operations.HELLO) this.#drainFor(id, 20, true)
      } catch (error) {
        settled()
        reject(error)
      }
    })
  }

  /** Blocks until the answer; other answers go to their callers. After the deadline, `settled` runs when it arrives. */
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
      let attachments = this.#guard(() => this.#link.call(frame.length, timeout ?? -1))
      for (;;) {
        if (attachments === undefined) {
          isLeft = true
          this.#pending.set(id, { operation, read, resolve: ignore, reject: ignore, settled })
          // The driver does not ring for a blocking call.
          this.#drainFor(id, 1000, false)
          throw missed(timeout)
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

  /** Polls for an answer without a doorbell, at intervals up to `longest` ms. `isAwaited` keeps the process alive. */
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
    signal: CallOptions['signal'],
    reject: Pending['reject'],
  ): () => void {
    let timer: NodeJS.Timeout | undefined
    const wait = (left: number): void => {
      if (left <= 0) return reject(missed(timeout))
      const span = Math.min(left, LONGEST_TIMER)
      timer = setTimeout(wait, span, left - span)
    }
    if (timeout !== undefined) wait(timeout)
    const abort = (): void => {
      reject(signal!.reason)
      try {
        this.notify(operations.CANCEL, { id })
      } catch {
        // A driver that does not read cannot be told, and nobody waits for this message.
      }
    }
    signal?.addEventListener('abort', abort, { once: true })
    return () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  #send(length: number, fields: HeaderFields, attachments: readonly Attachment[], isNote = false): void {
    writeHeader(this.#link.sent.view, length, fields)
    this.#guard(() => this.#link.send(length, attachments, SEND_TIMEOUT, isNote))
  }

  #drain(): void {
    // If no request is pending, there is no answer to read. Anything else is found with a later message.
    this.#settleAll(() => (this.#pending.size > 0 ? this.#receive(0) : undefined))
  }

  /** Settles the requests whose answers have arrived. If the channel ends meanwhile, #die() has rejected all others. */
  #settleAll(receive: () => readonly Attachment[] | undefined): void {
    try {
      for (let found = receive(); found !== undefined; found = receive()) this.#settle(this.#checkAnswer(found))
    } catch {
      // There are no more messages.
    }
  }

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
    if (header.isReply && header.id === 0 && header.status === errorStatus.DEAD_OBJECT) throw this.#takeLeave(header)
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
      // Failures that the driver reports pass. Anything without the shape of an answer breaks the protocol.
      if (error instanceof PoolsError && error.status === status && status !== 'NONE') throw error
      throw this.#breach('an answer that makes no sense')
    }
  }

  #receive(timeout: number): readonly Attachment[] | undefined {
    return this.#guard(() => this.#link.receive(timeout))
  }

  /** Uses the link. A peer that disconnects, or sends a malformed message, ends the channel. */
  #guard<T>(use: () => T): T {
    try {
      return use()
    } catch (error) {
      if (error instanceof PeerGone) throw this.#readToEnd()
      if (error instanceof PoolsError && error.status === 'GENERAL_FAILURE') throw this.#breach('a malformed message')
      throw error
    }
  }

  /** Reads the last message of a driver at a path, whose process has ended. */
  #takeLeave({ length }: FrameHeader): PoolsError {
    let reason: PoolsError
    try {
      reason = readError(decodeBody(this.#link.received.bytes.subarray(HEADER_SIZE, length)), 'DEAD_OBJECT')
    } catch {
      return this.#breach('a farewell that makes no sense')
    }
    return this.#die(reason.sentence, reason.details)
  }

  /** Reads the messages of a driver that is gone: the last one may say why. */
  #readToEnd(): PoolsError {
    this.#settleAll(() => this.#link.receive(0))
    return this.#die()
  }

  /** The doorbell of a driver at a path ends before the message that says why. */
  #awaitEnd(left: number): void {
    if (this.isAlive) this.#settleAll(() => this.#receive(0))
    if (!this.isAlive) return
    if (left <= 0) this.#die()
    else setTimeout(() => this.#awaitEnd(left - END_PERIOD), END_PERIOD)
  }

  #breach(what: string): PoolsError {
    return this.#die(`the driver sent ${what} and was disconnected`)
  }

  #die(sentence = 'the driver has disconnected', details: PoolsError['details'] = {}): PoolsError {
    if (this.#dead !== undefined) return this.#dead
    const dead = new PoolsError('DEAD_OBJECT', sentence, {
      details,
      hint: `${this.#reconnects ? BEFORE_RECONNECTING : WITHOUT_DRIVER} The outputs of the request are undefined.`,
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
    for (const listener of this.#endListeners.splice(0)) listener()
    return dead
  }

  #checkAlive(): void {
    if (this.#dead !== undefined) throw this.#dead
  }
}

const ignore = (): void => {}

const missed = (timeout: number | undefined): PoolsError =>
  new PoolsError('MISSED_DEADLINE_TRANSIENT', `the driver did not answer within ${timeout} ms`)

function readBody<T>(read: ReadBody<T>): Read<T> {
  return ({ received }, { length }) => read(decodeBody(received.bytes.subarray(HEADER_SIZE, length)))
}
