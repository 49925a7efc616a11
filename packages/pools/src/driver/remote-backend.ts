import { failed, type OutputShape, PoolsError, statusOf } from '../error-status.ts'
import type { FencedOutcome } from '../engine/fenced-run.ts'
import type { Reader } from '../channel/body.ts'
import { encodeBody } from '../channel/body.ts'
import type { CallOptions, DriverChannel } from '../channel/driver-channel.ts'
import { readResult, writeExecute, type PoolName } from '../channel/execute-frame.ts'
import { readOutcome } from '../channel/fenced-runs.ts'
import { HEADER_SIZE, operations, viewOf, writeHeader } from '../channel/frame.ts'
import { modelMessage } from '../channel/model-codec.ts'
import { SentPools } from '../channel/sent-pools.ts'
import type { Model } from '../model/model.ts'
import { combineDimensions, isU32, operandByteSize, operandTypes } from '../model/operand-types.ts'
import { closeDescriptor } from '../native/descriptor.ts'
import { FRAME_MAXIMUM, type Link } from '../native/link.ts'
import { DESCRIPTORS, socketPair } from '../native/socket.ts'
import { createFrozenPool } from '../pool/create-pool.ts'
import type { Pool, PoolSlice } from '../pool/pool.ts'
import { isWhole, type PoolFacts } from '../pool/pool-facts.ts'
import type { Request } from '../request/request.ts'
import type { AllocateDescription } from './allocate.ts'
import type {
  AsyncRequestOptions,
  Backend,
  BackendBuffer,
  BackendFenced,
  BackendFences,
  BackendModel,
  BackendPool,
  BackendRequest,
  ExecutionResult,
  RequestOptions,
} from './driver.ts'
import { priorities } from './request-options.ts'

/** Numbers of fenced executions. */
let lastFenced = 0

/** A driver behind a channel: in a worker, a child process, or one that listens at a path. */
export class RemoteBackend implements Backend {
  readonly #channel: DriverChannel
  readonly #pools: SentPools
  readonly #end: () => Promise<void>

  /** `end` stops what runs the driver, after the channel is closed. */
  constructor(channel: DriverChannel, end: () => Promise<void>) {
    this.#channel = channel
    this.#pools = new SentPools(channel)
    this.#end = end
  }

  async prepare(model: Model<Pool>, options: AsyncRequestOptions): Promise<BackendModel> {
    const late = (id: number): void => this.#channel.notify(operations.RELEASE_MODEL, { id })
    const id = await this.#sendModel(operations.PREPARE, model, (body) => body.field('id').u32(), options, late)
    return new RemoteModel(this.#channel, this.#pools, model, id)
  }

  async supportedOperations(model: Model<Pool>, options: AsyncRequestOptions): Promise<readonly boolean[]> {
    return this.#sendModel(
      operations.SUPPORTED,
      model,
      (body) => body.field('supported').list((item) => item.boolean()),
      options,
    )
  }

  async allocate(
    models: readonly (BackendModel | undefined)[],
    description: AllocateDescription,
    options: AsyncRequestOptions,
  ): Promise<BackendBuffer> {
    // 0 is no model's id: what isn't this driver's is refused by it (D4).
    const ids = models.map((model) => (model instanceof RemoteModel && model.channel === this.#channel ? model.id : 0))
    const token = await this.#channel.request(
      operations.ALLOCATE,
      { models: ids, description },
      (body) => body.field('token').u32(),
      {
        ...callOptions(options),
        late: (unused: number) => this.#channel.notify(operations.RELEASE_BUFFER, { token: unused }),
      },
    )
    if (token === 0) throw failed('D13', 'the driver gave no token')
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
    options: AsyncRequestOptions,
    late: (value: T) => void = () => {},
  ): Promise<T> {
    const call = callOptions(options)
    const used: Pool[] = []
    const settled = (): void => used.forEach((pool) => this.#pools.unuse(pool))
    let message: unknown
    let memory: Pool | undefined
    try {
      message = {
        model: modelMessage(model, (pool) => {
          const id = this.#pools.idOf(pool)
          this.#pools.use(pool)
          used.push(pool)
          return id
        }),
      }
      const body = encodeBody(message)
      if (HEADER_SIZE + body.length > FRAME_MAXIMUM) memory = createFrozenPool(body, { label: 'model' })
    } catch (error) {
      settled()
      throw error
    }
    if (memory === undefined) return this.#channel.request(operation, message, read, { ...call, settled, late })
    try {
      return await this.#channel.request(operation, {}, read, {
        ...call,
        settled,
        late,
        attachments: [memory.attachment!],
      })
    } finally {
      memory.close()
    }
  }
}

