import { checkOptions, wrongType } from '@tenon/core/internal'
import { PoolsError, type Pool, type PoolSlice } from '@tenon/pools'
import { refuseToken, type DeviceMemory } from '../engine/device-memory.ts'
import type { EngineModel } from '../engine/engine-model.ts'
import { bindExecution } from '../engine/execute.ts'
import type { EnginePool } from '../engine/use.ts'
import { FencedRun, type FencedOutcome } from '../engine/fenced-run.ts'
import { type DriverLimits, limitsOf } from '../engine/limits.ts'
import { unlimitedBudget } from '../server/budget.ts'
import { Client } from '../server/client.ts'
import { cpuKernels } from '../kernels/cpu-kernels.ts'
import type { PlaceBuffer } from '../engine/place-buffer.ts'
import type { PlacedBuffer } from '../engine/placed-buffer.ts'
import type { KernelOperand, KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { closeDescriptor, duplicateDescriptor, readable, socketPair } from '@tenon/pools/internal'
import type { Request } from '../request/request.ts'
import type { AllocateDescription } from './allocate.ts'
import { Driver } from './driver-client.ts'
import type * as Home from './driver.ts'

/** The parts of a driver. */
export interface DriverOptions {
  /** Its operations, by default those of the reference CPU driver. */
  readonly kernels?: KernelRegistry
  /**
   * Places a device buffer in memory of the driver's author, or returns undefined, as without this function, for memory of this package. Dimensions
   * of the operand are open if they are 0, or if there are none; `byteSize` is 0 then. An error refuses the buffer.
   */
  readonly allocate?: (operand: KernelOperand, byteSize: number) => PlacedBuffer | undefined
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
  const { kernels = cpuKernels, allocate, limits } = checkOptions(options, ['kernels', 'allocate', 'limits'])
  const author = { kernels, allocate: checkPlacing(allocate), limits: limitsOf(limits) }
  return new Driver(new LocalBackend(new Client({ ...author, budget: unlimitedBudget() })))
}

/** @throws {ArgumentError} for other values than functions */
export function checkPlacing(allocate: PlaceBuffer | undefined): PlaceBuffer | undefined {
  if (allocate === undefined || typeof allocate === 'function') return allocate
  throw wrongType('allocate', 'a function that places a device buffer', allocate)
}

class LocalBackend implements Home.Backend {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  async prepare(model: Model<Pool>): Promise<Home.BackendModel> {
    return new LocalModel(this.#client, this.#client.prepare(model))
  }

  async supportedOperations(model: Model<Pool>): Promise<boolean[]> {
    return this.#client.supportedOperations(model)
  }

  async allocate(models: readonly Home.BackendModel[], description: AllocateDescription): Promise<Home.BackendBuffer> {
    const known = models.map((model) => (model instanceof LocalModel ? model.engineModel : undefined))
    return new LocalBuffer(this.#client, this.#client.allocate(known, description))
  }

  async share(): Promise<never> {
    throw new PoolsError('GENERAL_FAILURE', 'a driver of localDriver() can only be used by its thread', {
      hint: 'Start the driver with workerDriver() or spawnDriver().',
    })
  }

  close(): void {
    this.#client.close()
  }
}

class LocalModel implements Home.BackendModel {
  readonly client: Client
  readonly engineModel: EngineModel

  constructor(client: Client, engineModel: EngineModel) {
    this.client = client
    this.engineModel = engineModel
  }

  run({ request, release }: Home.BackendExecution): Home.ExecutionResult {
    const start = process.hrtime.bigint()
    try {
      const bound = bindExecution(this.engineModel, this.#engineRequest(request))
      try {
        bound.run()
      } finally {
        bound.release()
      }
      return { outputs: bound.outputShapes, driverTime: Number(process.hrtime.bigint() - start) }
    } finally {
      release()
    }
  }

  async runAsync(execution: Home.BackendExecution): Promise<Home.ExecutionResult> {
    return this.run(execution)
  }

  async runFenced(
    { request, release }: Home.BackendExecution,
    fences: Home.BackendFences,
  ): Promise<Home.BackendFenced> {
    const opened: number[] = []
    try {
      const [fence, signal] = socketPair('stream')
      opened.push(fence, signal)
      for (const descriptor of fences.waitFor) opened.push(duplicateDescriptor(descriptor))
      const terms = { ...fences, waitFor: opened.slice(2), signal }
      const run = new FencedRun(this.engineModel, this.#engineRequest(request), terms)
      return { fence, outcome: this.#outcomeOf(run).finally(release) }
    } catch (error) {
      opened.forEach(closeDescriptor)
      release()
      throw error
    }
  }

  /** No-op: the driver sees the pools of this thread. */
  pin(): () => void {
    return () => {}
  }

  release(): void {
    this.client.releaseModel(this.engineModel.id)
  }

  async #outcomeOf(run: FencedRun): Promise<FencedOutcome> {
    const { signal } = this.client.closing
    for (;;) {
      const [fence] = run.waitsFor
      // Without fences to wait for, it runs once the caller has received its own fence.
      if (fence === undefined) await new Promise((resolve) => setImmediate(resolve))
      else await readable(fence, run.deadline - performance.now(), signal)
      if (signal.aborted) {
        run.close()
        throw new PoolsError('DEAD_OBJECT', 'the driver was closed')
      }
      if (run.isDue()) return run.finish((execute) => execute())
    }
  }

  #engineRequest(request: Home.BackendRequest): Request<EnginePool> {
    const pools = request.pools.map((pool, i): EnginePool => {
      if (pool.kind !== 'token') return pool as Pool
      const { buffer } = pool as Home.BackendPool
      const memory = buffer instanceof LocalBuffer ? buffer.memory : undefined
      if (memory === undefined || !this.client.buffers.has(memory)) throw refuseToken(`pools[${i}]`)
      return memory
    })
    return { ...request, pools }
  }
}

class LocalBuffer implements Home.BackendBuffer {
  readonly client: Client
  readonly memory: DeviceMemory

  constructor(client: Client, memory: DeviceMemory) {
    this.client = client
    this.memory = memory
  }

  async copyFrom(source: PoolSlice): Promise<void> {
    this.client.buffers.copyFrom(this.memory, source, source.dimensions)
  }

  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    this.client.buffers.copyTo(this.memory, target)
  }

  async shape(): Promise<readonly number[] | undefined> {
    return this.memory.valueDimensions
  }

  release(): void {
    this.client.releaseBuffer(this.memory.token)
  }
}
