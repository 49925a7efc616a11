import { failed, PoolsError } from '../error-status.ts'
import { checkAllocate, checkCopyFrom, type AllocateDescription } from '../nnapi/driver/allocate.ts'
import type { KernelRegistry } from '../nnapi/kernels/kernel.ts'
import type { Model } from '../nnapi/model/model.ts'
import { isFullySpecified, operandByteSize } from '../nnapi/model/operand-types.ts'
import { checkModel } from '../nnapi/model/validate-model.ts'
import type { Pool } from '../memory/pool.ts'
import { copyRange, DeviceMemory, type PoolRange, refuseToken } from '../nnapi/engine/device-memory.ts'
import { EngineModel } from '../nnapi/engine/engine-model.ts'
import type { DriverLimits } from '../nnapi/engine/limits.ts'
import { TokenSource } from '../nnapi/engine/token-source.ts'

/** The models and device buffers of one client. */
export class Session {
  readonly kernels: KernelRegistry
  readonly limits: DriverLimits
  readonly #models = new Map<number, EngineModel>()
  #lastModel = 0
  readonly #buffers = new Map<number, DeviceMemory>()
  readonly #tokens = new TokenSource()
  #bufferBytes = 0
  /** Aborted when it is closed. */
  readonly closing: AbortController = new AbortController()

  constructor(kernels: KernelRegistry, limits: DriverLimits) {
    this.kernels = kernels
    this.limits = limits
  }

  prepare(model: Model<Pool>): EngineModel {
    if (this.#models.size >= this.limits.models) throw exhausted(`${this.limits.models} prepared models`)
    const prepared = new EngineModel(++this.#lastModel, model, this.kernels, this.limits)
    this.#models.set(prepared.id, prepared)
    return prepared
  }

  model(id: number): EngineModel | undefined {
    return this.#models.get(id)
  }

  /** Releases a model. Unknown ids are ignored. */
  releaseModel(id: number): void {
    this.#models.get(id)?.release()
    this.#models.delete(id)
  }

  supportedOperations(model: Model): boolean[] {
    checkModel(model)
    return model.main.operations.map(({ type }) => this.kernels.has(type))
  }

  allocate(models: readonly (EngineModel | undefined)[], description: AllocateDescription): DeviceMemory {
    const live = models.map((model) => (model && this.#models.get(model.id) === model ? model : undefined))
    const copies = live.map((model) => model?.model)
    const { operand, dimensions } = checkAllocate(copies, description)
    if (!isFullySpecified(operand.type, dimensions))
      throw failed('D11', 'a device buffer of open size is not supported by this driver')
    const { inputRoles, outputRoles } = description
    const byteSize = operandByteSize(operand.type, dimensions)
    if (this.#buffers.size >= this.limits.buffers) throw exhausted(`${this.limits.buffers} device buffers`)
    if (this.#bufferBytes + byteSize > this.limits.bufferBytes)
      throw exhausted(`${this.limits.bufferBytes} bytes of device buffers`)
    const roles = [inputRoles, outputRoles].flatMap((list, i) =>
      list.map(({ modelIndex, ioIndex }) => ({ model: live[modelIndex]!, isInput: i === 0, index: ioIndex })),
    )
    const memory = new DeviceMemory(this.#tokens.next(), { operand, dimensions }, roles)
    this.#buffers.set(memory.token, memory)
    this.#bufferBytes += byteSize
    return memory
  }

  buffer(token: number, path: string): DeviceMemory {
    const memory = this.#buffers.get(token)
    if (memory === undefined) throw refuseToken(path)
    return memory
  }

  has(memory: DeviceMemory): boolean {
    return this.#buffers.get(memory.token) === memory
  }

  /** Releases a device buffer. Unknown tokens are ignored. */
  releaseBuffer(token: number): void {
    this.#bufferBytes -= this.#buffers.get(token)?.memory.bytes.length ?? 0
    this.#buffers.delete(token)
  }

  /** Copies into a device buffer (D22 to D24), which holds no value if that fails. @throws {PoolsError} */
  copyFrom(memory: DeviceMemory, source: PoolRange, given: readonly number[]): void {
    memory.isInitialized = false
    const dimensions = checkCopyFrom({ operand: memory.operand, dimensions: memory.initialDimensions }, given)
    const byteSize = operandByteSize(memory.operand.type, dimensions)
    copyRange(source, byteSize, 'D23', () =>
      source.pool.copyOut(source.byteOffset, memory.memory.bytes.subarray(0, byteSize)),
    )
    memory.dimensions = dimensions
    memory.isInitialized = true
  }

  copyTo({ isInitialized, valueSize, memory }: DeviceMemory, target: PoolRange): void {
    if (!isInitialized) throw failed('D25', 'the device buffer holds no value')
    copyRange(target, valueSize, 'D25', () =>
      target.pool.copyIn(target.byteOffset, memory.bytes.subarray(0, valueSize)),
    )
  }

  close(): void {
    this.closing.abort()
    for (const model of this.#models.values()) model.release()
    this.#models.clear()
    this.#buffers.clear()
    this.#bufferBytes = 0
  }
}

export function exhausted(what: string): PoolsError {
  return new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `a client may have at most ${what}`, {
    hint: 'Release what you do not need any more.',
  })
}
