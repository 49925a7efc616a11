import { type Hold, ScopeClosedError } from '@tenon/core'
import { checkOptions, holdAll, inspectAsText, ManagedLifetime, releaseAll, wrongType } from '@tenon/core/internal'
import { counted } from '@tenon/pools/internal'
import { PoolsError, type Pool } from '@tenon/pools'
import { checkModelForm, type Model, modelText } from '../model/model.ts'
import { checkAllocate, type AllocateDescription, type BufferRole, type BufferShape } from './allocate.ts'
import { Burst } from './burst.ts'
import { DeviceBuffer } from './device-buffer.ts'
import { DriverHandles, valuesOf } from './driver-handle.ts'
import type { AsyncRequestOptions, Backend, BackendModel, ExecutionResult, RequestOptions } from './driver.ts'
import { Execution, readArguments, type RunArguments } from './execution.ts'
import { traceFenced, traceRun, traceRunAsync } from './execution-trace.ts'
import { Fence } from './fence.ts'
import { FencedExecution, outcomeOf, type FencedOptions } from './fenced-execution.ts'
import { checkMilliseconds, checkRequestOptions } from './request-options.ts'

/** The options of {@link Driver.allocate} and `allocateMemory`. */
export interface AllocateOptions extends AsyncRequestOptions {
  /** Every use that the buffer will have. The roles settle its type and dimensions. */
  readonly roles: readonly Role[]
  /** The dimensions that the roles leave open. */
  readonly dimensions?: readonly number[]
}

/** One use of a device buffer, for {@link Driver.allocate}. Made by a prepared model. */
export interface Role {
  readonly preparedModel: PreparedModel
  readonly isInput: boolean
  readonly index: number
  readonly frequency: number
}

/** The options of a role. */
export interface RoleOptions {
  /** The share of executions in which the buffer has this role: above 0, at most 1, which is the default. */
  readonly frequency?: number
}

const NO_OPTIONS: RequestOptions = Object.freeze({})

/**
 * A model that a driver has prepared. Close it when you do not need it any more; closing the driver closes it as well.
 *
 * | method             | blocks the thread | the pools are held until                                                   |
 * | ------------------ | ----------------- | -------------------------------------------------------------------------- |
 * | `run()`            | yes               | the driver has answered                                                    |
 * | `runAsync()`       | no                | the driver has answered                                                    |
 * | `runFencedAsync()` | no                | the execution is over, which its fence signals                             |
 * | `burst()`          | as its methods    | the call is answered, though the driver keeps them mapped for the next one |
 *
 * The pools of the model's constants are held until the prepared model is closed.
 */
export class PreparedModel extends ManagedLifetime {
  /** The driver that prepared the model. */
  readonly driver: Driver
  readonly model: Model<Pool>
  /** @internal */
  readonly backend: BackendModel
  readonly #holds: readonly Hold[]
  #last: Execution | undefined

  /** @internal */
  constructor(driver: Driver, model: Model<Pool>, backend: BackendModel) {
    super()
    this.driver = driver
    this.model = model
    this.backend = backend
    this.#holds = holdAll(model.pools)
  }

  /**
   * Executes, and blocks until the answer arrives: the fastest way.
   *
   * @returns the shapes of the outputs, whose values lie in the pools.
   * @throws {PoolsError} with the driver's status, the rule that was broken and the place.
   * @throws {ScopeClosedError} if the model or a pool is closed.
   */
  run(args: RunArguments, options: RequestOptions = NO_OPTIONS): ExecutionResult {
    return traceRun(this.model, () => this.#run(args, options))
  }

  #run(args: RunArguments, options: RequestOptions): ExecutionResult {
    if (options !== NO_OPTIONS) checkRequestOptions(options)
    const execution = this.#begin(args)
    let hasSucceeded = false
    try {
      const result = this.backend.run(execution, options)
      hasSucceeded = true
      return result
    } finally {
      execution.leave()
      execution.settle(hasSucceeded)
    }
  }

  /** Executes while the event loop runs. The pools cannot be closed until the answer arrives. @throws as {@link run} */
  async runAsync(args: RunArguments, options: AsyncRequestOptions = NO_OPTIONS): Promise<ExecutionResult> {
    return traceRunAsync(this.model, () => this.#runAsync(args, options))
  }

  async #runAsync(args: RunArguments, options: AsyncRequestOptions): Promise<ExecutionResult> {
    if (options !== NO_OPTIONS) checkRequestOptions(options, 'signal')
    const execution = this.#begin(args)
    let hasSucceeded = false
    try {
      const result = await this.backend.runAsync(execution, options)
      hasSucceeded = true
      return result
    } finally {
      execution.leave()
      execution.settle(hasSucceeded)
    }
  }

