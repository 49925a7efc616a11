import { failed, isU32, closeDescriptor, DESCRIPTORS, platform, socketPair, isWhole } from '@tenon/pools/internal'
import { PoolsError, type OutputShape, createFrozenPool, type Pool, type PoolSlice } from '@tenon/pools'
import type { FencedOutcome } from '../engine/fenced-run.ts'
import { boolean, encodeBody, type Reader, u32, u32s } from '../wire/body.ts'
import type { CallOptions, Connection } from './connection.ts'
import { type PoolName, readResult, writeExecute } from '../wire/execute-frame.ts'
import { readOutcome } from '../server/fenced-runs.ts'
import { HEADER_SIZE, operations, viewOf, writeHeader } from '../wire/frame.ts'
import { modelMessage } from '../wire/model-codec.ts'
import type { Model, Operand } from '../model/model.ts'
import { combineDimensions, operandByteSize, operandTypes } from '../model/operand-types.ts'
import { FenceExpiry } from './fence-expiry.ts'
import { FRAME_MAXIMUM, type Link } from '../link/link.ts'
import type { Request } from '../request/request.ts'
import type { AllocateDescription } from '../driver/allocate.ts'
import type * as Home from '../driver/driver.ts'
import { priorities } from '../driver/request-options.ts'

let lastFenced = 0

/** A driver behind a channel: in a worker, in a child process, or at a path. */
export class RemoteBackend implements Home.Backend {
  readonly connection: Connection
  readonly #end: () => Promise<void>

  /** @param end stops the process or worker of the driver, after the connection is closed. */
  constructor(connection: Connection, end: () => Promise<void>) {
    this.connection = connection
    this.#end = end
  }

  async prepare(model: Model<Pool>, options: Home.AsyncRequestOptions): Promise<Home.BackendModel> {
    const late = (id: number): void => this.connection.notify(operations.RELEASE_MODEL, { id })
    const id = await this.#sendModel(operations.PREPARE, model, (body) => u32(body.field('id')), options, late)
    return new RemoteModel(this.connection, model, id)
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
    const ids = models.map((model) =>
      model instanceof RemoteModel && model.connection === this.connection ? model.id : 0,
    )
    const late = (unused: number): void => this.connection.notify(operations.RELEASE_BUFFER, { token: unused })
    const message = { models: ids, description }
    const call = { ...callOptions(options), late }
    const token = await this.connection.request(operations.ALLOCATE, message, (body) => u32(body.field('token')), call)
    if (token === 0) throw failed('D13', 'the driver sent no token')
    return new RemoteBuffer(this.connection, token)
  }

