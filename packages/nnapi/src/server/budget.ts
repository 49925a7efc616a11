import { PoolsError } from '@tenon/pools'
import type { DriverTotals } from './totals.ts'

/** What all clients of a driver may have together, in bytes. */
type ByteTotals = Pick<DriverTotals, 'poolBytes' | 'workingBytes' | 'bufferBytes'>

const NAMES: Readonly<Record<keyof ByteTotals, string>> = {
  poolBytes: 'pools',
  workingBytes: 'working memory',
  bufferBytes: 'device buffers',
}

/** The sums of a budget, in the order in which shared memory has them. */
export const BUDGETED = Object.keys(NAMES) as readonly (keyof ByteTotals)[]

/**
 * The bytes that the clients of a driver have together. Each executor writes its own sums, which lie in memory that all executors
 * see, so that the sums of an executor that has ended are forgotten with it.
 */
export class Budget {
  readonly #sums: BigInt64Array
  readonly #executor: number
  readonly #totals: ByteTotals

  /** @param sums three sums for each executor. */
  constructor(sums: BigInt64Array, executor: number, totals: ByteTotals) {
    this.#sums = sums
    this.#executor = executor
    this.#totals = totals
    this.clear()
  }

  /** Counts bytes until {@link give}. @throws {PoolsError} `RESOURCE_EXHAUSTED_TRANSIENT` if the clients have too many. */
  take(kind: keyof ByteTotals, byteSize: number): void {
    // The bytes are counted first: of two executors that take the last ones at once, both may fail, but never both succeed.
    this.#add(kind, byteSize)
    const total = this.#totals[kind]
    if (this.used(kind) <= total) return
    this.#add(kind, -byteSize)
    throw new PoolsError(
      'RESOURCE_EXHAUSTED_TRANSIENT',
      `the clients of this driver may have at most ${total} bytes of ${NAMES[kind]} together`,
      { hint: 'Try again when other clients have released some.' },
    )
  }

  /** Forgets the bytes of the executor, which has just started, or has ended. */
  clear(): void {
    for (let i = 0; i < BUDGETED.length; i++) Atomics.store(this.#sums, this.#at(this.#executor, i), 0n)
  }

  give(kind: keyof ByteTotals, byteSize: number): void {
    this.#add(kind, -byteSize)
  }

  /** The bytes that all clients have. */
  used(kind: keyof ByteTotals): number {
    let sum = 0n
    const at = BUDGETED.indexOf(kind)
    for (let i = at; i < this.#sums.length; i += BUDGETED.length) sum += Atomics.load(this.#sums, i)
    return Number(sum)
  }

  #add(kind: keyof ByteTotals, byteSize: number): void {
    Atomics.add(this.#sums, this.#at(this.#executor, BUDGETED.indexOf(kind)), BigInt(byteSize))
  }

  #at(executor: number, sum: number): number {
    return executor * BUDGETED.length + sum
  }
}

/** Returns the budget of a driver for one client, whose own limits are enough. */
export function unlimitedBudget(): Budget {
  const totals = { poolBytes: Infinity, workingBytes: Infinity, bufferBytes: Infinity }
  return new Budget(new BigInt64Array(BUDGETED.length), 0, totals)
}
