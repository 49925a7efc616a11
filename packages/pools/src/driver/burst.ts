import { ArgumentError } from '@tenon/core'
import { describe, ManagedLifetime } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import type { Pool } from '../pool/pool.ts'
import { PoolSlice } from '../pool/pool-slice.ts'
import type { Request } from '../request/request.ts'
import type { AsyncRequestOptions, ExecutionResult, RequestOptions } from './driver.ts'
import type { ExecutionArguments, PreparedModel } from './prepared-model.ts'

/** Options of a burst's executions. */
export interface BurstOptions {
  /** For a `Request`: a number for each of its pools, by which {@link Burst.releasePool} knows it; -1 for none. */
  readonly identifiers?: readonly number[]
}

/**
 * Executions of one model in a row: the driver keeps the pools that they use, mapped, until they are released here, closed, or
 * the burst is closed, however many others it is sent meanwhile. One execution at a time. Made by `prepared.burst()`.
 *
 * @example
 * const burst = prepared.burst()
 * burst.close()
 */
export class Burst extends ManagedLifetime {
  readonly #prepared: PreparedModel
  readonly #named = new Map<number, Pool>()
  /** How to let the driver forget each pool that it keeps. */
  readonly #kept = new Map<Pool, () => void>()
  readonly #watched = new WeakSet<Pool>()
  #isRunning = false

  /** @internal */
  constructor(prepared: PreparedModel) {
    super()
    this.#prepared = prepared
  }

  /**
   * As `prepared.executeSync`.
   *
   * @throws {PoolsError} Q19: `GENERAL_FAILURE` while another execution of the burst runs, `INVALID_ARGUMENT` for identifiers
   * that aren't one for each pool, or stand for another pool.
   */
  executeSync(args: ExecutionArguments | Request<Pool>, options: RequestOptions & BurstOptions = {}): ExecutionResult {
    const { identifiers, ...rest } = options
    this.#begin(args, identifiers)
    try {
      return this.#prepared.executeSync(args, rest)
    } finally {
      this.#isRunning = false
    }
  }

  /** As `prepared.execute`. @throws as {@link executeSync} */
  async execute(
    args: ExecutionArguments | Request<Pool>,
    options: AsyncRequestOptions & BurstOptions = {},
  ): Promise<ExecutionResult> {
    const { identifiers, ...rest } = options
    this.#begin(args, identifiers)
    try {
      return await this.#prepared.execute(args, rest)
    } finally {
      this.#isRunning = false
    }
  }

  /** Lets the driver forget a pool, or what an identifier stands for. What the burst doesn't know is no matter. */
  releasePool(pool: Pool | number): void {
    const named = typeof pool === 'number' ? this.#named.get(pool) : pool
    if (named === undefined) return
    for (const [identifier, other] of this.#named) if (other === named) this.#named.delete(identifier)
    this.#kept.get(named)?.()
    this.#kept.delete(named)
  }

  #begin(args: ExecutionArguments | Request<Pool>, identifiers: readonly number[] | undefined): void {
    this.checkAlive()
    if (this.#isRunning)
      throw new PoolsError('GENERAL_FAILURE', 'a burst runs one execution at a time (rule Q19)', { rule: 'Q19' })
    const pools = poolsOf(args)
    this.#name(pools, identifiers)
    for (const pool of pools) if (!this.#kept.has(pool)) this.#keep(pool)
    this.#isRunning = true
  }

  #keep(pool: Pool): void {
    pool.checkAlive()
    this.#kept.set(pool, this.#prepared.backend.pin(pool))
    if (this.#watched.has(pool)) return
    this.#watched.add(pool)
    pool.addCloseAction(() => this.releasePool(pool))
  }

  #name(pools: readonly Pool[], identifiers: readonly number[] | undefined): void {
    if (identifiers === undefined) return
    if (!Array.isArray(identifiers))
      throw new ArgumentError(`identifiers must be numbers, got ${describe(identifiers)}`)
    if (identifiers.length !== pools.length)
      throw refused('identifiers', `must be ${pools.length}, one for each pool, got ${identifiers.length}`)
    identifiers.forEach((identifier: number, i) => {
      if (!Number.isSafeInteger(identifier) || identifier < -1)
        throw refused(`identifiers[${i}]`, `must be -1 or a number from 0, got ${String(identifier)}`)
      const known = identifier === -1 ? undefined : this.#named.get(identifier)
      if (known !== undefined && known !== pools[i])
        throw refused(`identifiers[${i}]`, `stands for another pool until it is released: ${identifier}`)
    })
    identifiers.forEach((identifier: number, i) => {
      if (identifier !== -1) this.#named.set(identifier, pools[i]!)
    })
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
function poolsOf(args: ExecutionArguments | Request<Pool>): readonly Pool[] {
  if ('pools' in args) return args.pools
  const slices = [...args.inputs, ...args.outputs].filter((argument) => argument instanceof PoolSlice)
  return [...new Set(slices.map(({ pool }) => pool))]
}

const refused = (path: string, sentence: string): PoolsError =>
  new PoolsError('INVALID_ARGUMENT', `${path} ${sentence} (rule Q19)`, { rule: 'Q19', path })