function callOptions(options: AsyncRequestOptions): CallOptions {
  const { deadline: timeout, priority = 'medium', signal } = options
  return { timeout, signal, priority: priorities[priority] }
}

/** A request as a message. */
interface Encoded {
  readonly request: BackendRequest
  readonly pools: readonly Pool[]
  /** The message is good while no pool's id has ended since. */
  readonly generation: number
  readonly frame: Buffer
  readonly read: (link: Link) => ExecutionResult
  readonly settle: () => void
}

class RemoteModel implements BackendModel {
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

  run(request: BackendRequest, { priority = 'medium', deadline }: RequestOptions): ExecutionResult {
    const encoded = this.#encode(request)
    const settled = this.#use(encoded)
    return this.channel.callSync(
      operations.EXECUTE,
      encoded.frame,
      encoded.read,
      deadline,
      priorities[priority],
      settled,
    )
  }

  async runAsync(request: BackendRequest, options: AsyncRequestOptions): Promise<ExecutionResult> {
    const encoded = this.#encode(request)
    this.channel.sent.bytes.set(encoded.frame)
    const settled = this.#use(encoded)
    return this.channel.call(operations.EXECUTE, encoded.frame.length, encoded.read, {
      ...callOptions(options),
      settled,
    })
  }

  /** The driver receives one end of a fence and the fences to wait for. It answers at the launch and at the end. */
  async runFenced(
    request: BackendRequest,
    { waitFor, timeout, timeoutAfterFences }: BackendFences,
  ): Promise<BackendFenced> {
    if (waitFor.length >= DESCRIPTORS)
      throw new PoolsError('INVALID_ARGUMENT', `an execution waits for at most ${DESCRIPTORS - 1} fences`)
    const encoded = this.#encode(request)
    const [fence, signal] = socketPair('stream')
    const settle = this.#use(encoded)
    const id = ++lastFenced
    try {
      const execute = Buffer.from(encoded.frame)
      writeHeader(viewOf(execute), execute.length, { operation: operations.EXECUTE, id })
      const attachments = [signal, ...waitFor]
      const launched = this.channel.request(
        operations.EXECUTE_FENCED,
        { id, execute, timeoutAfterFences },
        () => undefined,
        { timeout, attachments, late: () => this.#forget(id) },
      )
      closeDescriptor(signal)
      await launched
      return { fence, outcome: this.#outcomeOf(id, request, settle) }
    } catch (error) {
      closeDescriptor(fence)
      settle()
      throw error
    }
  }

  /** The driver keeps how an execution went until it was asked. */
  #forget(id: number): void {
    this.channel.request(operations.FENCED_INFO, { id }, () => undefined).catch(() => {})
  }

  async #outcomeOf(id: number, request: Request, settled: () => void): Promise<FencedOutcome> {
    const read = (body: Reader): FencedOutcome => readOutcome(body, statusOf)
    const outcome = await this.channel.request(operations.FENCED_INFO, { id }, read, { settled })
    if (outcome.error === undefined) this.#checkShapes(outcome.outputs, request)
    return outcome
  }

  pin(pool: Pool): () => void {
    this.#pools.idOf(pool)
    this.#pools.use(pool)
    return () => this.#pools.unuse(pool)
  }

