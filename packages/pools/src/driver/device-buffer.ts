import { ManagedLifetime } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { operandByteSize } from '../model/operand-types.ts'
import { createPool } from '../pool/create-pool.ts'
import type { PoolSlice } from '../pool/pool-slice.ts'
import type { BufferShape } from './allocate.ts'
import type { BackendBuffer, BackendPool } from './driver.ts'
import { FallbackBuffer } from './fallback-buffer.ts'

let lastNumber = 0

/**
 * Memory of a driver that this process never sees: what one model writes, another reads, without crossing over. Made by
 * `driver.allocate`; or, where that fails, ordinary memory that is used like it: see `allocateMemory`. Executions that use it
 * keep its contents alive, even if it is closed meanwhile.
 */
export class DeviceBuffer extends ManagedLifetime {
  /** @internal what stands for it among the pools of a request */
  readonly facts: BackendPool
  /** The dimensions that its roles and its allocation settled. */
  readonly dimensions: readonly number[]
  /** What its value has, in bytes. */
  readonly byteSize: number
  readonly #buffer: BackendBuffer

  /** @internal */
  constructor(buffer: BackendBuffer, { operand, dimensions }: BufferShape) {
    super()
    this.#buffer = buffer
    this.dimensions = dimensions
    this.byteSize = operandByteSize(operand.type, dimensions)
    this.facts = {
      kind: 'token',
      byteSize: 0,
      rights: 'writable',
      identity: `token:${++lastNumber}`,
      identityOffset: 0,
      buffer,
    }
  }

  /** Whether it is ordinary memory, since no driver had any (D14). */
  get isFallback(): boolean {
    return this.fallback !== undefined
  }

  /** @internal the ordinary memory, if it is that */
  get fallback(): FallbackBuffer | undefined {
    return this.#buffer instanceof FallbackBuffer ? this.#buffer : undefined
  }

  /**
   * Fills it with the bytes of a slice, whose dimensions settle what allocation left open; or with what another device buffer
   * holds, through memory in between (D26).
   *
   * @throws {PoolsError} D22 to D26; it holds no value then.
   */
  async copyFrom(source: PoolSlice | DeviceBuffer): Promise<void> {
    if (source === this) return
    if (source instanceof DeviceBuffer) await this.#copyFromBuffer(source)
    else await this.#copy(source, () => this.#buffer.copyFrom(source))
  }

  /** Copies its value out. @throws {PoolsError} D25; it keeps its value. */
  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    await this.#copy(target, () => this.#buffer.copyTo(target))
  }

  async #copyFromBuffer(source: DeviceBuffer): Promise<void> {
    const between = createPool(source.byteSize, { label: 'copy' })
    try {
      const slice = between.slice(0, source.byteSize, { dimensions: source.dimensions })
      try {
        await source.copyTo(slice)
      } catch (error) {
        await this.#forget()
        throw error
      }
      await this.copyFrom(slice)
    } finally {
      between[Symbol.dispose]()
    }
  }

  /** Takes the value away, as every failed copy does: an empty copy is one. */
  async #forget(): Promise<void> {
    const nothing = createPool(1)
    try {
      await this.copyFrom(nothing.slice(0, 0))
    } catch (error) {
      if (!(error instanceof PoolsError)) throw error
    } finally {
      nothing[Symbol.dispose]()
    }
  }

  async #copy({ pool }: PoolSlice, run: () => Promise<void>): Promise<void> {
    const holds = [this.acquire(), pool.acquire()]
    try {
      await run()
    } finally {
      for (const hold of holds) hold.release()
    }
  }

  protected override get label(): string {
    return 'the device buffer'
  }

  protected override release(): void {
    this.#buffer.release()
  }
}
