import { ArgumentError } from '@tenon/core'
import { describe, ManagedLifetime } from '@tenon/core/internal'
import { counted, failed, invalid } from '@tenon/pools/internal'
import { type Pool, PoolSlice } from '@tenon/pools'
import type { AsyncRequestOptions, BackendModel, ExecutionResult, RequestOptions } from './driver.ts'
import { readArguments, type RunArguments } from './execution.ts'

/** The options of a burst's executions. */
export interface BurstOptions {
  /** For a `Request`: a number for each of its pools, for {@link Burst.releasePool}; -1 for none. */
  readonly identifiers?: readonly number[]
}

export interface BurstModel {
  readonly backend: BackendModel
  run(args: RunArguments, options?: RequestOptions): ExecutionResult
  runAsync(args: RunArguments, options?: AsyncRequestOptions): Promise<ExecutionResult>
}

/**
 * A series of executions of one model, one at a time. The driver keeps its mappings of the pools that they use until the pools
 * are released here or closed, or the burst is closed, however many other pools it receives. Made by `prepared.burst()`.
 *
 * @example
 * const burst = prepared.burst()
 * burst.close()
 */
export class Burst extends ManagedLifetime {
  readonly #prepared: BurstModel
  readonly #named = new Map<number, Pool>()
  /** For each pool that the driver keeps, the function that releases it. */
  readonly #kept = new Map<Pool, () => void>()
  readonly #watched = new WeakSet<Pool>()
  #isRunning = false

  /** @internal */
  constructor(prepared: BurstModel) {
    super()
    this.#prepared = prepared
  }

  /**
   * Executes as `prepared.run` does.
   *
   * @throws {PoolsError} Q19: `GENERAL_FAILURE` while another execution of the burst runs, `INVALID_ARGUMENT` for identifiers
   * that are not one for each pool, or that name another pool.
   */
  run(args: RunArguments, options: RequestOptions & BurstOptions = {}): ExecutionResult {
    const { identifiers, ...rest } = options
    const read = readArguments(args)
    this.#begin(read, identifiers)
    try {
      return this.#prepared.run(read, rest)
    } finally {
      this.#isRunning = false
    }
  }

  /** Executes as `prepared.runAsync` does. @throws as {@link run} */
  async runAsync(args: RunArguments, options: AsyncRequestOptions & BurstOptions = {}): Promise<ExecutionResult> {
    const { identifiers, ...rest } = options
    const read = readArguments(args)
    this.#begin(read, identifiers)
    try {
      return await this.#prepared.runAsync(read, rest)
    } finally {
      this.#isRunning = false
    }
  }

  /** Lets the driver release a pool, named by itself or by its identifier. Unknown pools are ignored. */
  releasePool(pool: Pool | number): void {
    const named = typeof pool === 'number' ? this.#named.get(pool) : pool
    if (named === undefined) return
    for (const [identifier, other] of this.#named) if (other === named) this.#named.delete(identifier)
    this.#kept.get(named)?.()
    this.#kept.delete(named)
  }

  #begin(args: RunArguments, identifiers: readonly number[] | undefined): void {
    this.checkOpen()
    if (this.#isRunning) throw failed('Q19', 'a burst runs one execution at a time')
    const pools = poolsOf(args)
    if (identifiers !== undefined) this.#name(pools, identifiers)
    for (const pool of pools) if (!this.#kept.has(pool)) this.#keep(pool)
    this.#isRunning = true
  }

  #keep(pool: Pool): void {
    pool.checkOpen()
    this.#kept.set(pool, this.#prepared.backend.pin(pool))
    if (this.#watched.has(pool)) return
    this.#watched.add(pool)
    pool.addCloseAction(() => this.releasePool(pool))
  }

  #name(pools: readonly Pool[], identifiers: readonly number[]): void {
    if (!Array.isArray(identifiers))
      throw new ArgumentError(`identifiers must be numbers, got ${describe(identifiers)}`)
    if (identifiers.length !== pools.length)
      throw invalid('Q19', 'identifiers', `must be ${pools.length}, one for each pool`, identifiers.length)
    identifiers.forEach((identifier: number, i) => {
      if (!Number.isSafeInteger(identifier) || identifier < -1)
        throw invalid('Q19', `identifiers[${i}]`, 'must be -1 or a number from 0', identifier)
      const known = identifier === -1 ? undefined : this.#named.get(identifier)
      if (known !== undefined && known !== pools[i])
        throw invalid('Q19', `identifiers[${i}]`, `must not name another pool before it is released`, identifier)
    })
    identifiers.forEach((identifier: number, i) => {
      if (identifier !== -1) this.#named.set(identifier, pools[i]!)
    })
  }

  override toString(): string {
    return `Burst (${this.isAlive ? counted(this.#kept.size, 'pool') : 'closed'})`
  }

  protected override get label(): string {
    return 'the burst'
  }

  protected override release(): void {
    for (const unpin of this.#kept.values()) unpin()
    this.#kept.clear()
    this.#named.clear()
  }
}

/** The pools of an execution, in the order of a request. */
function poolsOf(args: RunArguments): readonly Pool[] {
  if ('pools' in args) return args.pools
  const slices = [...args.inputs, ...args.outputs].filter((argument) => argument instanceof PoolSlice)
  return [...new Set(slices.map(({ pool }) => pool))]
}
