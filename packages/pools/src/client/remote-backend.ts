import { failed, PoolsError, type OutputShape } from '../error-status.ts'
import type { FencedOutcome } from '../nnapi/engine/fenced-run.ts'
import { boolean, encodeBody, type Reader, u32 } from '../wire/body.ts'
import type { CallOptions, DriverChannel } from './driver-channel.ts'
import { readResult, writeExecute } from '../wire/execute-frame.ts'
import { readOutcome } from '../server/fenced-runs.ts'
import { HEADER_SIZE, operations, viewOf, writeHeader } from '../wire/frame.ts'
import { modelMessage } from '../wire/model-codec.ts'
import { SentPools } from './sent-pools.ts'
import type { Model, Operand } from '../nnapi/model/model.ts'
import { combineDimensions, isU32, operandByteSize, operandTypes } from '../nnapi/model/operand-types.ts'
import { closeDescriptor } from '../memory/descriptor.ts'
import { FenceExpiry } from './fence-expiry.ts'
import { FRAME_MAXIMUM, type Link } from '../link/link.ts'
import { DESCRIPTORS, socketPair } from '../link/socket.ts'
import { createFrozenPool } from '../memory/create-pool.ts'
import type { Pool, PoolSlice } from '../memory/pool.ts'
import { isWhole } from '../memory/pool-facts.ts'
import type { Request } from '../nnapi/request/request.ts'
import type { AllocateDescription } from '../nnapi/driver/allocate.ts'
import type * as Home from '../nnapi/driver/driver.ts'
import { priorities } from '../nnapi/driver/request-options.ts'

let lastFenced = 0

/** A driver behind a channel: in a worker, in a child process, or at a path. */
export class RemoteBackend implements Home.Backend {
  readonly #channel: DriverChannel
  readonly #pools: SentPools
  readonly #end: () => Promise<void>

  /** @param end stops the process or worker of the driver, after the channel is closed. */
  constructor(channel: DriverChannel, end: () => Promise<void>) {
    this.#channel = channel
    this.#pools = new SentPools(channel)
    this.#end = end
  }

  /** Whether the driver is connected. */
  get isAlive(): boolean {
    return this.#channel.isAlive
  }

  /** Calls a function once, when the driver is no longer connected. */
  onEnd(listener: () => void): void {
    this.#channel.onEnd(listener)
  }

