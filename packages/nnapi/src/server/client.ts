import { failed, refused, type Attachment, memorySize, importPool } from '@tenon/pools/internal'
import { PoolsError, type Pool, type PoolKind } from '@tenon/pools'
import { discardAttachment } from '../link/link.ts'
import { descriptorLimit } from '../link/socket.ts'
import { checkAllocate, checkCopyFrom, type AllocateDescription } from '../driver/allocate.ts'
import { copyRange, DeviceMemory, type PoolRange, refuseToken } from '../engine/device-memory.ts'
import { checkGraph, readConstant } from '../engine/check-graph.ts'
import { EngineModel } from '../engine/engine-model.ts'
import type { DriverLimits } from '../engine/limits.ts'
import { PrivateMemory } from '../engine/memory.ts'
import { TokenSource } from '../engine/token-source.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { isFullySpecified, operandByteSize } from '../model/operand-types.ts'
import { checkModel } from '../model/validate-model.ts'
import { type Reader, u32 } from '../wire/body.ts'
import { readPool } from '../wire/pool-codec.ts'
import type { Budget } from './budget.ts'

/** The pools of files that this process has for its clients. Each has a descriptor, and other pools have none. */
let filePools = 0

/** Everything that a driver keeps for one client: its pools, models and device buffers, and how much of them it may have. */
export class Client {
  readonly kernels: KernelRegistry
  readonly limits: DriverLimits
  readonly #budget: Budget
  readonly #models = new Map<number, EngineModel>()
  #lastModel = 0
  readonly #buffers = new Map<number, DeviceMemory>()
  readonly #tokens = new TokenSource()
  #bufferBytes = 0
  /** Each pool by its id, or the error for requests that name it. */
  readonly #pools = new Map<number, Pool | PoolsError>()
  /** Pools that the client has released, and models or executions still use. */
  readonly #leaving = new Set<Pool>()
  #poolBytes = 0
  /** Increases with every release: requests that were bound before are bound again. */
  generation = 0
  /** Aborted when the client has left. */
  readonly closing: AbortController = new AbortController()

  constructor(kernels: KernelRegistry, limits: DriverLimits, budget: Budget) {
    this.kernels = kernels
    this.limits = limits
    this.#budget = budget
  }

