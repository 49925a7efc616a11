import { errorStatus, PoolsError } from '@tenon/pools'
import { checkFrame, discardAttachment, type Link } from '../link/link.ts'
import { type Attachment, discardDescriptor } from '@tenon/pools/internal'
import { ring, Socket } from '../link/socket.ts'
import { bindExecution } from '../engine/execute.ts'
import type { FencedRun } from '../engine/fenced-run.ts'
import { binary, decodeBody, number, type Reader, u32, writeBody } from '../wire/body.ts'
import { writeResult } from '../wire/execute-frame.ts'
import {
  type FrameHeader,
  HEADER_ID,
  HEADER_SIZE,
  operations,
  readHeader,
  readU64,
  viewOf,
  writeHeader,
} from '../wire/frame.ts'
import { errorMessage } from '../wire/model-codec.ts'
import { exhausted } from '../engine/limits.ts'
import type { Client } from './client.ts'
import type { ClientPools } from './client-pools.ts'
import { FencedRuns, outcomeMessage, type Watch } from './fenced-runs.ts'
import { internalFailure } from './internal-failure.ts'
import { ATTACHMENTS_OF, NOTES, OWNING } from './message-kinds.ts'
import { LastExecution } from './last-execution.ts'
import { RequestQueue, type Waiting } from './request-queue.ts'
import { bodyOf, compute, findRequest } from './requests.ts'

/** The objects that the messages of a connection name. The connection owns only the pools. */
export interface ConversationParts {
  readonly client: Client
  readonly pools: ClientPools
  /** The conversation with the thread that has connected first; undefined for that one. */
  readonly owner?: Conversation
}

/** Who runs the requests of conversations: one at a time, each in a turn with a deadline. */
export interface Turns {
  /**
   * Runs in a turn of a conversation.
   *
   * @param timeLeft in milliseconds.
   * @throws {PoolsError} `MISSED_DEADLINE_TRANSIENT` if the turn was cancelled, and what `run` throws.
   */
  run<T>(conversation: Conversation, timeLeft: number, run: () => T): T
  /** Whether one more request of any client may wait. */
  mayWait(): boolean
  /** Notes that a conversation has requests again. */
  ready(conversation: Conversation): void
  /** Watches the channel and the fences of a conversation. */
  watchOf(conversation: Conversation): Watch
  /** Begins a conversation with another thread of the same client. Takes the socket over. @returns the answer */
  join(conversation: Conversation, socket: Attachment): object
}

/**
 * The connection of a driver to one thread of a client, which reads its messages and answers them. Everything that comes from the client is
 * checked. A client that breaks the protocol itself is disconnected.
 */
export class Conversation {
  /** A number that names the client to the front. */
  readonly id: number
  /** See {@link ConversationParts.owner}. */
  readonly owner: Conversation | undefined
  readonly client: Client
  readonly #link: Link
  readonly #pools: ClientPools
  readonly #turns: Turns
  readonly #watch: Watch
  readonly #fenced: FencedRuns
  readonly #last = new LastExecution()
  readonly #waiting = new RequestQueue()
  #doorbell = -1
  #isPaused = false

  /** Takes the link over. */
  constructor(id: number, link: Link, { client, pools, owner }: ConversationParts, turns: Turns) {
    this.id = id
    this.owner = owner
    this.client = client
    this.#link = link
    this.#pools = pools
    this.#turns = turns
    this.#watch = turns.watchOf(this)
    this.#fenced = new FencedRuns(client.limits, this.#watch, (name, run) => this.#addFenced(name, run))
    if (link instanceof Socket) this.#watch.add(link.descriptor)
  }

  /** The descriptor of its channel; -1 between threads without sockets. */
  get descriptor(): number {
    return this.#link instanceof Socket ? this.#link.descriptor : -1
  }

