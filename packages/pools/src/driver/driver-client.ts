import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import type { Model } from '../model/model.ts'
import type { Pool } from '../pool/pool.ts'
import { checkAllocate, type AllocateDescription, type BufferRole, type BufferShape } from './allocate.ts'
import { DeviceBuffer } from './device-buffer.ts'
import type { AsyncRequestOptions, Backend } from './driver.ts'
import { PreparedModel, type Role } from './prepared-model.ts'

/** What a device buffer is for. */
export interface AllocateOptions extends AsyncRequestOptions {
  /** Every use that the buffer will have; they settle its type and dimensions. */
  readonly roles: readonly Role[]
  /** What the roles leave open. */
  readonly dimensions?: readonly number[]
}

/** A driver, wherever it lives. Made by `localDriver`, `workerDriver`, `spawnDriver` and `connectDriver`. */
export class Driver {
  readonly #backend: Backend
  readonly #models = new Set<PreparedModel>()
  readonly #buffers = new Set<DeviceBuffer>()
  #isClosed = false

  /** @internal */
  constructor(backend: Backend) {
    this.#backend = backend
  }

  /**
   * Has the driver take a model in. Its pools can't be closed until the prepared model is.
   *
   * @throws {PoolsError} with the driver's status, the rule that the model breaks and the place.
   */
  async prepare(model: Model<Pool>, options: AsyncRequestOptions = {}): Promise<PreparedModel> {
    this.#checkOpen()
    const holds = model.pools.map((pool) => pool.acquire())
    try {
      const prepared = new PreparedModel(this, model, await this.#backend.prepare(model, options))
      this.#models.add(prepared)
      prepared.addCloseAction(() => this.#models.delete(prepared))
      return prepared
    } finally {
      for (const hold of holds) hold.release()
    }
  }

  /** Which operations of a model the driver has. @throws {PoolsError} if the model isn't valid. */
  async supportedOperations(model: Model<Pool>, options: AsyncRequestOptions = {}): Promise<readonly boolean[]> {
    this.#checkOpen()
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
    this.#checkOpen()
    const { models, description, shape } = rolesOf(options)
    const allocated = await this.#backend.allocate(
      models.map((model) => model.backend),
      description,
      options,
    )
    const buffer = new DeviceBuffer(allocated, shape())
    this.#buffers.add(buffer)
    buffer.addCloseAction(() => this.#buffers.delete(buffer))
    return buffer
  }

  /**
   * Ends the driver: its models and buffers are closed, requests in flight fail with `DEAD_OBJECT`. Idempotent.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#backend.close()
    // What waited for the backend lets go of its models and pools first.
    await new Promise((resolve) => setImmediate(resolve))
    for (const owned of [...this.#buffers, ...this.#models]) owned[Symbol.dispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new PoolsError('DEAD_OBJECT', 'the driver is closed')
  }
}

/** The models that roles name, each once, and the roles as NNAPI's HAL has them. @throws {ScopeClosedError} */
export function rolesOf({ roles, dimensions = [] }: AllocateOptions): {
  readonly models: readonly PreparedModel[]
  readonly description: AllocateDescription
  /** What the buffer will be like. @throws {PoolsError} D1 to D10 */
  readonly shape: () => BufferShape
} {
  if (!Array.isArray(roles)) throw new ArgumentError(`roles must be an array, got ${describe(roles)}`)
  const models = [...new Set(roles.map((role: Role) => role.preparedModel))]
  for (const model of models) model.checkAlive()
  const listed = (isInput: boolean): BufferRole[] =>
    roles
      .filter((role: Role) => role.isInput === isInput)
      .map(({ preparedModel, index, frequency }: Role) => ({
        modelIndex: models.indexOf(preparedModel),
        ioIndex: index,
        frequency,
      }))
  const description = { dimensions, inputRoles: listed(true), outputRoles: listed(false) }
  // Copies, since roles tell prepared models apart, not the models that they were made of (D7).
  const copies = models.map(({ model }) => ({ ...model }))
  return { models, description, shape: () => checkAllocate(copies, description) }
}