  /**
   * Launches an execution that begins once the given fences are signalled, and that signals a fence of its own. Everything that
   * can be checked is checked before the launch: if the promise rejects, nothing was launched. The pools cannot be closed until
   * the execution is over.
   *
   * @throws {PoolsError} Q16 if the dimensions of an output are not known; and as {@link run}.
   * @example
   * const source = createFence()
   * const pool = createPool(64)
   * const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
   * const execution = await prepared.runFencedAsync(args, { waitFor: [source.fence] })
   * pool.write(0, new Float32Array([1, 2]))
   * source.signal()
   * await execution.fence.waitAsync()
   * const { status } = await execution.info
   * status // 'NONE'
   * for (const owned of [execution, source.fence, pool]) owned.close()
   */
  async runFencedAsync(args: RunArguments, options: FencedOptions = {}): Promise<FencedExecution> {
    return traceFenced(this.model, () => this.#launch(args, options))
  }

  async #launch(args: RunArguments, options: FencedOptions): Promise<FencedExecution> {
    const { waitFor = [], deadlineAfterFences } = options
    checkRequestOptions<FencedOptions & RequestOptions>(options, 'waitFor', 'deadlineAfterFences')
    checkMilliseconds(deadlineAfterFences, 'deadlineAfterFences')
    const fences = holdAll(waitFor)
    let execution: Execution | undefined
    try {
      execution = this.#begin(args)
      const launched = await this.backend.runFenced(execution, {
        waitFor: waitFor.map(({ descriptor }) => descriptor),
        timeout: options.deadline,
        timeoutAfterFences: deadlineAfterFences,
      })
      // The executions that follow may be launched before this one is over.
      execution.settle(true)
      return new FencedExecution(new Fence(launched.fence), outcomeOf(execution, launched.outcome))
    } catch (error) {
      execution?.leave()
      throw error
    } finally {
      releaseAll(fences)
    }
  }

  /** Begins a burst: executions in a row, whose pools the driver keeps. The caller closes it. */
  burst(): Burst {
    this.checkOpen()
    return new Burst(this)
  }

  /** Returns the role of an input of this model. */
  input(index: number, options?: RoleOptions): Role {
    const { frequency = 1 } = checkOptions(options, ['frequency'])
    return { preparedModel: this, isInput: true, index, frequency }
  }

  /** Returns the role of an output of this model. */
  output(index: number, options?: RoleOptions): Role {
    return { ...this.input(index, options), isInput: false }
  }

  override toString(): string {
    return `PreparedModel ${this.isAlive ? modelText(this.model) : '(closed)'}`
  }

  /** Holds the memory of an execution. @throws {ScopeClosedError} @throws {PoolsError} and holds nothing */
  #begin(args: RunArguments): Execution {
    const read = readArguments(args)
    if (this.#last?.isFor(read) !== true) this.#last = new Execution(this, read)
    const execution = this.#last
    execution.enter()
    return execution
  }

  protected override get label(): string {
    return 'the prepared model'
  }

  protected override release(): void {
    try {
      this.backend.release()
    } finally {
      releaseAll(this.#holds)
    }
  }
}

/**
 * A driver, in this thread or elsewhere, with its prepared models and buffers.
 *
 * | made by           | runs in                            | `close()` ends            | if it crashes                    |
 * | ----------------- | ---------------------------------- | ------------------------- | -------------------------------- |
 * | `localDriver()`   | this thread                        | its models and buffers    | this process ends                |
 * | `workerDriver()`  | a thread of this process           | these, and the thread     | this process ends                |
 * | `spawnDriver()`   | a process that this process starts | these, and the process    | requests fail with `DEAD_OBJECT` |
 * | `connectDriver()` | a process that listens on a socket | these, and the connection | requests fail with `DEAD_OBJECT` |
 */
export class Driver {
  static {
    inspectAsText(this)
  }
  readonly #backend: Backend
  readonly #models = new Set<PreparedModel>()
  readonly #buffers = new Set<DeviceBuffer>()
  readonly #handles = new DriverHandles()
  #isClosed = false

  /** @internal */
  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** Whether the driver is open. */
  get isAlive(): boolean {
    return !this.#isClosed
  }

  /**
   * Prepares a model. Its pools cannot be closed until the prepared model is closed.
   *
   * @throws {PoolsError} with the driver's status, the rule that the model breaks and the place.
   */
  async prepare(model: Model<Pool>, options: AsyncRequestOptions = NO_OPTIONS): Promise<PreparedModel> {
    this.#checkRequest(options)
    checkModelForm(model)
    const holds = holdAll(model.pools)
    try {
      return this.#own(this.#models, new PreparedModel(this, model, await this.#backend.prepare(model, options)))
    } finally {
      releaseAll(holds)
    }
  }

  /** Returns, for each operation of a model, whether the driver has it. @throws {PoolsError} if the model is not valid. */
  async supportedOperations(model: Model<Pool>, options: AsyncRequestOptions = NO_OPTIONS): Promise<boolean[]> {
    this.#checkRequest(options)
    checkModelForm(model)
    return this.#backend.supportedOperations(model, options)
  }

