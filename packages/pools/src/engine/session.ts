import { PoolsError } from '../error-status.ts'
import { checkAllocate, checkCopyFrom, type AllocateDescription } from '../driver/allocate.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { isFullySpecified, operandByteSize } from '../model/operand-types.ts'
import { checkModel } from '../model/validate-model.ts'
import type { Pool } from '../pool/pool.ts'
import { DeviceMemory } from './device-memory.ts'
import { EngineModel } from './engine-model.ts'
import type { DriverLimits } from './limits.ts'
import { TokenSource } from './token-source.ts'

/** What a driver keeps for one client: gone with it in one call. */
export class Session {
  readonly kernels: KernelRegistry
  readonly limits: DriverLimits
  readonly #models = new Set<EngineModel>()
  readonly #buffers = new Map<number, DeviceMemory>()
  readonly #tokens = new TokenSource()
  #bufferBytes = 0
  /** Aborted when it is closed. */
  readonly closing: AbortController = new AbortController()

  constructor(kernels: KernelRegistry, limits: DriverLimits) {
    this.kernels = kernels
    this.limits = limits
  }

  /** @throws {PoolsError} M1 to M20 */
  prepare(model: Model<Pool>): EngineModel {
    if (this.#models.size >= this.limits.models) throw exhausted(`${this.limits.models} prepared models`)
    const prepared = new EngineModel(model, this.kernels, this.limits)
    this.#models.add(prepared)
    return prepared
  }

  releaseModel(model: EngineModel): void {
    this.#models.delete(model)
    model.release()
  }

  /** Which operations the driver has kernels for (M19). @throws {PoolsError} if the model isn't valid. */
  supportedOperations(model: Model): boolean[] {
    checkModel(model)
    return model.main.operations.map(({ type }) => this.kernels.has(type))
  }

  /** @throws {PoolsError} D1 to D11 */
  allocate(models: readonly (EngineModel | undefined)[], description: AllocateDescription): DeviceMemory {
    const live = models.map((model) => (model !== undefined && this.#models.has(model) ? model : undefined))
    const { operand, dimensions } = checkAllocate(
      live.map((model) => model?.model),
      description,
    )
    if (!isFullySpecified(operand.type, dimensions)) {
      throw new PoolsError(
        'GENERAL_FAILURE',
        'a device buffer of open size is not supported by this driver (rule D11)',
        { rule: 'D11' },
      )
    }
    const byteSize = operandByteSize(operand.type, dimensions)
    if (this.#buffers.size >= this.limits.buffers) throw exhausted(`${this.limits.buffers} device buffers`)
    if (this.#bufferBytes + byteSize > this.limits.bufferBytes)
      throw exhausted(`${this.limits.bufferBytes} bytes of device buffers`)
    const roles = [
      ...description.inputRoles.map(({ modelIndex, ioIndex }) => ({
        model: live[modelIndex]!,
        isInput: true,
        index: ioIndex,
      })),
      ...description.outputRoles.map(({ modelIndex, ioIndex }) => ({
        model: live[modelIndex]!,
        isInput: false,
        index: ioIndex,
      })),
    ]
    const memory = new DeviceMemory(this.#tokens.next(), operand, dimensions, roles)
    this.#buffers.set(memory.token, memory)
    this.#bufferBytes += byteSize
    return memory
  }

  buffer(token: number): DeviceMemory | undefined {
    return this.#buffers.get(token)
  }

  releaseBuffer(memory: DeviceMemory): void {
    if (this.#buffers.delete(memory.token)) this.#bufferBytes -= memory.memory.bytes.length
  }

  /** Fills a device buffer (D22 to D24); if that fails, it holds no value afterwards. @throws {PoolsError} */
  copyFrom(memory: DeviceMemory, source: Pool, offset: number, length: number, given: readonly number[]): void {
    memory.isInitialized = false
    const dimensions = checkCopyFrom({ operand: memory.operand, dimensions: memory.initialDimensions }, given)
    const expected = operandByteSize(memory.operand.type, dimensions)
    checkRange(source, offset, length, expected, 'D23')
    const faults = source.faults
    source.copyOut(offset, memory.memory.bytes.subarray(0, length))
    if (source.faults !== faults) throw lost('D22')
    memory.dimensions = dimensions
    memory.isInitialized = true
  }

  /** Copies a device buffer's value out (D25). @throws {PoolsError} */
  copyTo(memory: DeviceMemory, target: Pool, offset: number, length: number): void {
    if (!memory.isInitialized)
      throw new PoolsError('GENERAL_FAILURE', 'the device buffer holds no value (rule D25)', { rule: 'D25' })
    checkRange(target, offset, length, memory.valueSize, 'D25')
    if (target.rights !== 'writable')
      throw new PoolsError('INVALID_ARGUMENT', `the target must be writable, it is ${target.rights} (rule P18)`, {
        rule: 'P18',
      })
    const faults = target.faults
    target.copyIn(offset, memory.memory.bytes.subarray(0, length))
    if (target.faults !== faults) throw lost('D22')
  }

  /** Everything of the client is given back. */
  close(): void {
    this.closing.abort()
    for (const model of this.#models) model.release()
    this.#models.clear()
    this.#buffers.clear()
    this.#bufferBytes = 0
  }
}

function checkRange(pool: Pool, offset: number, length: number, expected: number, rule: string): void {
  if (pool.kind === 'device-image')
    throw new PoolsError('GENERAL_FAILURE', 'an image can not be copied from or to a device buffer (rule D22)', {
      rule: 'D22',
    })
  if (length !== expected)
    throw new PoolsError(
      'INVALID_ARGUMENT',
      `the memory must have exactly ${expected} bytes, got ${length} (rule ${rule})`,
      { rule },
    )
  if (offset + length > pool.byteSize)
    throw new PoolsError(
      'INVALID_ARGUMENT',
      `the memory must lie inside the pool's ${pool.byteSize} bytes (rule D22)`,
      { rule: 'D22' },
    )
}

const lost = (rule: string): PoolsError =>
  new PoolsError('GENERAL_FAILURE', `the file became shorter during the copy (rule ${rule})`, { rule })

/** A client asks for more than its share. */
export function exhausted(what: string): PoolsError {
  return new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `a client may have at most ${what}`, {
    hint: 'release what is not needed any more.',
  })
}
