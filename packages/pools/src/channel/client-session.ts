import { TenonError } from '@tenon/core'
import { errorStatus, PoolsError } from '../error-status.ts'
import type { DeviceMemory } from '../engine/device-memory.ts'
import type { EngineModel } from '../engine/engine-model.ts'
import { bindExecution, refuseToken, type BoundExecution, type EnginePool } from '../engine/execute.ts'
import { exhausted, Session } from '../engine/session.ts'
import type { DriverLimits } from '../engine/limits.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import { closeDescriptor, describeDescriptor, seals } from '../native/descriptor.ts'
import { ring, Socket } from '../native/socket.ts'
import { importPool } from '../pool/import-pool.ts'
import { decodeBody, encodeBody, type Reader } from './body.ts'
import { readExecute, writeResult } from './execute-frame.ts'
import {
  HEADER_FLAGS,
  HEADER_ID,
  HEADER_SIZE,
  HEADER_TIMEOUT,
  operations,
  readHeader,
  readU64,
  writeHeader,
  type FrameHeader,
} from './frame.ts'
import { errorMessage, readAllocate, readModel } from './model-codec.ts'
import { PoolRegistry } from './pool-registry.ts'

/** A request to execute that waits for others to arrive, which may be more urgent. */
interface Waiting {
  readonly header: FrameHeader
  readonly frame: Buffer
  readonly arrived: number
}

/** The last execution that succeeded: the same message needs no checks again. */
interface Repeatable {
  readonly header: DataView
  readonly body: Buffer
  readonly bound: BoundExecution
}

/** How many descriptors come with a message, at least and at most; others have none. */
const DESCRIPTORS_OF: ReadonlyMap<number, readonly [least: number, most: number]> = new Map([
  [operations.HELLO, [1, 1]],
  [operations.REGISTER_POOL, [1, 1]],
  [operations.PREPARE, [0, 1]],
  [operations.SUPPORTED, [0, 1]],
])

/**
 * What a driver is to one client: reads its messages, answers them, and keeps what belongs to it. Everything that comes from
 * the client is checked; whoever breaks the protocol itself is disconnected.
 */
export class ClientSession {
  readonly socket: Socket
  readonly #session: Session
  readonly #limits: DriverLimits
  readonly #pools: PoolRegistry
  readonly #models = new Map<number, EngineModel>()
  readonly #waiting: Waiting[] = []
  #doorbell = -1
  #lastModel = 0
  #repeatable: Repeatable | undefined

  /** Takes the descriptor over. */
  constructor(descriptor: number, kernels: KernelRegistry, limits: DriverLimits) {
    this.socket = new Socket(descriptor)
    this.#limits = limits
    this.#session = new Session(kernels, limits)
    this.#pools = new PoolRegistry(limits)
  }