  /** Whether executions wait for fences. */
  get hasFences(): boolean {
    return this.#fenced.count > 0
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** The urgency of the next request. */
  get priority(): number {
    return this.#waiting.next().priority
  }

  /** The time at which an execution fails if its fences are not signalled, as of `performance.now()`. */
  get deadline(): number {
    return this.#fenced.deadline
  }

  /** Looks at the fences that executions wait for. */
  stepFences(): void {
    this.#fenced.step()
    this.#pools.closeUnused()
  }

  /**
   * Waits `timeout` ms (if negative, for ever) for messages, and reads those that have arrived.
   *
   * @param isAlone whether nobody else has a request, so that one can run without waiting for a turn.
   * @throws {PeerGone} @throws {PoolsError} if the client breaks the protocol.
   */
  read(timeout: number, isAlone: boolean): void {
    let attachments = this.#link.receive(timeout)
    // A client that never stops sending does not keep the others from their turns.
    for (let left = 2 * this.client.limits.requests; attachments !== undefined; left--) {
      const mayRun = isAlone && this.#waiting.length === 0
      if (mayRun && this.#repeat()) return
      if (this.#take(attachments, mayRun)) return
      if (left === 0 || this.#pauses()) return
      attachments = this.#link.receive(0)
    }
  }

  /** Runs the next request in a turn. */
  runNext(): void {
    this.#waiting.runNext()
    if (this.#isPaused && this.#waiting.length < this.client.limits.requests) {
      this.#isPaused = false
      this.#watch.add(this.descriptor)
    }
  }

  /** Ends the connection, and releases everything. */
  close(): void {
    this.#waiting.clear()
    this.#fenced.close()
    this.#last.forget()
    if (this.owner === undefined) this.client.close()
    this.#pools.close()
    if (this.#link instanceof Socket) {
      if (this.descriptor !== -1 && !this.#isPaused) this.#watch.remove(this.descriptor)
      this.#link.shut()
    } else this.#link.close()
    if (this.#doorbell !== -1) discardDescriptor(this.#doorbell)
    this.#doorbell = -1
  }

  /** Increases with every release of something that a request names. */
  get #generation(): number {
    return this.client.generation + this.#pools.generation
  }

  /** Stops reading while too much waits, so that the client's messages stay in its channel. */
  #pauses(): boolean {
    if (this.#waiting.length < 8 * this.client.limits.requests || this.descriptor === -1) return false
    this.#isPaused = true
    this.#watch.remove(this.descriptor)
    return true
  }

  /** Repeats the last execution for the same message, whose numbers were checked; nothing was released since. */
  #repeat(): boolean {
    const { received, sent } = this.#link
    const bound = this.#last.of(received, this.#generation)
    if (bound === undefined) return false
    const start = performance.now()
    try {
      this.#turns.run(this, Infinity, () => bound.run())
    } catch {
      // The usual path reports the error.
      this.#last.forget()
      return false
    }
    const length = writeResult(sent.view, bound.outputShapes, Math.round((performance.now() - start) * 1e6))
    writeHeader(sent.view, length, {
      operation: operations.EXECUTE,
      id: readU64(received.view, HEADER_ID),
      isReply: true,
    })
    this.#link.send(length, [], 0)
    return true
  }

  /** Takes a message. @returns whether it has run already. */
  #take(attachments: readonly Attachment[], mayRun: boolean): boolean {
    const { view, bytes } = this.#link.received
    const header = readHeader(view)
    const { operation } = header
    const [least, most] = ATTACHMENTS_OF.get(operation) ?? [0, 0]
    if (header.isReply || attachments.length < least || attachments.length > most) {
      attachments.forEach(discardAttachment)
      throw new PoolsError('INVALID_ARGUMENT', 'a message must be a request with its attachments')
    }
    const frame = bytes.subarray(0, header.length)
    if (operation === operations.CANCEL) {
      this.#cancel(decodeBody(frame.subarray(HEADER_SIZE)))
      return false
    }
    const isExecution = operation === operations.EXECUTE && header.rings
    const kind = isExecution ? 'execution' : NOTES.has(operation) ? 'note' : 'other'
    if (this.#waiting.length === 0 && (kind === 'note' || (mayRun && kind === 'other'))) {
      this.#handle(header, frame, attachments, performance.now())
      return kind === 'other'
    }
    this.#add(header, Buffer.from(frame), attachments, kind)
    return false
  }

  #add(header: FrameHeader, frame: Buffer, attachments: readonly Attachment[], kind: Waiting['kind']): void {
    const arrived = performance.now()
    const refusal = this.#refusalOf(kind)
    if (refusal !== undefined) {
      attachments.forEach(discardAttachment)
      return this.#refuse(header, refusal)
    }
    this.#push({
      id: kind === 'execution' ? header.id : -1,
      priority: header.priority,
      kind,
      run: () => this.#handle(header, frame, attachments, arrived),
      drop: (error) => {
        attachments.forEach(discardAttachment)
        if (error !== undefined) this.#refuse(header, error)
      },
    })
  }

