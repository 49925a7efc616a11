import type { DeviceMemory } from '../engine/device-memory.ts'
import type { EngineModel } from '../engine/engine-model.ts'
import { refuseToken, type EnginePool } from '../engine/execute.ts'
import type { DriverLimits } from '../engine/limits.ts'
import { Session } from '../engine/session.ts'
import { PoolsError } from '../error-status.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Request } from '../request/request.ts'
import type { Reader } from './body.ts'
import { readExecute } from './execute-frame.ts'
import { operations, viewOf } from './frame.ts'
import { readAllocate, readModel } from './model-codec.ts'
import { PoolRegistry } from './pool-registry.ts'

/** What belongs to one client, by the names that its messages have for it. */
export class ClientState {
  readonly pools: PoolRegistry
  readonly #session: Session
  readonly #models = new Map<number, EngineModel>()
  #lastModel = 0

  constructor(kernels: KernelRegistry, limits: DriverLimits) {
    this.#session = new Session(kernels, limits)
    this.pools = new PoolRegistry(limits)
  }

  /** What asks for an answer, but executions. @throws {PoolsError} */
  compute(operation: number, body: Reader): unknown {
    switch (operation) {
      case operations.PREPARE: {
        const model = this.#session.prepare(
          readModel(body.field('model'), (id, i) => this.pools.find(id, `pools[${i}]`)),
        )
        this.#models.set(++this.#lastModel, model)
        return { id: this.#lastModel }
      }
      case operations.SUPPORTED:
        return {
          supported: this.#session.supportedOperations(
            readModel(body.field('model'), (id, i) => this.pools.find(id, `pools[${i}]`)),
          ),
        }
      case operations.ALLOCATE: {
        const models = body.field('models').list((id) => this.#models.get(id.u32()))
        return { token: this.#session.allocate(models, readAllocate(body.field('description'))).token }
      }
      case operations.COPY_FROM: {
        const memory = this.#buffer(body, 'buffer')
        memory.isInitialized = false
        const dimensions = body.field('dimensions').list((size) => size.u32())
        this.#session.copyFrom(
          memory,
          this.pools.find(body.field('pool').u32(), 'source'),
          body.field('offset').u32(),
          body.field('length').u32(),
          dimensions,
        )
        return {}
      }
      case operations.COPY_TO: {
        const pool = this.pools.find(body.field('pool').u32(), 'target')
        this.#session.copyTo(this.#buffer(body, 'buffer'), pool, body.field('offset').u32(), body.field('length').u32())
        return {}
      }
      default:
        throw new PoolsError('INVALID_ARGUMENT', `operation ${operation} must be one that has an answer`)
    }
  }

  /** The model and the memory that a request to execute names. @throws {PoolsError} */
  find(frame: Buffer): { readonly model: EngineModel; readonly request: Request<EnginePool> } {
    const { model: id, inputs, outputs, pools } = readExecute(viewOf(frame))
    const model = this.#models.get(id)
    if (model === undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'model must be a prepared model of this client (rule D4)', {
        rule: 'D4',
        path: 'model',
      })
    const found = pools.map((name, i): EnginePool => {
      if (!name.isToken) return this.pools.find(name.id, `pools[${i}]`)
      const memory = this.#session.buffer(name.id)
      if (memory === undefined) throw refuseToken(`pools[${i}]`)
      return memory
    })
    return { model, request: { inputs, outputs, pools: found } }
  }

  /** An unknown one is no matter. */
  releaseModel(id: number): void {
    const model = this.#models.get(id)
    if (model === undefined) return
    this.#models.delete(id)
    this.#session.releaseModel(model)
    this.pools.closeUnused()
  }

  /** An unknown one is no matter. */
  releaseBuffer(token: number): void {
    const memory = this.#session.buffer(token)
    if (memory !== undefined) this.#session.releaseBuffer(memory)
  }

  /** Gives everything back. */
  close(): void {
    this.#session.close()
    this.#models.clear()
    this.pools.close()
  }

  #buffer(body: Reader, path: string): DeviceMemory {
    const memory = this.#session.buffer(body.field('token').u32())
    if (memory === undefined) throw refuseToken(path)
    return memory
  }
}
