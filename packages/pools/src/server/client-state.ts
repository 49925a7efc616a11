import type { PoolRange } from '../nnapi/engine/device-memory.ts'
import type { EngineModel } from '../nnapi/engine/engine-model.ts'
import { bindExecution, type BoundExecution, type EnginePool } from '../nnapi/engine/execute.ts'
import type { DriverLimits } from '../nnapi/engine/limits.ts'
import { Session } from './session.ts'
import { PoolsError, refused } from '../error-status.ts'
import type { KernelRegistry } from '../nnapi/kernels/kernel.ts'
import type { Model } from '../nnapi/model/model.ts'
import type { Pool } from '../memory/pool.ts'
import type { Request } from '../nnapi/request/request.ts'
import { type Reader, u32, u32s } from '../wire/body.ts'
import { readExecute } from '../wire/execute-frame.ts'
import { operations, viewOf } from '../wire/frame.ts'
import { readAllocate, readModel } from '../wire/model-codec.ts'
import { PoolRegistry } from './pool-registry.ts'

/** The resources of one client, by their names in messages. */
export class ClientState {
  readonly pools: PoolRegistry
  readonly #session: Session

  constructor(kernels: KernelRegistry, limits: DriverLimits) {
    this.#session = new Session(kernels, limits)
    this.pools = new PoolRegistry(limits)
  }

  compute(operation: number, body: Reader): unknown {
    switch (operation) {
      case operations.PREPARE:
        return { id: this.#session.prepare(this.#readModel(body)).id }
      case operations.SUPPORTED:
        return { supported: this.#session.supportedOperations(this.#readModel(body)) }
      case operations.ALLOCATE: {
        const models = body.field('models').list((id) => this.#session.model(u32(id)))
        return { token: this.#session.allocate(models, readAllocate(body.field('description'))).token }
      }
      case operations.COPY_FROM: {
        const memory = this.#session.buffer(u32(body.field('token')), 'buffer')
        memory.isInitialized = false
        const dimensions = u32s(body.field('dimensions'))
        this.#session.copyFrom(memory, this.#range(body, 'source'), dimensions)
        return {}
      }
      case operations.COPY_TO: {
        const target = this.#range(body, 'target')
        this.#session.copyTo(this.#session.buffer(u32(body.field('token')), 'buffer'), target)
        return {}
      }
      default:
        throw new PoolsError('INVALID_ARGUMENT', `operation ${operation} must be one that has an answer`)
    }
  }

  bind(frame: Buffer): BoundExecution {
    const { model, request } = this.find(frame)
    return bindExecution(model, request)
  }

  find(frame: Buffer): { readonly model: EngineModel; readonly request: Request<EnginePool> } {
    const { model: id, inputs, outputs, pools } = readExecute(viewOf(frame))
    const model = this.#session.model(id)
    if (model === undefined) throw refused('D4', 'model must be a prepared model of this client', 'model')
    const found = pools.map(({ isToken, id: name }, i): EnginePool => {
      const path = `pools[${i}]`
      return isToken ? this.#session.buffer(name, path) : this.pools.find(name, path)
    })
    return { model, request: { inputs, outputs, pools: found } }
  }

  releaseModel(id: number): void {
    this.#session.releaseModel(id)
    this.pools.closeUnused()
  }

  releaseBuffer(token: number): void {
    this.#session.releaseBuffer(token)
  }

  close(): void {
    this.#session.close()
    this.pools.close()
  }

  #readModel(body: Reader): Model<Pool> {
    return readModel(body.field('model'), (id, i) => this.pools.find(id, `pools[${i}]`))
  }

  #range(body: Reader, path: string): PoolRange {
    return {
      pool: this.pools.find(u32(body.field('pool')), path),
      byteOffset: u32(body.field('offset')),
      byteSize: u32(body.field('length')),
    }
  }
}
