import { TenonError } from '@tenon/core'
import { errorStatus, PoolsError } from '../error-status.ts'
import type { BoundExecution } from '../nnapi/engine/execute.ts'
import { exhausted } from './session.ts'
import type { DriverLimits } from '../nnapi/engine/limits.ts'
import type { KernelRegistry } from '../nnapi/kernels/kernel.ts'
import { describeDescriptor, discardDescriptor, seals, sealsOf } from '../memory/descriptor.ts'
import { checkFrame, discardAttachment, type Attachment, type Link } from '../link/link.ts'
import { pollSockets, ring, Socket } from '../link/socket.ts'
import { hasSeals } from '../native/platform.ts'
import { importPool } from '../memory/import-pool.ts'
import { binary, decodeBody, encodeBody, number, type Reader, u32 } from '../wire/body.ts'
import { ClientState } from './client-state.ts'
import { writeResult } from '../wire/execute-frame.ts'
import { FencedRuns, outcomeMessage } from './fenced-runs.ts'
import {
  HEADER_FLAGS,
  HEADER_ID,
  HEADER_SIZE,
  HEADER_TIMEOUT,
  operations,
  readHeader,
  readU64,
  viewOf,
  writeHeader,
  type FrameHeader,
} from '../wire/frame.ts'
import { errorMessage } from '../wire/model-codec.ts'

/** A request to execute that waits, because a more urgent one may arrive. */
interface Waiting {
  readonly header: FrameHeader
  readonly frame: Buffer
  readonly arrived: number
}

/** The last execution that succeeded. The same message needs no further checks. */
interface Repeatable {
  readonly header: DataView
  readonly body: Buffer
  readonly bound: BoundExecution
}

/** The least and the most attachments of a message. Other messages have none. */
const ATTACHMENTS_OF: ReadonlyMap<number, readonly [least: number, most: number]> = new Map([
  [operations.HELLO, [0, 1]],
  [operations.REGISTER_POOL, [1, 1]],
  [operations.PREPARE, [0, 1]],
  [operations.SUPPORTED, [0, 1]],
  [operations.EXECUTE_FENCED, [1, 16]],
])

/**
 * The connection of a driver to one client, which reads its messages, answers them, and keeps its resources. Everything that comes
 * from the client is checked. A client that breaks the protocol itself is disconnected.
 */
export class ClientSession {
  readonly #link: Link
  readonly #limits: DriverLimits
  readonly #state: ClientState
  readonly #fenced: FencedRuns
  readonly #waiting: Waiting[] = []
  #doorbell = -1
  #repeatable: Repeatable | undefined

  /** Takes the link over. */
  constructor(link: Link, kernels: KernelRegistry, limits: DriverLimits) {
    this.#link = link
    this.#limits = limits
    this.#fenced = new FencedRuns(limits)
    this.#state = new ClientState(kernels, limits)
  }

