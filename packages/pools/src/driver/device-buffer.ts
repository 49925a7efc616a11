import { ManagedLifetime } from '@tenon/core/internal'
import type { PoolSlice } from '../pool/pool-slice.ts'
import type { BackendBuffer, BackendPool } from './driver.ts'

let lastNumber = 0

/**
 * Memory of a driver that this process never sees: what one model writes, another reads, without crossing over. Made by
 * `driver.allocate`. Executions that use it keep its contents alive, even if it is closed meanwhile.
 */
export class DeviceBuffer extends ManagedLifetime {
  /** @internal what stands for it among the pools of a request */
  readonly facts: BackendPool
  readonly #buffer: BackendBuffer

  /** @internal */
  constructor(buffer: BackendBuffer) {
    super()
    this.#buffer = buffer
    this.facts = {
      kind: 'token',
      byteSize: 0,
      rights: 'writable',
      identity: `token:${++lastNumber}`,
      identityOffset: 0,
      buffer,
    }
  }

  /**
   * Fills it with the bytes of a slice, whose dimensions settle what allocation left open.
   *
   * @throws {PoolsError} D22 to D24; it holds no value then.
   */
  async copyFrom(source: PoolSlice): Promise<void> {
    await this.#copy(source, () => this.#buffer.copyFrom(source))
  }

  /** Copies its value out. @throws {PoolsError} D25; it keeps its value. */
  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    await this.#copy(target, () => this.#buffer.copyTo(target))
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