  /** Registers a pool, and takes its attachment over in any case. A failure is reported when the pool is used. */
  registerPool(reader: Reader, attachment: Attachment): void {
    let id: number | undefined
    let isTaken = false
    try {
      id = u32(reader.field('id'))
      if (this.#pools.has(id)) throw refused('P2', 'a pool must come with a new id')
      const pool = this.#import(reader, attachment)
      isTaken = pool.attachment !== undefined
      this.#pools.set(id, pool)
    } catch (error) {
      if (!(error instanceof PoolsError)) throw error
      // The failure is remembered, as long as there is room for it.
      const hasRoom = this.#pools.size < 2 * this.limits.pools
      if (id !== undefined && !this.#pools.has(id) && hasRoom) this.#pools.set(id, error)
    } finally {
      if (!isTaken) discardAttachment(attachment)
    }
  }

  pool(id: number, path: string): Pool {
    const pool = this.#pools.get(id)
    if (pool === undefined) throw refused('Q3', `${path} must be a registered pool`, path)
    if (pool instanceof PoolsError)
      throw new PoolsError(pool.status, `${path}: ${pool.sentence}`, { path, rule: pool.rule })
    return pool
  }

  /** Releases a pool. Unknown ids are ignored (Q19). */
  releasePool(id: number): void {
    this.generation++
    const pool = this.#pools.get(id)
    this.#pools.delete(id)
    if (pool === undefined || pool instanceof PoolsError) return
    this.#leaving.add(pool)
    this.closeUnusedPools()
  }

  closeUnusedPools(): void {
    for (const pool of this.#leaving) {
      if (pool.gate.holds > 0) continue
      this.#leaving.delete(pool)
      this.#countPool(pool.kind, -pool.memorySize)
      pool.close()
    }
  }

  prepare(model: Model<Pool>): EngineModel {
    if (this.#models.size >= this.limits.models) throw exhausted(`${this.limits.models} prepared models`)
    const prepared = new EngineModel(++this.#lastModel, model, this.kernels, this.limits, this.#budget)
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
    this.closeUnusedPools()
  }

  /** Returns for each operation whether a request can run it. */
  supportedOperations(model: Model<Pool>): boolean[] {
    checkModel(model)
    return checkGraph(this.kernels, model.main, (i) => readConstant(model, i)).map((fault) => fault === undefined)
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
    const { bufferBytes } = this.limits
    if (this.#bufferBytes + byteSize > bufferBytes) throw exhausted(`${bufferBytes} bytes of device buffers`)
    const roles = [inputRoles, outputRoles].flatMap((list, i) =>
      list.map(({ modelIndex, ioIndex }) => ({ model: live[modelIndex]!, isInput: i === 0, index: ioIndex })),
    )
    const memory = new PrivateMemory(this.#budget, 'bufferBytes', bufferBytes)
    const buffer = new DeviceMemory(this.#tokens.next(), { operand, dimensions }, roles, memory)
    this.#buffers.set(buffer.token, buffer)
    this.#bufferBytes += byteSize
    return buffer
  }

  buffer(token: number, path: string): DeviceMemory {
    const buffer = this.#buffers.get(token)
    if (buffer === undefined) throw refuseToken(path)
    return buffer
  }

  has(buffer: DeviceMemory): boolean {
    return this.#buffers.get(buffer.token) === buffer
  }

  /** Releases a device buffer. Unknown tokens are ignored. */
  releaseBuffer(token: number): void {
    const buffer = this.#buffers.get(token)
    if (buffer === undefined) return
    this.generation++
    this.#buffers.delete(token)
    this.#bufferBytes -= buffer.memory.bytes.length
    buffer.release()
  }

  /** Copies into a device buffer (D22 to D24), which holds no value if that fails. @throws {PoolsError} */
  copyFrom(buffer: DeviceMemory, source: PoolRange, given: readonly number[]): void {
    buffer.isInitialized = false
    const dimensions = checkCopyFrom({ operand: buffer.operand, dimensions: buffer.initialDimensions }, given)
    const byteSize = operandByteSize(buffer.operand.type, dimensions)
    copyRange(source, byteSize, 'D23', () =>
      source.pool.copyOut(source.byteOffset, buffer.memory.bytes.subarray(0, byteSize)),
    )
    buffer.dimensions = dimensions
    buffer.isInitialized = true
  }

  copyTo({ isInitialized, valueSize, memory }: DeviceMemory, target: PoolRange): void {
    if (!isInitialized) throw failed('D25', 'the device buffer holds no value')
    copyRange(target, valueSize, 'D25', () =>
      target.pool.copyIn(target.byteOffset, memory.bytes.subarray(0, valueSize)),
    )
  }

  /** Releases everything, and gives the memory back to the system. */
  close(): void {
    this.closing.abort()
    for (const id of [...this.#models.keys()]) this.releaseModel(id)
    for (const token of [...this.#buffers.keys()]) this.releaseBuffer(token)
    for (const id of [...this.#pools.keys()]) this.releasePool(id)
    this.closeUnusedPools()
  }

  #import(reader: Reader, attachment: Attachment): Pool {
    const handle = readPool(reader, attachment)
    const byteSize = handle.image === undefined ? handle.byteSize : memorySize(handle.image)
    const { pools, poolBytes } = this.limits
    if (this.#pools.size + this.#leaving.size >= pools) throw exhausted(`${pools} pools`)
    if (this.#poolBytes + byteSize > poolBytes) throw exhausted(`${poolBytes} bytes of pools`)
    if (handle.kind === 'file' && filePools >= descriptorLimit() / 4)
      throw exhausted('a quarter of the descriptors of this process for pools of files, together with other clients')
    this.#countPool(handle.kind, byteSize)
    try {
      return importPool(handle)
    } catch (error) {
      this.#countPool(handle.kind, -byteSize)
      throw error
    }
  }

  #countPool(kind: PoolKind, byteSize: number): void {
    if (byteSize < 0) this.#budget.give('poolBytes', -byteSize)
    else this.#budget.take('poolBytes', byteSize)
    this.#poolBytes += byteSize
    if (kind === 'file') filePools += Math.sign(byteSize)
  }
}

export function exhausted(what: string): PoolsError {
  return new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `a client may have at most ${what}`, {
    hint: 'Release what you do not need any more.',
  })
}
