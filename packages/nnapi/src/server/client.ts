import type { Pool } from '@tenon/pools'
import { checkAllocate, type AllocateDescription } from '../driver/allocate.ts'
import { checkGraph, readConstant } from '../engine/check-graph.ts'
import type { DeviceMemory } from '../engine/device-memory.ts'
import { EngineModel } from '../engine/engine-model.ts'
import { type DriverLimits, exhausted } from '../engine/limits.ts'
import type { PlaceBuffer } from '../engine/place-buffer.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { checkModel } from '../model/validate-model.ts'
import type { Budget } from './budget.ts'
import { ClientBuffers } from './client-buffers.ts'

/** The models and hooks of the author of a driver, and the limits of each client. */
export interface ClientParts {
  readonly kernels: KernelRegistry
  readonly allocate: PlaceBuffer | undefined
  readonly limits: DriverLimits
  readonly budget: Budget
}

/** The models and device buffers of one client, which all its channels name. */
export class Client {
  readonly limits: DriverLimits
  readonly buffers: ClientBuffers
  readonly #kernels: KernelRegistry
  readonly #budget: Budget
  readonly #models = new Map<number, EngineModel>()
  #lastModel = 0
  /** Increases with every release: requests that were bound before are bound again. */
  generation = 0
  /** The time of its turns, in milliseconds, for comparison with other clients. */
  time = 0
  /** When its last turn ended, as of `performance.now()`. */
  lastTurn: number = -Infinity
  /** Aborted when the client has left. */
  readonly closing: AbortController = new AbortController()

  constructor({ kernels, allocate, limits, budget }: ClientParts) {
    this.limits = limits
    this.#kernels = kernels
    this.#budget = budget
    this.buffers = new ClientBuffers(limits, budget, allocate)
  }

  prepare(model: Model<Pool>): EngineModel {
    if (this.#models.size >= this.limits.models) throw exhausted(`${this.limits.models} prepared models`)
    const prepared = new EngineModel(++this.#lastModel, model, this.#kernels, this.limits, this.#budget)
    this.#models.set(prepared.id, prepared)
    return prepared
  }

  model(id: number): EngineModel | undefined {
    return this.#models.get(id)
  }

  /** Releases a model. Unknown ids are ignored. */
  releaseModel(id: number): void {
    this.generation++
    this.#models.get(id)?.release()
    this.#models.delete(id)
  }

  /** Returns for each operation whether a request can run it. */
  supportedOperations(model: Model<Pool>): boolean[] {
    checkModel(model)
    return checkGraph(this.#kernels, model.main, (i) => readConstant(model, i)).map((fault) => fault === undefined)
  }

  allocate(models: readonly (EngineModel | undefined)[], description: AllocateDescription): DeviceMemory {
    const live = models.map((model) => (model && this.#models.get(model.id) === model ? model : undefined))
    const copies = live.map((model) => model?.model)
    const shape = checkAllocate(copies, description)
    const { inputRoles, outputRoles } = description
    const roles = [inputRoles, outputRoles].flatMap((list, i) =>
      list.map(({ modelIndex, ioIndex }) => ({ model: live[modelIndex]!, isInput: i === 0, index: ioIndex })),
    )
    return this.buffers.add(shape, roles)
  }

  /** Releases a device buffer. Unknown tokens are ignored. */
  releaseBuffer(token: number): void {
    if (this.buffers.release(token)) this.generation++
  }

  /** Releases everything, and gives the memory back to the system. */
  close(): void {
    this.closing.abort()
    for (const id of [...this.#models.keys()]) this.releaseModel(id)
    this.buffers.close()
  }
}
