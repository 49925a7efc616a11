import { checkOptions } from '@tenon/core/internal'
import { PoolsError } from '../../error-status.ts'
import { refuseToken, type DeviceMemory } from '../engine/device-memory.ts'
import type { EngineModel } from '../engine/engine-model.ts'
import { bindExecution, type EnginePool } from '../engine/execute.ts'
import { FencedRun, type FencedOutcome } from '../engine/fenced-run.ts'
import { type DriverLimits, limitsOf } from '../engine/limits.ts'
import { Session } from '../../server/session.ts'
import { cpuKernels } from '../kernels/cpu-kernels.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { closeDescriptor, duplicateDescriptor } from '../../memory/descriptor.ts'
import { readable } from '../../link/readable.ts'
import { socketPair } from '../../link/socket.ts'
import type { Pool, PoolSlice } from '../../memory/pool.ts'
import type { Request } from '../request/request.ts'
import type { AllocateDescription } from './allocate.ts'
import { Driver } from './driver-client.ts'
import type * as Home from './driver.ts'

/** The parts of a driver. */
export interface DriverOptions {
  /** Its operations, by default those of the reference CPU driver. */
  readonly kernels?: KernelRegistry
  /** The most that one client may use. Limits that are left out have their defaults. */
  readonly limits?: Partial<DriverLimits>
}

/**
 * Opens a driver on this thread.
 *
 * @example
 * const driver = localDriver()
 * const prepared = await driver.prepare(model)
 * await driver.closeAsync()
 */
export function localDriver(options?: DriverOptions): Driver {
  const { kernels = cpuKernels, limits } = checkOptions(options, ['kernels', 'limits'])
  return new Driver(new LocalBackend(new Session(kernels, limitsOf(limits))))
}

class LocalBackend implements Home.Backend {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async prepare(model: Model<Pool>): Promise<Home.BackendModel> {
    return new LocalModel(this.#session, this.#session.prepare(model))
  }

  async supportedOperations(model: Model<Pool>): Promise<boolean[]> {
    return this.#session.supportedOperations(model)
  }

  async allocate(models: readonly Home.BackendModel[], description: AllocateDescription): Promise<Home.BackendBuffer> {
    const known = models.map((model) => (model instanceof LocalModel ? model.engineModel : undefined))
    return new LocalBuffer(this.#session, this.#session.allocate(known, description))
  }

  close(): void {
    this.#session.close()
  }
}

class LocalModel implements Home.BackendModel {
  readonly session: Session
  readonly engineModel: EngineModel

  constructor(session: Session, engineModel: EngineModel) {
    this.session = session
    this.engineModel = engineModel
  }

  run(request: Home.BackendRequest): Home.ExecutionResult {
    const start = process.hrtime.bigint()
    const bound = bindExecution(this.engineModel, this.#engineRequest(request))
    bound.run()
    return { outputs: bound.outputShapes, driverTime: Number(process.hrtime.bigint() - start) }
  }

  async runAsync(request: Home.BackendRequest): Promise<Home.ExecutionResult> {
    return this.run(request)
  }

  async runFenced(request: Home.BackendRequest, fences: Home.BackendFences): Promise<Home.BackendFenced> {
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
    this.session.releaseModel(this.engineModel.id)
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

  #engineRequest(request: Home.BackendRequest): Request<EnginePool> {
    const pools = request.pools.map((pool, i): EnginePool => {
      if (pool.kind !== 'token') return pool as Pool
      const { buffer } = pool as Home.BackendPool
      const memory = buffer instanceof LocalBuffer ? buffer.memory : undefined
      if (memory === undefined || !this.session.has(memory)) throw refuseToken(`pools[${i}]`)
      return memory
    })
    return { ...request, pools }
  }
}

class LocalBuffer implements Home.BackendBuffer {
  readonly session: Session
  readonly memory: DeviceMemory

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
    this.session.releaseBuffer(this.memory.token)
  }
}
