import { PoolsError, type Pool } from '@tenon/pools'
import type { AllocateDescription } from '../driver/allocate.ts'
import type * as Home from '../driver/driver.ts'
import type { Model } from '../model/model.ts'
import type { RemoteBackend } from './remote-backend.ts'

/** How long requests wait for a driver to come back, in milliseconds. */
const PATIENCE = 10_000
/** The longest pause between two attempts, in milliseconds. */
const LONGEST_PAUSE = 500

/** A driver at a path to which the client connects again when it ends. The models are prepared again; device buffers are lost. */
export class ReconnectingBackend implements Home.Backend {
  readonly #connect: (deadline: number) => Promise<RemoteBackend>
  readonly #models = new Set<ReconnectingModel>()
  #current: RemoteBackend
  /** Undefined while the driver is connected, and after the attempts have failed. */
  #attempt: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #waiting = 0
  #isClosed = false

  /** @param connect connects within a time in milliseconds. */
  constructor(first: RemoteBackend, connect: (deadline: number) => Promise<RemoteBackend>) {
    this.#connect = connect
    this.#current = first
    this.#follow(first)
  }

  async prepare(model: Model<Pool>, options: Home.AsyncRequestOptions): Promise<Home.BackendModel> {
    await this.ready()
    const prepared = new ReconnectingModel(this, model, await this.#current.prepare(model, options))
    this.#models.add(prepared)
    return prepared
  }

  async supportedOperations(model: Model<Pool>, options: Home.AsyncRequestOptions): Promise<boolean[]> {
    await this.ready()
    return this.#current.supportedOperations(model, options)
  }

  async allocate(
    models: readonly Home.BackendModel[],
    description: AllocateDescription,
    options: Home.AsyncRequestOptions,
  ): Promise<Home.BackendBuffer> {
    await this.ready()
    const current = models.map((model) => (model instanceof ReconnectingModel ? model.current : model))
    return this.#current.allocate(current, description, options)
  }

  async share(
    models: readonly Home.BackendModel[],
    buffers: readonly Home.BackendBuffer[],
  ): Promise<Home.BackendShare> {
    await this.ready()
    const current = models.map((model) => (model instanceof ReconnectingModel ? model.current : model))
    return this.#current.share(current, buffers)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.ref()
    await this.#current.close()
    await this.#attempt
  }

  /** Waits until the driver is connected. @throws {PoolsError} `DEAD_OBJECT` if it does not come back. */
  async ready(): Promise<void> {
    if (this.#current.connection.isAlive) return
    this.#waiting++
    this.#timer?.ref()
    try {
      await (this.#attempt ??= this.#reconnect())
    } finally {
      this.#waiting--
    }
    if (!this.#current.connection.isAlive)
      throw new PoolsError('DEAD_OBJECT', 'the driver has disconnected, and cannot be reached again', {
        hint: 'Start the driver, and try again.',
      })
  }

  forget(model: ReconnectingModel): void {
    this.#models.delete(model)
  }

  #follow(backend: RemoteBackend): void {
    backend.connection.onEnd(() => {
      if (!this.#isClosed) this.#attempt ??= this.#reconnect()
    })
  }

  /** Connects, in several attempts, and prepares all models again. Never rejects. */
  async #reconnect(): Promise<void> {
    const end = performance.now() + PATIENCE
    for (let pause = 1; performance.now() < end; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      await this.#sleep(pause)
      if (this.#isClosed) break
      try {
        const next = await this.#connect(Math.max(end - performance.now(), 1))
        for (const model of this.#models) await model.prepareAgain(next)
        if (this.#isClosed) await next.close()
        if (!next.connection.isAlive) continue
        this.#current = next
        for (const model of this.#models) model.use()
        this.#attempt = undefined
        this.#follow(next)
        return
      } catch {
        // The next attempt may succeed.
      }
    }
    this.#attempt = undefined
  }

  #sleep(pause: number): Promise<void> {
    return new Promise((resolve) => {
      this.#timer = setTimeout(resolve, pause)
      // A process that waits for nothing else may end.
      if (this.#waiting === 0 && !this.#isClosed) this.#timer.unref()
    })
  }
}

/** A model of the driver that is connected at the moment. */
class ReconnectingModel implements Home.BackendModel {
  readonly #backend: ReconnectingBackend
  readonly #model: Model<Pool>
  /** The pools that are kept, and the functions that release them in the driver that is connected. */
  readonly #pins = new Map<object, { readonly pool: Pool; unpin: () => void }>()
  #current: Home.BackendModel
  #next: Home.BackendModel | PoolsError | undefined
  #failure: PoolsError | undefined

  constructor(backend: ReconnectingBackend, model: Model<Pool>, current: Home.BackendModel) {
    this.#backend = backend
    this.#model = model
    this.#current = current
  }

  /** The model of the driver that is connected. @throws {PoolsError} if it could not be prepared again. */
  get current(): Home.BackendModel {
    if (this.#failure !== undefined) throw this.#failure
    return this.#current
  }

  /** Prepares the model in another driver. A refusal is reported when the model is used. @throws {PoolsError} */
  async prepareAgain(backend: Home.Backend): Promise<void> {
    try {
      this.#next = await backend.prepare(this.#model, {})
    } catch (error) {
      if (!(error instanceof PoolsError) || error.status === 'DEAD_OBJECT') throw error
      this.#next = error
    }
  }

  /** Uses what {@link prepareAgain} has prepared. */
  use(): void {
    const next = this.#next
    // A model that was prepared meanwhile belongs to this driver already.
    if (next === undefined) return
    this.#next = undefined
    this.#failure = next instanceof PoolsError ? next : undefined
    if (next instanceof PoolsError) return
    this.#current = next
    for (const pin of this.#pins.values()) pin.unpin = next.pin(pin.pool)
  }

  run(execution: Home.BackendExecution, options: Home.RequestOptions): Home.ExecutionResult {
    return this.#using(execution).run(execution, options)
  }

  async runAsync(execution: Home.BackendExecution, options: Home.AsyncRequestOptions): Promise<Home.ExecutionResult> {
    await this.#ready(execution)
    return this.#using(execution).runAsync(execution, options)
  }

  async runFenced(execution: Home.BackendExecution, fences: Home.BackendFences): Promise<Home.BackendFenced> {
    await this.#ready(execution)
    return this.#using(execution).runFenced(execution, fences)
  }

  pin(pool: Pool): () => void {
    const key = {}
    const unpin = this.current.pin(pool)
    this.#pins.set(key, { pool, unpin })
    return () => {
      this.#pins.get(key)?.unpin()
      this.#pins.delete(key)
    }
  }

  release(): void {
    this.#backend.forget(this)
    this.#current.release()
  }

  async #ready(execution: Home.BackendExecution): Promise<void> {
    try {
      await this.#backend.ready()
    } catch (error) {
      execution.release()
      throw error
    }
  }

  #using(execution: Home.BackendExecution): Home.BackendModel {
    try {
      return this.current
    } catch (error) {
      execution.release()
      throw error
    }
  }
}