  async prepare(model: Model<Pool>, options: Home.AsyncRequestOptions): Promise<Home.BackendModel> {
    const late = (id: number): void => this.#channel.notify(operations.RELEASE_MODEL, { id })
    const id = await this.#sendModel(operations.PREPARE, model, (body) => u32(body.field('id')), options, late)
    return new RemoteModel(this.#channel, this.#pools, model, id)
  }

  async supportedOperations(model: Model<Pool>, options: Home.AsyncRequestOptions): Promise<boolean[]> {
    const read = (body: Reader): boolean[] => body.field('supported').list(boolean)
    return this.#sendModel(operations.SUPPORTED, model, read, options)
  }

  async allocate(
    models: readonly Home.BackendModel[],
    description: AllocateDescription,
    options: Home.AsyncRequestOptions,
  ): Promise<Home.BackendBuffer> {
    // The driver refuses the id 0, which no model has (D4).
    const ids = models.map((model) => (model instanceof RemoteModel && model.channel === this.#channel ? model.id : 0))
    const late = (unused: number): void => this.#channel.notify(operations.RELEASE_BUFFER, { token: unused })
    const message = { models: ids, description }
    const call = { ...callOptions(options), late }
    const token = await this.#channel.request(operations.ALLOCATE, message, (body) => u32(body.field('token')), call)
    if (token === 0) throw failed('D13', 'the driver sent no token')
    return new RemoteBuffer(this.#channel, this.#pools, token)
  }

  async close(): Promise<void> {
    this.#channel.close()
    await this.#end()
  }

  async #sendModel<T>(
    operation: number,
    model: Model<Pool>,
    read: (body: Reader) => T,
    options: Home.AsyncRequestOptions,
    late: (value: T) => void = () => {},
  ): Promise<T> {
    const used: Pool[] = []
    const settled = (): void => used.forEach((pool) => this.#pools.unuse(pool))
    const call = { ...callOptions(options), settled, late }
    const idOf = (pool: Pool): number => {
      const id = this.#pools.use(pool)
      used.push(pool)
      return id
    }
    let message: unknown
    let memory: Pool | undefined
    try {
      message = { model: modelMessage(model, idOf) }
      const body = encodeBody(message)
      if (HEADER_SIZE + body.length > FRAME_MAXIMUM) memory = createFrozenPool(body, { label: 'model' })
    } catch (error) {
      settled()
      throw error
    }
    if (memory === undefined) return this.#channel.request(operation, message, read, call)
    try {
      return await this.#channel.request(operation, {}, read, { ...call, attachments: [memory.attachment!] })
    } finally {
      memory.close()
    }
  }
}

function callOptions({ deadline, priority = 'medium', signal }: Home.AsyncRequestOptions): CallOptions {
  return { timeout: deadline, signal, priority: priorities[priority] }
}

interface Encoded {
  readonly execution: Home.BackendExecution
  readonly pools: readonly Pool[]
  /** The generation of the pools' ids: the message is valid until one of them ends. */
  readonly generation: number
  readonly frame: Buffer
  readonly read: (link: Link) => Home.ExecutionResult
  readonly settle: () => void
}

class RemoteModel implements Home.BackendModel {
  readonly channel: DriverChannel
  readonly id: number
  readonly #pools: SentPools
  readonly #model: Model<Pool>
  #last: Encoded | undefined

  constructor(channel: DriverChannel, pools: SentPools, model: Model<Pool>, id: number) {
    this.channel = channel
    this.id = id
    this.#pools = pools
    this.#model = model
  }

  run(execution: Home.BackendExecution, { priority = 'medium', deadline }: Home.RequestOptions): Home.ExecutionResult {
    const { frame, read, settle } = this.#begin(execution)
    return this.channel.callSync(operations.EXECUTE, frame, read, deadline, priorities[priority], settle)
  }

  async runAsync(execution: Home.BackendExecution, options: Home.AsyncRequestOptions): Promise<Home.ExecutionResult> {
    const { frame, read, settle } = this.#begin(execution)
    this.channel.sent.bytes.set(frame)
    return this.channel.call(operations.EXECUTE, frame.length, read, { ...callOptions(options), settled: settle })
  }

  /** The driver receives one end of a fence and the fences to wait for. It answers at the launch and at the end. */
  async runFenced(execution: Home.BackendExecution, fences: Home.BackendFences): Promise<Home.BackendFenced> {
    const { frame, settle } = this.#begin(execution)
    const { waitFor, timeout, timeoutAfterFences } = fences
    const id = ++lastFenced
    let fence = -1
    let expiry: FenceExpiry | undefined
    try {
      if (waitFor.length >= DESCRIPTORS)
        throw new PoolsError('INVALID_ARGUMENT', `an execution waits for at most ${DESCRIPTORS - 1} fences`)
      const [mine, signal] = socketPair('stream')
      fence = mine
      let launched: Promise<void>
      try {
        expiry = FenceExpiry.of(fence, fences)
        const execute = Buffer.from(frame)
        writeHeader(viewOf(execute), execute.length, { operation: operations.EXECUTE, id })
        const message = { id, execute, timeoutAfterFences }
        const call = { timeout, attachments: [signal, ...waitFor], late: () => this.#forget(id) }
        launched = this.channel.request(operations.EXECUTE_FENCED, message, () => undefined, call)
      } finally {
        closeDescriptor(signal)
      }
      await launched
    } catch (error) {
      if (fence !== -1) closeDescriptor(fence)
      expiry?.close()
      settle()
      throw error
    }
    const outcome = this.#outcomeOf(id, execution.request, settle)
    return { fence, outcome: expiry === undefined ? outcome : expiry.limit(outcome) }
  }

  /** Asks for the outcome of an execution, which the driver keeps until then. */
  #forget(id: number): void {
    this.channel.request(operations.FENCED_INFO, { id }, () => undefined).catch(() => {})
  }

  async #outcomeOf(id: number, request: Request, settled: () => void): Promise<FencedOutcome> {
    const outcome = await this.channel.request(operations.FENCED_INFO, { id }, readOutcome, { settled })
    if (outcome.error === undefined) this.#checkShapes(outcome.outputs, request)
    return outcome
  }

  pin(pool: Pool): () => void {
    this.#pools.use(pool)
    return () => this.#pools.unuse(pool)
  }

  release(): void {
    this.channel.notify(operations.RELEASE_MODEL, { id: this.id })
  }

  /** Encodes an execution, and keeps its pools registered until `settle` is called. @throws {PoolsError} and keeps nothing */
  #begin(execution: Home.BackendExecution): Encoded {
    try {
      const encoded = this.#encode(execution)
      for (const pool of encoded.pools) this.#pools.use(pool)
      return encoded
    } catch (error) {
      execution.release()
      throw error
    }
  }

  /** Returns the message of a request. The last is kept, because encoding takes 0.55 µs of a round trip of 11 µs. */
  #encode(execution: Home.BackendExecution): Encoded {
    const last = this.#last
    if (last?.execution === execution && last.generation === this.#pools.generation) return last
    const { request } = execution
    const pools = request.pools.filter((pool): pool is Pool => pool.kind !== 'token')
    const length = this.#write(request, pools)
    const encoded: Encoded = {
      execution,
      pools,
      generation: this.#pools.generation,
      frame: Buffer.from(this.channel.sent.bytes.subarray(0, length)),
      read: ({ received }) => {
        const result = readResult(received.view)
        this.#checkShapes(result.outputs, request)
        return result
      },
      settle: () => {
        for (const pool of pools) this.#pools.unuse(pool)
        execution.release()
      },
    }
    this.#last = encoded
    return encoded
  }

  /** Writes the message of a request. While it is written, none of its pools makes room for another. */
  #write(request: Home.BackendRequest, pools: readonly Pool[]): number {
    const ids = new Map<unknown, number>()
    try {
      for (const pool of new Set(pools)) ids.set(pool, this.#pools.use(pool))
      return writeExecute(this.channel.sent.view, this.id, request, (pool) => {
        const id = ids.get(pool)
        if (id !== undefined) return { isToken: false, id }
        // A device buffer of another driver has the token 0 here, which is refused (Q11).
        const { buffer } = pool as Home.BackendPool
        if (!(buffer instanceof RemoteBuffer)) return { isToken: true, id: 0 }
        if (!buffer.channel.isAlive)
          throw new PoolsError('DEAD_OBJECT', 'the driver of a device buffer has disconnected', {
            hint: 'Allocate the device buffer again.',
          })
        return { isToken: true, id: buffer.channel === this.channel ? buffer.token : 0 }
      })
    } finally {
      for (const pool of ids.keys()) this.#pools.unuse(pool as Pool)
    }
  }

  /** Checks that shapes from the driver, which may lie, fit the model, the request and the memory (Q14). */
  #checkShapes(outputs: readonly OutputShape[], request: Request): void {
    const { operands, outputIndexes } = this.#model.main
    const isPossible =
      outputs.length === outputIndexes.length &&
      outputs.every((shape, i) => fits(shape, request, i, operands[outputIndexes[i]!]!))
    if (!isPossible) throw failed('Q14', 'the driver answered with shapes that are not possible')
  }
}

function fits({ dimensions, isSufficient }: OutputShape, request: Request, i: number, operand: Operand): boolean {
  const { hasNoValue, location, dimensions: given } = request.outputs[i]!
  if (!isSufficient || !dimensions.every(isU32)) return false
  if (!operandTypes[operand.type].isTensor) return dimensions.length === 0
  const wanted = combineDimensions(operand.dimensions, given)
  if (hasNoValue || wanted === undefined || combineDimensions(wanted, dimensions) === undefined) return false
  return isWhole(request.pools[location.poolIndex]!) || operandByteSize(operand.type, dimensions) <= location.length
}

class RemoteBuffer implements Home.BackendBuffer {
  readonly channel: DriverChannel
  readonly token: number
  readonly #pools: SentPools

  constructor(channel: DriverChannel, pools: SentPools, token: number) {
    this.channel = channel
    this.#pools = pools
    this.token = token
  }

  async copyFrom(source: PoolSlice): Promise<void> {
    await this.#copy(operations.COPY_FROM, source, { dimensions: source.dimensions })
  }

  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    await this.#copy(operations.COPY_TO, target, {})
  }

  release(): void {
    this.channel.notify(operations.RELEASE_BUFFER, { token: this.token })
  }

  async #copy(operation: number, { pool, byteOffset, byteSize }: PoolSlice, more: object): Promise<void> {
    const range = { pool: this.#pools.use(pool), offset: byteOffset, length: byteSize }
    const message = { token: this.token, ...range, ...more }
    await this.channel.request(operation, message, () => undefined, { settled: () => this.#pools.unuse(pool) })
  }
}