  release(): void {
    this.channel.notify(operations.RELEASE_MODEL, { id: this.id })
  }

  /** Returns the message of a request, and sends its pools. The last message is kept: encoding takes 0.55 µs of a round trip of 11 µs. */
  #encode(request: BackendRequest): Encoded {
    const last = this.#last
    if (last?.request === request && last.generation === this.#pools.generation) return last
    const pools = request.pools.filter((pool): pool is Pool => pool.kind !== 'token')
    const length = this.#write(request, pools)
    const encoded: Encoded = {
      request,
      pools,
      generation: this.#pools.generation,
      frame: Buffer.from(this.channel.sent.bytes.subarray(0, length)),
      read: (link) => this.#read(link, request),
      settle: () => this.#unuse(pools),
    }
    this.#last = encoded
    return encoded
  }

  /** Writes the message of a request. None of its pools makes room for another. */
  #write(request: BackendRequest, pools: readonly Pool[]): number {
    const used: Pool[] = []
    try {
      for (const pool of pools) {
        this.#pools.idOf(pool)
        this.#pools.use(pool)
        used.push(pool)
      }
      return writeExecute(this.channel.sent.view, this.id, request, (pool) => this.#nameOf(pool))
    } finally {
      for (const pool of used) this.#pools.unuse(pool)
    }
  }

  /**
   * Keeps the request's pools mapped and registered until the driver has answered, even if the caller stops waiting before.
   *
   * @returns what ends that.
   */
  #use({ pools, settle }: Encoded): () => void {
    for (let i = 0; i < pools.length; i++) {
      pools[i]!.gate.enter()
      this.#pools.use(pools[i]!)
    }
    return settle
  }

  #unuse(pools: readonly Pool[]): void {
    for (let i = 0; i < pools.length; i++) {
      this.#pools.unuse(pools[i]!)
      pools[i]!.gate.exit()
    }
  }

  #nameOf(pool: PoolFacts): PoolName {
    if (pool.kind !== 'token') return { isToken: false, id: this.#pools.idOf(pool as Pool) }
    const { buffer } = pool as BackendPool
    // A buffer of another driver has no token here: 0 is refused (Q11).
    return { isToken: true, id: buffer instanceof RemoteBuffer && buffer.channel === this.channel ? buffer.token : 0 }
  }

  #read({ received }: Link, request: Request): ExecutionResult {
    const { outputs, driverTime } = readResult(received.view)
    this.#checkShapes(outputs, request)
    return { outputs, driverTime }
  }

  /** A driver may lie about shapes too: they must fit the model, the request and the memory (Q14). */
  #checkShapes(outputs: readonly OutputShape[], request: Request): void {
    const { operands, outputIndexes } = this.#model.main
    const isPossible =
      outputs.length === outputIndexes.length &&
      outputs.every((shape, i) => this.#fits(shape, request, i, operands[outputIndexes[i]!]!))
    if (!isPossible) throw failed('Q14', 'the driver answered with shapes that are not possible')
  }

  #fits(
    { dimensions, isSufficient }: OutputShape,
    request: Request,
    i: number,
    operand: Model['main']['operands'][number],
  ): boolean {
    const { hasNoValue, location, dimensions: given } = request.outputs[i]!
    if (!isSufficient || !dimensions.every(isU32)) return false
    if (!operandTypes[operand.type].isTensor) return dimensions.length === 0
    const wanted = combineDimensions(operand.dimensions, given)
    if (hasNoValue || wanted === undefined || combineDimensions(wanted, dimensions) === undefined) return false
    return isWhole(request.pools[location.poolIndex]!) || operandByteSize(operand.type, dimensions) <= location.length
  }
}

class RemoteBuffer implements BackendBuffer {
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
    const id = this.#pools.idOf(pool)
    this.#pools.use(pool)
    const settled = (): void => this.#pools.unuse(pool)
    const message = { token: this.token, pool: id, offset: byteOffset, length: byteSize, ...more }
    await this.channel.request(operation, message, () => undefined, { settled })
  }
}