  /**
   * Receives a message and does what it says; then the ones that came meanwhile, the most urgent first.
   *
   * @throws {PeerGone} if the client is gone. @throws {PoolsError} if it broke the protocol.
   */
  step(): void {
    const descriptors = this.socket.receive(-1)
    if (descriptors === undefined || this.#repeat()) return
    this.#take(descriptors)
    while (this.#waiting.length > 0) {
      const more = this.socket.receive(0)
      if (more === undefined) this.#runMostUrgent()
      else this.#take(more)
    }
  }

  /** Gives back everything that belongs to the client. */
  close(): void {
    this.#waiting.length = 0
    this.#repeatable = undefined
    this.#session.close()
    this.#models.clear()
    this.#pools.close()
    this.socket.close()
    if (this.#doorbell !== -1) closeDescriptor(this.#doorbell)
    this.#doorbell = -1
  }

  /**
   * The shortest way: the message that was executed last, again, from a client that blocks, without a deadline. What its
   * numbers mean was checked then, and nothing has been released since.
   *
   * @returns false if it is another message, and nothing was done.
   */
  #repeat(): boolean {
    const known = this.#repeatable
    if (known === undefined) return false
    const { received, sent } = this.socket
    const { header, body, bound } = known
    if (!isSame(received.view, header, 0, HEADER_ID) || !isSame(received.view, header, HEADER_TIMEOUT, HEADER_SIZE))
      return false
    if (header.getUint16(HEADER_FLAGS, true) !== 0 || readU64(header, HEADER_TIMEOUT) !== 0) return false
    if (received.bytes.compare(body, 0, body.length, HEADER_SIZE, HEADER_SIZE + body.length) !== 0) return false
    const start = performance.now()
    try {
      bound.run()
    } catch {
      // The long way says what is wrong.
      this.#repeatable = undefined
      return false
    }
    const length = writeResult(sent.view, bound.outputShapes, Math.round((performance.now() - start) * 1e6))
    writeHeader(sent.view, length, {
      operation: operations.EXECUTE,
      id: readU64(received.view, HEADER_ID),
      isReply: true,
    })
    this.socket.send(length, [], 0)
    return true
  }

  #take(descriptors: readonly number[]): void {
    const { view, bytes } = this.socket.received
    const header = readHeader(view)
    const [least, most] = DESCRIPTORS_OF.get(header.operation) ?? [0, 0]
    if (header.isReply || descriptors.length < least || descriptors.length > most) {
      for (const descriptor of descriptors) closeDescriptor(descriptor)
      throw new PoolsError('INVALID_ARGUMENT', 'a message must be a request with the descriptors that it needs')
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
    this.#handle(header, bytes.subarray(0, header.length), descriptors[0], performance.now())
  }

  #runMostUrgent(): void {
    const next = this.#waiting.reduce((best, candidate) =>
      candidate.header.priority > best.header.priority ? candidate : best,
    )
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    this.#handle(next.header, next.frame, undefined, next.arrived)
  }

  #cancel(reader: Reader): void {
    const id = reader.field('id').number()
    const at = this.#waiting.findIndex(({ header }) => header.id === id)
    if (at === -1) return
    const [{ header }] = this.#waiting.splice(at, 1) as [Waiting]
    this.#refuse(header, new PoolsError('GENERAL_FAILURE', 'the request was taken back'))
  }

  #handle(header: FrameHeader, frame: Buffer, descriptor: number | undefined, arrived: number): void {
    const { operation } = header
    const body = (): Reader => decodeBody(this.#bodyOf(header, frame, descriptor))
    switch (operation) {
      case operations.REGISTER_POOL:
        return this.#pools.register(decodeBody(frame.subarray(HEADER_SIZE)), descriptor)
      case operations.RELEASE_POOL:
        this.#repeatable = undefined
        return this.#pools.release(body().field('id').u32())
      case operations.RELEASE_MODEL:
        return this.#releaseModel(body().field('id').u32())
      case operations.RELEASE_BUFFER:
        return this.#releaseBuffer(body().field('token').u32())
      case operations.HELLO:
        return this.#answer(header, () => this.#hello(descriptor!))
      case operations.EXECUTE:
        return this.#answer(header, () => this.#execute(header, frame, arrived))
      default:
        return this.#answer(header, () => this.#reply(this.#compute(operation, body())))
    }
  }

  /** Answers a request with what `run` writes behind the header, or with why it failed. */
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
    writeHeader(this.socket.sent.view, length, { operation, id, isReply: true, status })
    // A client that doesn't read its answers is disconnected: it has more in flight than it may.
    this.socket.send(length, [], 0)
    if (rings && this.#doorbell !== -1) ring(this.#doorbell)
  }

  #refuse(header: FrameHeader, error: PoolsError): void {
    this.#answer(header, () => {
      throw error
    })
  }

  #reply(value: unknown): number {
    const body = encodeBody(value)
    this.socket.sent.bytes.set(body, HEADER_SIZE)
    return HEADER_SIZE + body.length
  }

  /** The body of a message: behind its header, or in the frozen memory that came with it. */
  #bodyOf({ operation }: FrameHeader, frame: Buffer, descriptor: number | undefined): Uint8Array {
    const inline = frame.subarray(HEADER_SIZE)
    if (descriptor === undefined || (operation !== operations.PREPARE && operation !== operations.SUPPORTED))
      return inline
    try {
      const { byteSize, seals: sealed } = describeDescriptor(descriptor)
      if (byteSize > this.#limits.modelBytes) throw exhausted(`${this.#limits.modelBytes} bytes of a model`)
      if ((sealed & seals.WRITE) === 0) throw new PoolsError('INVALID_ARGUMENT', 'a body in memory must be frozen')
      const pool = importPool({ kind: 'shared', descriptor, byteSize, keep: false })
      try {
        return pool.read(0)
      } finally {
        pool.close()
      }
    } finally {
      closeDescriptor(descriptor)
    }
  }

  #hello(descriptor: number): number {
    if (this.#doorbell !== -1) {
      closeDescriptor(descriptor)
      throw new PoolsError('INVALID_ARGUMENT', 'a client says hello once')
    }
    this.#doorbell = descriptor
    const { pools, poolBytes, requests } = this.#limits
    return this.#reply({ pools, poolBytes, requests })
  }

  #compute(operation: number, body: Reader): unknown {
    switch (operation) {
      case operations.PREPARE: {
        const model = this.#session.prepare(
          readModel(body.field('model'), (id, i) => this.#pools.find(id, `pools[${i}]`)),
        )
        this.#models.set(++this.#lastModel, model)
        return { id: this.#lastModel }
      }
      case operations.SUPPORTED:
        return {
          supported: this.#session.supportedOperations(
            readModel(body.field('model'), (id, i) => this.#pools.find(id, `pools[${i}]`)),
          ),
        }
      case operations.ALLOCATE: {
        const models = body.field('models').list((id) => this.#models.get(id.u32()))
        return { token: this.#session.allocate(models, readAllocate(body.field('description'))).token }
      }
      case operations.COPY_FROM: {
        const memory = this.#buffer(body, 'buffer')
        memory.isInitialized = false
        const dimensions = body.field('dimensions').list((size) => size.u32())
        this.#session.copyFrom(
          memory,
          this.#pools.find(body.field('pool').u32(), 'source'),
          body.field('offset').u32(),
          body.field('length').u32(),
          dimensions,
        )
        return {}
      }
      case operations.COPY_TO: {
        const pool = this.#pools.find(body.field('pool').u32(), 'target')
        this.#session.copyTo(this.#buffer(body, 'buffer'), pool, body.field('offset').u32(), body.field('length').u32())
        return {}
      }
      default:
        throw new PoolsError('INVALID_ARGUMENT', `operation ${operation} must be one that has an answer`)
    }
  }

  #execute(header: FrameHeader, frame: Buffer, arrived: number): number {
    const body = frame.subarray(HEADER_SIZE)
    const known = this.#repeatable?.body.equals(body) === true ? this.#repeatable : undefined
    const bound = known?.bound ?? this.#bind(frame)
    const start = performance.now()
    if (header.timeout !== undefined && start - arrived >= header.timeout) {
      throw new PoolsError('MISSED_DEADLINE_TRANSIENT', 'the deadline passed before the execution began')
    }
    bound.run()
    if (known === undefined || !header.rings) {
      const saved = viewOf(Buffer.from(frame.subarray(0, HEADER_SIZE)))
      this.#repeatable = bound.isRepeatable ? { header: saved, body: Buffer.from(body), bound } : undefined
    }
    return writeResult(this.socket.sent.view, bound.outputShapes, Math.round((performance.now() - start) * 1e6))
  }

  #bind(frame: Buffer): BoundExecution {
    const { model: id, inputs, outputs, pools } = readExecute(viewOf(frame))
    const model = this.#models.get(id)
    if (model === undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'model must be a prepared model of this client (rule D4)', {
        rule: 'D4',
        path: 'model',
      })
    const found = pools.map((name, i): EnginePool => {
      if (!name.isToken) return this.#pools.find(name.id, `pools[${i}]`)
      const memory = this.#session.buffer(name.id)
      if (memory === undefined) throw refuseToken(`pools[${i}]`)
      return memory
    })
    return bindExecution(model, { inputs, outputs, pools: found })
  }

  #buffer(body: Reader, path: string): DeviceMemory {
    const memory = this.#session.buffer(body.field('token').u32())
    if (memory === undefined) throw refuseToken(path)
    return memory
  }

  #releaseModel(id: number): void {
    const model = this.#models.get(id)
    if (model === undefined) return
    this.#repeatable = undefined
    this.#models.delete(id)
    this.#session.releaseModel(model)
    this.#pools.closeUnused()
  }

  #releaseBuffer(token: number): void {
    const memory = this.#session.buffer(token)
    if (memory !== undefined) this.#session.releaseBuffer(memory)
  }
}

const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

/** Whether words of two headers are the same, from one offset to another. */
function isSame(a: DataView, b: DataView, from: number, to: number): boolean {
  for (let at = from; at < to; at += 4) if (a.getUint32(at, true) !== b.getUint32(at, true)) return false
  return true
}

/** What went wrong inside the driver is told without its words, which may name its memory or files. */
function internalFailure(error: unknown): PoolsError {
  const kind = error instanceof TenonError ? error.code : 'a kernel'
  return new PoolsError('GENERAL_FAILURE', `the driver failed: ${kind}`)
}