  /**
   * Allocates memory of the driver for inputs and outputs of its models.
   *
   * @throws {PoolsError} D1 to D12.
   * @example
   * using state = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
   */
  async allocate(options: AllocateOptions): Promise<DeviceBuffer> {
    this.#checkRequest(options, 'roles', 'dimensions')
    const { models, description, shape } = rolesOf(options)
    const backends = models.map(({ backend }) => backend)
    const allocated = await this.#backend.allocate(backends, description, options)
    return this.#own(this.#buffers, new DeviceBuffer(allocated, shape()))
  }

  /**
   * Makes a handle with which another thread of this process uses this driver, and the models and buffers that are named here. The other
   * thread passes it to `attachDriver()`.
   *
   * @returns a plain object for `postMessage()`, which one thread can attach. Closing the driver ends the driver of the other thread.
   * @throws {PoolsError} `GENERAL_FAILURE` for `localDriver()`, and on Windows; `RESOURCE_EXHAUSTED_TRANSIENT` beyond 16 threads.
   * @example
   * const started = await workerDriver()
   * const handle = await started.share()
   * typeof handle // 'object'
   * await started.closeAsync()
   */
  async share(options?: {
    readonly models?: Readonly<Record<string, PreparedModel>>
    readonly buffers?: Readonly<Record<string, DeviceBuffer>>
  }): Promise<object> {
    const { models = {}, buffers = {} } = checkOptions(options, ['models', 'buffers'])
    this.#checkRequest(NO_OPTIONS)
    const named = holdAll([...valuesOf(models, 'models', PreparedModel), ...valuesOf(buffers, 'buffers', DeviceBuffer)])
    try {
      return await this.#handles.make(this.#backend, models, buffers)
    } finally {
      releaseAll(named)
    }
  }

  /** @internal */
  adoptModel(model: PreparedModel): PreparedModel {
    return this.#own(this.#models, model)
  }

  /** @internal */
  adoptBuffer(buffer: DeviceBuffer): DeviceBuffer {
    return this.#own(this.#buffers, buffer)
  }

  /**
   * Closes the driver, its models and its buffers. Requests in flight fail with `DEAD_OBJECT`.
   *
   * @throws {ScopeClosedError} if it is closed already.
   */
  async closeAsync(): Promise<void> {
    if (this.#isClosed) throw new ScopeClosedError('the driver is closed already')
    this.#isClosed = true
    await this.#backend.close()
    this.#handles.withdraw()
    // Calls that waited for the backend let go of their models and pools first.
    await new Promise((resolve) => setImmediate(resolve))
    for (const owned of [...this.#buffers, ...this.#models]) owned[Symbol.dispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isClosed) await this.closeAsync()
  }

  toString(): string {
    const [models, buffers] = [counted(this.#models.size, 'model'), counted(this.#buffers.size, 'device buffer')]
    return `Driver (${this.#isClosed ? 'closed' : `${models}, ${buffers}`})`
  }

  #own<Owned extends PreparedModel | DeviceBuffer>(all: Set<Owned>, owned: Owned): Owned {
    all.add(owned)
    owned.addCloseAction(() => all.delete(owned))
    return owned
  }

  #checkRequest<Options extends AsyncRequestOptions>(options: Options, ...more: (keyof Options & string)[]): void {
    if (this.#isClosed) throw new PoolsError('DEAD_OBJECT', 'the driver is closed')
    if (options !== NO_OPTIONS) checkRequestOptions(options, 'signal', ...more)
  }
}

/** @internal The models that roles name, each once, and the roles as NNAPI's HAL has them. @throws {ScopeClosedError} */
export function rolesOf(options: AllocateOptions): {
  readonly models: readonly PreparedModel[]
  readonly description: AllocateDescription
  /** Returns the shape of the buffer. @throws {PoolsError} D1 to D10 */
  readonly shape: () => BufferShape
} {
  if (options === undefined) throw wrongType('options', 'an object with roles', options)
  const { roles, dimensions = [] } = options
  if (!Array.isArray(roles)) throw wrongType('roles', 'an array', roles)
  if (!Array.isArray(dimensions)) throw wrongType('dimensions', 'an array of sizes', dimensions)
  const other = roles.find((role) => !(role?.preparedModel instanceof PreparedModel))
  if (roles.length > 0 && other !== undefined)
    throw wrongType('roles', 'roles of prepared models', other, 'Pass prepared.input(index) or prepared.output(index).')
  const models = [...new Set(roles.map((role: Role) => role.preparedModel))]
  for (const model of models) model.checkOpen()
  const listed = (isInput: boolean): BufferRole[] =>
    roles
      .filter((role: Role) => role.isInput === isInput)
      .map(({ preparedModel, index, frequency }: Role) => ({
        modelIndex: models.indexOf(preparedModel),
        ioIndex: index,
        frequency,
      }))
  const description = { dimensions, inputRoles: listed(true), outputRoles: listed(false) }
  // Copies, since roles distinguish prepared models, not the models that they were made of (D7).
  const copies = models.map(({ model }) => ({ ...model }))
  return { models, description, shape: () => checkAllocate(copies, description) }
}
