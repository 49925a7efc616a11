import { holdAll, ManagedLifetime, releaseAll, wrongType } from '@tenon/core/internal'
import { PoolsError, createPool, PoolSlice } from '@tenon/pools'
import { failed } from '@tenon/pools/internal'
import { combineDimensions, isFullySpecified, type OperandType, operandByteSize } from '../model/operand-types.ts'
import type { Operand } from '../model/model.ts'
import type { BackendBuffer, BackendPool } from './driver.ts'
import { FallbackBuffer } from './fallback-buffer.ts'

let lastNumber = 0

/**
 * Memory of a driver that this process never sees: the output of one execution and the input of another, which is not copied
 * in between. Made by `driver.allocate`, or by `allocateMemory`, which takes ordinary memory where the driver has none. An
 * execution keeps the contents alive, even if the buffer is closed meanwhile.
 *
 * A buffer of open dimensions grows with the values that executions write into it. As an input, it has the dimensions of its value.
 *
 * @example
 * const buffer = await driver.allocate({ roles: [prepared.output(0)] })
 * await buffer.shape() // undefined
 * buffer.close()
 */
export class DeviceBuffer extends ManagedLifetime {
  /** @internal stands for the buffer among the pools of a request */
  readonly facts: BackendPool
  /** The dimensions from its roles and its allocation: 0 is open, and no dimensions are an open rank. {@link shape} has those of its value. */
  readonly dimensions: readonly number[]
  /** The size of its value in bytes; 0 if dimensions are open. */
  readonly byteSize: number
  /** @internal */
  readonly type: OperandType
  readonly #buffer: BackendBuffer

  /** @internal */
  constructor(
    buffer: BackendBuffer,
    { operand, dimensions }: { readonly operand: Pick<Operand, 'type'>; readonly dimensions: readonly number[] },
  ) {
    super()
    this.#buffer = buffer
    this.type = operand.type
    this.dimensions = dimensions
    this.byteSize = operandByteSize(operand.type, dimensions)
    const identity = `token:${++lastNumber}`
    this.facts = { kind: 'token', byteSize: 0, rights: 'writable', identity, identityOffset: 0, buffer }
  }

  /** Whether it is ordinary memory, because no driver had any (D14). */
  get isFallback(): boolean {
    return this.fallback !== undefined
  }

  /** @internal the ordinary memory, for a fallback */
  get fallback(): FallbackBuffer | undefined {
    return this.#buffer instanceof FallbackBuffer ? this.#buffer : undefined
  }

  /** @internal */
  get backend(): BackendBuffer {
    return this.#buffer
  }

  /**
   * Asks the driver for the dimensions of the value, which the last execution or copy has set: what {@link copyTo} needs for a buffer
   * of open dimensions.
   *
   * @returns undefined if the buffer holds no value. @throws {ScopeClosedError} @throws {PoolsError} if the driver is gone
   * @example
   * const buffer = await driver.allocate({ roles: [prepared.input(0)] })
   * await buffer.shape() // undefined
   * buffer.close()
   */
  async shape(): Promise<readonly number[] | undefined> {
    const hold = this.acquire()
    try {
      const dimensions = await this.#buffer.shape()
      if (dimensions === undefined || this.#fits(dimensions)) return dimensions
      throw failed('Q14', 'the driver answered with dimensions that are not possible')
    } finally {
      hold.release()
    }
  }

  #fits(dimensions: readonly number[]): boolean {
    const isPossible = combineDimensions(this.dimensions, dimensions)?.every((size, axis) => size === dimensions[axis])
    return isPossible === true && isFullySpecified(this.type, dimensions)
  }

  /**
   * Copies the bytes of a slice into the buffer. The dimensions of the slice settle those that the allocation left open. Another
   * device buffer is copied through memory in between (D26).
   *
   * @throws {PoolsError} D22 to D26; afterwards the buffer holds no value.
   */
  async copyFrom(source: PoolSlice | DeviceBuffer): Promise<void> {
    if (source === this) return
    if (source instanceof DeviceBuffer) await this.#copyFromBuffer(source)
    else await this.#copy(source, 'source', () => this.#buffer.copyFrom(source))
  }

  /** Copies the value of the buffer out. @throws {PoolsError} D25; the buffer keeps its value. */
  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    await this.#copy(target, 'target', () => this.#buffer.copyTo(target))
  }

  async #copyFromBuffer(source: DeviceBuffer): Promise<void> {
    const dimensions = (await source.shape()) ?? source.dimensions
    const byteSize = operandByteSize(source.type, dimensions)
    const between = createPool(Math.max(byteSize, 1), { label: 'copy' })
    try {
      const slice = between.slice(0, byteSize, { dimensions })
      try {
        await source.copyTo(slice)
      } catch (error) {
        await this.#forget(between.slice(0, 0))
        throw error
      }
      await this.copyFrom(slice)
    } finally {
      between[Symbol.dispose]()
    }
  }

  /** Takes the value away, as every failed copy does, and a copy of nothing fails. */
  async #forget(nothing: PoolSlice): Promise<void> {
    try {
      await this.copyFrom(nothing)
    } catch (error) {
      if (!(error instanceof PoolsError)) throw error
    }
  }

  async #copy(slice: PoolSlice, name: string, run: () => Promise<void>): Promise<void> {
    if (!(slice instanceof PoolSlice)) throw wrongType(name, 'a slice of a pool', slice)
    const holds = holdAll([this, slice.pool])
    try {
      await run()
    } finally {
      releaseAll(holds)
    }
  }

  override toString(): string {
    const isOpen = this.byteSize === 0
    const state = this.isAlive
      ? `${isOpen ? 'open size' : `${this.byteSize} bytes`}${this.isFallback ? ' of ordinary memory' : ''}`
      : 'closed'
    return `DeviceBuffer [${this.dimensions.join(', ')}] (${state})`
  }

  protected override get label(): string {
    return 'the device buffer'
  }

  protected override release(): void {
    this.#buffer.release()
  }
}