  /** The descriptors that are readable when the session has work: its channel, and fences. */
  get descriptors(): readonly number[] {
    return [...(this.#link instanceof Socket ? [this.#link.descriptor] : []), ...this.#fenced.waitsFor]
  }

  /** The time at which the session has work without them, as of `performance.now()`. */
  get deadline(): number {
    return this.#fenced.deadline
  }

  /** Waits `timeout` ms (if negative, for ever) and handles what has arrived, most urgent first. @throws {PeerGone} */
  step(timeout: number): void {
    if (this.#fenced.isWaiting && !this.#stepFenced(timeout < 0)) return
    const descriptors = this.#link.receive(timeout)
    if (descriptors === undefined || this.#repeat()) return
    this.#take(descriptors)
    // A client that never stops asking does not take the turns of others.
    let left = 2 * this.#limits.requests
    while (this.#waiting.length > 0) {
      const more = left-- > 0 ? this.#link.receive(0) : undefined
      if (more === undefined) this.#runMostUrgent()
      else this.#take(more)
    }
  }

  /** Runs fenced executions, after waiting for the channel or fences if it may. @returns whether a message has arrived. */
  #stepFenced(mayWait: boolean): boolean {
    const left = mayWait ? Math.max(this.deadline - performance.now(), 0) : 0
    const { descriptors } = this
    const ready = pollSockets(descriptors, Math.min(left, LONGEST_WAIT))
    this.#fenced.step()
    this.#state.pools.closeUnused()
    return ready.includes(descriptors[0]!)
  }

  close(): void {
    this.#waiting.length = 0
    this.#fenced.close()
    this.#repeatable = undefined
    this.#state.close()
    this.#link.close()
    if (this.#doorbell !== -1) discardDescriptor(this.#doorbell)
    this.#doorbell = -1
  }

  /** Repeats the last execution for the same message, whose numbers were checked; nothing was released since. */
  #repeat(): boolean {
    const known = this.#repeatable
    if (known === undefined) return false
    const { received, sent } = this.#link
    const { header, body, bound } = known
    if (!isSame(received.view, header, 0, HEADER_ID) || !isSame(received.view, header, HEADER_TIMEOUT, HEADER_SIZE))
      return false
    if (header.getUint16(HEADER_FLAGS, true) !== 0 || readU64(header, HEADER_TIMEOUT) !== 0) return false
    if (received.bytes.compare(body, 0, body.length, HEADER_SIZE, HEADER_SIZE + body.length) !== 0) return false
    const start = performance.now()
    try {
      bound.run()
    } catch {
      // The usual path reports the error.
      this.#repeatable = undefined
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

  #take(attachments: readonly Attachment[]): void {
    const { view, bytes } = this.#link.received
    const header = readHeader(view)
    const [least, most] = ATTACHMENTS_OF.get(header.operation) ?? [0, 0]
    if (header.isReply || attachments.length < least || attachments.length > most) {
      attachments.forEach(discardAttachment)
      throw new PoolsError('INVALID_ARGUMENT', 'a message must be a request with its attachments')
    }
    if (header.operation === operations.EXECUTE && header.rings) {
      if (this.#waiting.length >= this.#limits.requests)
        return this.#refuse(header, exhausted(`${this.#limits.requests} waiting requests`))
      this.#waiting.push({ header, frame: Buffer.from(bytes.subarray(0, header.length)), arrived: performance.now() })
      return
    }
    if (header.operation === operations.CANCEL)
      return this.#cancel(decodeBody(bytes.subarray(HEADER_SIZE, header.length)))
    while (this.#waiting.length > 0) this.#runMostUrgent()
    this.#handle(header, bytes.subarray(0, header.length), attachments, performance.now())
  }

  #runMostUrgent(): void {
    const next = this.#waiting.reduce((best, candidate) =>
      candidate.header.priority > best.header.priority ? candidate : best,
    )
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    this.#handle(next.header, next.frame, [], next.arrived)
  }

  #cancel(reader: Reader): void {
    const id = number(reader.field('id'))
    const at = this.#waiting.findIndex(({ header }) => header.id === id)
    if (at === -1) return
    const [{ header }] = this.#waiting.splice(at, 1) as [Waiting]
    this.#refuse(header, new PoolsError('GENERAL_FAILURE', 'the request was cancelled'))
  }

  #handle(header: FrameHeader, frame: Buffer, attachments: readonly Attachment[], arrived: number): void {
    const { operation } = header
    const [attachment] = attachments
    const body = (): Reader => decodeBody(this.#bodyOf(header, frame, attachment))
    switch (operation) {
      case operations.REGISTER_POOL:
        return this.#registerPool(frame, attachment!)
      case operations.RELEASE_POOL:
        this.#repeatable = undefined
        return this.#state.pools.release(u32(body().field('id')))
      case operations.RELEASE_MODEL:
        this.#repeatable = undefined
        return this.#state.releaseModel(u32(body().field('id')))
      case operations.RELEASE_BUFFER:
        return this.#state.releaseBuffer(u32(body().field('token')))
      case operations.HELLO:
        return this.#answer(header, () => this.#hello(attachment))
      case operations.EXECUTE:
        return this.#answer(header, () => this.#execute(header, frame, arrived))
      case operations.EXECUTE_FENCED:
        return this.#answer(header, () => this.#launch(header, frame, attachments))
      case operations.FENCED_INFO:
        return this.#answerOutcome(header, body())
      default:
        return this.#answer(header, () => this.#reply(this.#state.compute(operation, body())))
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
    const body = encodeBody(value)
    this.#link.sent.bytes.set(body, HEADER_SIZE)
    return HEADER_SIZE + body.length
  }

  #bodyOf({ operation }: FrameHeader, frame: Buffer, attachment: Attachment | undefined): Uint8Array {
    const inline = frame.subarray(HEADER_SIZE)
    if (attachment === undefined || (operation !== operations.PREPARE && operation !== operations.SUPPORTED))
      return inline
    try {
      const byteSize = sizeOfBody(attachment)
      if (byteSize > this.#limits.modelBytes) throw exhausted(`${this.#limits.modelBytes} bytes of a model`)
      const pool = importPool({ kind: 'shared', attachment, byteSize, isFrozen: true, keep: false })
      try {
        return pool.read(0)
      } finally {
        pool.close()
      }
    } finally {
      discardAttachment(attachment)
    }
  }

  #registerPool(frame: Buffer, attachment: Attachment): void {
    let reader: Reader
    try {
      reader = decodeBody(frame.subarray(HEADER_SIZE))
    } catch (error) {
      discardAttachment(attachment)
      throw error
    }
    this.#state.pools.register(reader, attachment)
  }

  #hello(attachment: Attachment | undefined): number {
    if (this.#doorbell !== -1) {
      if (attachment !== undefined) discardAttachment(attachment)
      throw new PoolsError('INVALID_ARGUMENT', 'a client must send HELLO only once')
    }
    if (typeof attachment === 'number') this.#doorbell = attachment
    const { pools, poolBytes, requests } = this.#limits
    return this.#reply({ pools, poolBytes, requests })
  }

  #execute(header: FrameHeader, frame: Buffer, arrived: number): number {
    const body = frame.subarray(HEADER_SIZE)
    const known = this.#repeatable?.body.equals(body) === true ? this.#repeatable : undefined
    const bound = known?.bound ?? this.#state.bind(frame)
    const start = performance.now()
    if (header.timeout !== undefined && start - arrived >= header.timeout)
      throw new PoolsError('MISSED_DEADLINE_TRANSIENT', 'the deadline passed before the execution began')
    bound.run()
    if (known === undefined || !header.rings) {
      const saved = viewOf(Buffer.from(frame.subarray(0, HEADER_SIZE)))
      this.#repeatable = bound.isRepeatable ? { header: saved, body: Buffer.from(body), bound } : undefined
    }
    return writeResult(this.#link.sent.view, bound.outputShapes, Math.round((performance.now() - start) * 1e6))
  }

  #launch(header: FrameHeader, frame: Buffer, attachments: readonly Attachment[]): number {
    this.#fenced.launch(attachments, () => {
      const body = decodeBody(frame.subarray(HEADER_SIZE))
      const execute = Buffer.from(binary(body.field('execute')))
      checkFrame(execute)
      if (readHeader(viewOf(execute)).operation !== operations.EXECUTE)
        throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution must contain a request to execute')
      return {
        id: number(body.field('id')),
        timeout: header.timeout,
        timeoutAfterFences: body.field('timeoutAfterFences').optional(number),
        ...this.#state.find(execute),
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

const LONGEST_WAIT = 2 ** 31

function sizeOfBody(attachment: Attachment): number {
  if (typeof attachment !== 'number') return attachment.byteLength
  // Without seals, only this process has the memory.
  if (hasSeals() && (sealsOf(attachment) & seals.WRITE) === 0)
    throw new PoolsError('INVALID_ARGUMENT', 'a body in memory must be frozen')
  return describeDescriptor(attachment).byteSize
}

function isSame(a: DataView, b: DataView, from: number, to: number): boolean {
  for (let at = from; at < to; at += 4) if (a.getUint32(at, true) !== b.getUint32(at, true)) return false
  return true
}

/** Reports an error inside the driver without its message, which may name memory or files. */
function internalFailure(error: unknown): PoolsError {
  const kind = error instanceof TenonError ? error.code : 'a kernel'
  return new PoolsError('GENERAL_FAILURE', `the driver failed: ${kind}`)
}