  async share(
    models: readonly Home.BackendModel[],
    buffers: readonly Home.BackendBuffer[],
  ): Promise<Home.BackendShare> {
    const names = {
      models: models.map((model) => (this.#has(model, RemoteModel) ? model.id : unknownTo('model'))),
      buffers: buffers.map((buffer) => (this.#has(buffer, RemoteBuffer) ? buffer.token : unknownTo('device buffer'))),
    }
    if (!platform.sharesDescriptors())
      throw new PoolsError('GENERAL_FAILURE', 'threads cannot share a driver on this system, which has no sockets')
    const [mine, theirs] = socketPair('messages')
    try {
      await this.connection.request(operations.JOIN, {}, () => undefined, { attachments: [theirs] })
    } catch (error) {
      closeDescriptor(mine)
      throw error
    } finally {
      closeDescriptor(theirs)
    }
    return { socket: mine, ...names }
  }

  async close(): Promise<void> {
    this.connection.close()
    await this.#end()
  }

  #has<T extends RemoteModel | RemoteBuffer>(part: unknown, kind: new (...args: never) => T): part is T {
    return part instanceof kind && part.connection === this.connection
  }

  async #sendModel<T>(
    operation: number,
    model: Model<Pool>,
    read: (body: Reader) => T,
    options: Home.AsyncRequestOptions,
    late: (value: T) => void = () => {},
  ): Promise<T> {
    const { pools } = this.connection
    const ids = pools.useAll(model.pools)
    const settled = (): void => pools.unuseAll(ids.keys())
    const call = { ...callOptions(options), settled, late }
    let message: unknown
    let memory: Pool | undefined
    try {
      message = { model: modelMessage(model, (pool) => ids.get(pool)!) }
      const body = encodeBody(message)
      if (HEADER_SIZE + body.length > FRAME_MAXIMUM) memory = createFrozenPool(body, { label: 'model' })
    } catch (error) {
      settled()
      throw error
    }
    if (memory === undefined) return this.connection.request(operation, message, read, call)
    try {
      return await this.connection.request(operation, {}, read, { ...call, attachments: [memory.attachment!] })
    } finally {
      memory.close()
    }
  }
}

function unknownTo(what: string): never {
  throw new PoolsError('INVALID_ARGUMENT', `a ${what} that is shared must be one of this driver`)
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

/** A model that a driver has prepared. */
export class RemoteModel implements Home.BackendModel {
  readonly connection: Connection
  readonly id: number
  readonly #model: Model<Pool>
  #last: Encoded | undefined

  constructor(connection: Connection, model: Model<Pool>, id: number) {
    this.connection = connection
    this.id = id
    this.#model = model
  }

  run(execution: Home.BackendExecution, { priority = 'medium', deadline }: Home.RequestOptions): Home.ExecutionResult {
    const { frame, read, settle } = this.#begin(execution)
    return this.connection.callSync(operations.EXECUTE, frame, read, deadline, priorities[priority], settle)
  }

  async runAsync(execution: Home.BackendExecution, options: Home.AsyncRequestOptions): Promise<Home.ExecutionResult> {
    const { frame, read, settle } = this.#begin(execution)
    this.connection.sent.bytes.set(frame)
    return this.connection.call(operations.EXECUTE, frame.length, read, { ...callOptions(options), settled: settle })
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
        launched = this.connection.request(operations.EXECUTE_FENCED, message, () => undefined, call)
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
    this.connection.request(operations.FENCED_INFO, { id }, () => undefined).catch(() => {})
  }

  async #outcomeOf(id: number, request: Request, settled: () => void): Promise<FencedOutcome> {
    const outcome = await this.connection.request(operations.FENCED_INFO, { id }, readOutcome, { settled })
    if (outcome.error === undefined) this.#checkShapes(outcome.outputs, request)
    return outcome
  }

  pin(pool: Pool): () => void {
    const { pools } = this.connection
    pools.use(pool)
    return () => pools.unuse(pool)
  }

  release(): void {
    this.connection.notify(operations.RELEASE_MODEL, { id: this.id })
  }

  /** Returns the message of an execution, whose pools the driver keeps until `settle` is called. @throws {PoolsError} and keeps nothing */
  #begin(execution: Home.BackendExecution): Encoded {
    const { pools } = this.connection
    const last = this.#last
    try {
      // The last message is kept, because encoding takes 0.55 µs of a round trip of 11 µs.
      if (last?.execution !== execution || last.generation !== pools.generation)
        return (this.#last = this.#encode(execution))
      for (const pool of last.pools) pools.use(pool)
      return last
    } catch (error) {
      execution.release()
      throw error
    }
  }

  #encode(execution: Home.BackendExecution): Encoded {
    const { pools: table, sent } = this.connection
    const { request } = execution
    const ids = table.useAll(request.pools.filter((pool): pool is Pool => pool.kind !== 'token'))
    const pools = [...ids.keys()]
    try {
      const length = writeExecute(sent.view, this.id, request, (pool) => {
        const id = ids.get(pool as Pool)
        return id === undefined ? this.#tokenOf(pool as Home.BackendPool) : { isToken: false, id }
      })
      return {
        execution,
        pools,
        generation: table.generation,
        frame: Buffer.from(sent.bytes.subarray(0, length)),
        read: ({ received }) => {
          const result = readResult(received.view)
          this.#checkShapes(result.outputs, request)
          return result
        },
        settle: () => {
          table.unuseAll(pools)
          execution.release()
        },
      }
    } catch (error) {
      table.unuseAll(pools)
      throw error
    }
  }

  /** Names a device buffer. One of another driver has the token 0 here, which is refused (Q11). */
  #tokenOf({ buffer }: Home.BackendPool): PoolName {
    const isRemote = buffer instanceof RemoteBuffer
    if (isRemote && !buffer.connection.isAlive)
      throw new PoolsError('DEAD_OBJECT', 'the driver of a device buffer has disconnected', {
        hint: 'Allocate the device buffer again.',
      })
    return { isToken: true, id: isRemote && buffer.connection === this.connection ? buffer.token : 0 }
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

/** A device buffer of a driver. */
export class RemoteBuffer implements Home.BackendBuffer {
  readonly connection: Connection
  readonly token: number

  constructor(connection: Connection, token: number) {
    this.connection = connection
    this.token = token
  }

  async copyFrom(source: PoolSlice): Promise<void> {
    await this.#copy(operations.COPY_FROM, source, { dimensions: source.dimensions })
  }

  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    await this.#copy(operations.COPY_TO, target, {})
  }

  async shape(): Promise<readonly number[] | undefined> {
    const read = (body: Reader): readonly number[] | undefined => body.field('dimensions').optional(u32s)
    return this.connection.request(operations.BUFFER_SHAPE, { token: this.token }, read)
  }

  release(): void {
    this.connection.notify(operations.RELEASE_BUFFER, { token: this.token })
  }

  async #copy(operation: number, { pool, byteOffset, byteSize }: PoolSlice, more: object): Promise<void> {
    const { pools } = this.connection
    const range = { pool: pools.use(pool), offset: byteOffset, length: byteSize }
    const message = { token: this.token, ...range, ...more }
    await this.connection.request(operation, message, () => undefined, { settled: () => pools.unuse(pool) })
  }
}
