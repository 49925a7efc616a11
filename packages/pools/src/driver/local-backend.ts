import { PoolsError } from '../error-status.ts'
import { refuseToken, type DeviceMemory } from '../engine/device-memory.ts'
import type { EngineModel } from '../engine/engine-model.ts'
import { bindExecution, type EnginePool } from '../engine/execute.ts'
import { FencedRun, type FencedOutcome } from '../engine/fenced-run.ts'
import type { Session } from '../engine/session.ts'
import type { Model } from '../model/model.ts'
import { closeDescriptor, duplicateDescriptor } from '../native/descriptor.ts'
import { readable } from '../native/readable.ts'
import { socketPair } from '../native/socket.ts'
import type { PoolSlice, Pool } from '../pool/pool.ts'
import type { Request } from '../request/request.ts'
import type { AllocateDescription } from './allocate.ts'
import type {
  Backend,
  BackendBuffer,
  BackendFenced,
  BackendFences,
  BackendModel,
  BackendPool,
  BackendRequest,
  ExecutionResult,
} from './driver.ts'

/** A driver in this process, on this thread. */
export class LocalBackend implements Backend {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async prepare(model: Model<Pool>): Promise<BackendModel> {
    return new LocalModel(this.#session, this.#session.prepare(model))
  }

  async supportedOperations(model: Model<Pool>): Promise<readonly boolean[]> {
    return this.#session.supportedOperations(model)
  }

  async allocate(
    models: readonly (BackendModel | undefined)[],
    description: AllocateDescription,
  ): Promise<BackendBuffer> {
    const own = models.map((model) =>
      model instanceof LocalModel && model.session === this.#session ? model.engineModel : undefined,
    )
    return new LocalBuffer(this.#session, this.#session.allocate(own, description))
  }

  close(): void {
    this.#session.close()
  }
}

class LocalModel implements BackendModel {
  readonly session: Session
  readonly engineModel: EngineModel

  constructor(session: Session, engineModel: EngineModel) {
    this.session = session
    this.engineModel = engineModel
  }

  run(request: BackendRequest): ExecutionResult {
    const start = process.hrtime.bigint()
    const bound = bindExecution(this.engineModel, this.#engineRequest(request))
    bound.run()
    return { outputs: bound.outputShapes, driverTime: Number(process.hrtime.bigint() - start) }
  }

  async runAsync(request: BackendRequest): Promise<ExecutionResult> {
    return this.run(request)
  }

  async runFenced(request: BackendRequest, fences: BackendFences): Promise<BackendFenced> {
    const [fence, signal] = socketPair('stream')
    const waitFor: number[] = []
    try {
      for (const descriptor of fences.waitFor) waitFor.push(duplicateDescriptor(descriptor))
      const run = new FencedRun(this.engineModel, this.#engineRequest(request), { ...fences, waitFor, signal })
      return { fence, outcome: this.#outcomeOf(run) }
    } catch (error) {
      for (const descriptor of [fence, signal, ...waitFor]) closeDescriptor(descriptor)
      throw error
    }
  }

  /** No-op: the driver sees the pools of this thread. */
  pin(): () => void {
    return () => {}
  }

  release(): void {
    this.session.releaseModel(this.engineModel)
  }

  async #outcomeOf(run: FencedRun): Promise<FencedOutcome> {
    const { signal } = this.session.closing
    for (;;) {
      const [fence] = run.waitsFor
      // Without fences to wait for, it runs once the caller has received its own fence.
      if (fence === undefined) await new Promise((resolve) => setImmediate(resolve))
      else await readable(fence, run.deadline - performance.now(), signal)
      if (signal.aborted) {
        run.close()
        throw new PoolsError('DEAD_OBJECT', 'the driver was closed')
      }
      const outcome = run.step()
      if (outcome !== undefined) return outcome
    }
  }

  #engineRequest(request: BackendRequest): Request<EnginePool> {
    return { ...request, pools: request.pools.map((pool, i) => this.#enginePool(pool, i)) }
  }

  #enginePool(pool: Pool | BackendPool, index: number): EnginePool {
    if (pool.kind !== 'token') return pool as Pool
    const { buffer } = pool as BackendPool
    if (buffer instanceof LocalBuffer && buffer.session === this.session && !buffer.isReleased) return buffer.memory
    throw refuseToken(`pools[${index}]`)
  }
}

class LocalBuffer implements BackendBuffer {
  readonly session: Session
  readonly memory: DeviceMemory
  isReleased = false

  constructor(session: Session, memory: DeviceMemory) {
    this.session = session
    this.memory = memory
  }

  async copyFrom(source: PoolSlice): Promise<void> {
    this.session.copyFrom(this.memory, source, source.dimensions)
  }

  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    this.session.copyTo(this.memory, target)
  }

  release(): void {
    this.isReleased = true
    this.session.releaseBuffer(this.memory)
  }
}