  /** Returns the error for a request that cannot wait, because too many do. */
  #refusalOf(kind: Waiting['kind']): PoolsError | undefined {
    const { requests } = this.client.limits
    if (kind === 'execution' && this.#waiting.length >= requests) return exhausted(`${requests} waiting requests`)
    if (kind === 'note' || this.#turns.mayWait()) return undefined
    return new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', 'too many requests of all clients wait for this driver')
  }

  #addFenced(id: number, run: FencedRun): void {
    this.#push({
      id: -1,
      priority: 1,
      kind: 'execution',
      run: () => this.#fenced.finish(id, (execute) => this.#turns.run(this, run.timeLeft, execute)),
      drop: () => {},
    })
  }

  #push(request: Waiting): void {
    this.#waiting.push(request)
    if (this.#waiting.length === 1) this.#turns.ready(this)
  }

  #cancel(reader: Reader): void {
    const error = new PoolsError('GENERAL_FAILURE', 'the request was cancelled')
    this.#waiting.cancel(number(reader.field('id')), error)
  }

  #handle(header: FrameHeader, frame: Buffer, attachments: readonly Attachment[], arrived: number): void {
    const { operation } = header
    const [attachment] = attachments
    if (this.owner !== undefined && OWNING.has(operation)) return this.#refuseOwning(header, attachments)
    const { client } = this
    const inline = frame.subarray(HEADER_SIZE)
    const timeLeft = (): number => (header.timeout ?? Infinity) - (performance.now() - arrived)
    switch (operation) {
      case operations.REGISTER_POOL:
        return this.#pools.register(inline, attachment!)
      case operations.RELEASE_POOL:
        this.#last.forget()
        return this.#pools.release(u32(decodeBody(inline).field('id')))
      case operations.RELEASE_MODEL:
        this.#last.forget()
        client.releaseModel(u32(decodeBody(inline).field('id')))
        return this.#pools.closeUnused()
      case operations.RELEASE_BUFFER:
        return client.releaseBuffer(u32(decodeBody(inline).field('token')))
      case operations.JOIN:
        return this.#answer(header, () => this.#reply(this.#turns.join(this, attachment!)))
      case operations.HELLO:
        return this.#answer(header, () => this.#hello(attachment))
      case operations.EXECUTE:
        return this.#answer(header, () => this.#execute(frame, timeLeft()))
      case operations.EXECUTE_FENCED:
        return this.#answer(header, () => this.#launch(header, inline, attachments))
      case operations.FENCED_INFO:
        return this.#answerOutcome(header, decodeBody(inline))
      default:
        return this.#answer(header, () => {
          const body = decodeBody(bodyOf(operation, inline, attachment, client.limits.modelBytes))
          return this.#reply(this.#turns.run(this, timeLeft(), () => compute(client, this.#pools, operation, body)))
        })
    }
  }

  /** Answers a request with the body that `run` writes behind the header, or with its error. */
  #answer(header: FrameHeader, run: () => number): void {
    let [length, status] = [0, 0]
    try {
      length = run()
    } catch (error) {
      const failed = error instanceof PoolsError ? error : internalFailure(error)
      length = this.#reply(errorMessage(failed))
      status = errorStatus[failed.status]
    }
    const { operation, id, rings } = header
    writeHeader(this.#link.sent.view, length, { operation, id, isReply: true, status })
    // A client that does not read its answers has more requests in flight than it may, and is disconnected.
    this.#link.send(length, [], 0)
    if (rings && this.#doorbell !== -1) ring(this.#doorbell)
  }

  #refuse(header: FrameHeader, error: PoolsError): void {
    this.#answer(header, () => {
      throw error
    })
  }

  #reply(value: unknown): number {
    return writeBody(this.#link.sent.bytes, value)
  }

  #hello(attachment: Attachment | undefined): number {
    if (this.#doorbell !== -1) {
      if (attachment !== undefined) discardAttachment(attachment)
      throw new PoolsError('INVALID_ARGUMENT', 'a client must send HELLO only once')
    }
    if (typeof attachment === 'number') this.#doorbell = attachment
    const { pools, poolBytes, requests } = this.client.limits
    return this.#reply({ pools, poolBytes, requests })
  }

  /** Refuses what only the first thread may do. A note has no answer. */
  #refuseOwning(header: FrameHeader, attachments: readonly Attachment[]): void {
    attachments.forEach(discardAttachment)
    const text = 'another thread of the client makes its models and buffers'
    if (!NOTES.has(header.operation)) this.#refuse(header, new PoolsError('INVALID_ARGUMENT', text))
  }

  #execute(frame: Buffer, timeLeft: number): number {
    const generation = this.#generation
    let bound = this.#last.ofFrame(frame, generation)
    if (bound === undefined) {
      const { model, request } = findRequest(this.client, this.#pools, frame)
      bound = this.#last.keep(frame, bindExecution(model, request), generation)
    }
    try {
      if (timeLeft <= 0)
        throw new PoolsError('MISSED_DEADLINE_TRANSIENT', 'the deadline passed before the execution began')
      const start = performance.now()
      this.#turns.run(this, timeLeft, () => bound.run())
      return writeResult(this.#link.sent.view, bound.outputShapes, Math.round((performance.now() - start) * 1e6))
    } finally {
      if (!bound.isRepeatable) this.#last.forget()
    }
  }

  #launch(header: FrameHeader, inline: Buffer, attachments: readonly Attachment[]): number {
    this.#fenced.launch(attachments, () => {
      const body = decodeBody(inline)
      const execute = Buffer.from(binary(body.field('execute')))
      checkFrame(execute)
      if (readHeader(viewOf(execute)).operation !== operations.EXECUTE)
        throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution must contain a request to execute')
      return {
        id: number(body.field('id')),
        timeout: header.timeout,
        timeoutAfterFences: body.field('timeoutAfterFences').optional(number),
        ...findRequest(this.client, this.#pools, execute),
      }
    })
    return this.#reply({})
  }

  #answerOutcome(header: FrameHeader, body: Reader): void {
    try {
      this.#fenced.ask(number(body.field('id')), (outcome) =>
        this.#answer(header, () => this.#reply(outcomeMessage(outcome))),
      )
    } catch (error) {
      if (!(error instanceof PoolsError)) throw error
      this.#refuse(header, error)
    }
  }
}
