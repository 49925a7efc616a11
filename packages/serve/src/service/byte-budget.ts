import { ModelUnavailableError } from '../errors.ts'
import { callLater } from './call-later.ts'
import type { Cancellation } from './cancellation.ts'

interface Waiting {
  readonly byteSize: number
  begin(): void
}

/** Shares a number of bytes among requests. A request that finds too few left waits for its turn. */
export class ByteBudget {
  readonly limit: number
  readonly #timeout: number
  /** Requests that hold bytes come first, because others may wait for these bytes. */
  readonly #holders = new Set<Waiting>()
  readonly #others = new Set<Waiting>()
  #used = 0

  /** @param limit the bytes of all requests. @param timeout the longest time that a request waits, in milliseconds. */
  constructor(limit: number, timeout: number) {
    this.limit = limit
    this.#timeout = timeout
  }

  /** The bytes that requests have now. */
  get used(): number {
    return this.#used
  }

  /**
   * Takes bytes, which {@link release} gives back. {@link ByteShare} does both for a request.
   *
   * @param isHolder whether the request has bytes already.
   * @returns a promise if the bytes are not free, and undefined if they were taken at once.
   * @throws (rejects with) {ModelUnavailableError} if they do not become free in time. @throws (rejects with) the reason of the cancellation
   */
  reserve(byteSize: number, cancellation: Cancellation, isHolder = false): Promise<void> | undefined {
    const isFirst = this.#holders.size === 0 && (isHolder || this.#others.size === 0)
    if (isFirst && this.#used + byteSize <= this.limit) {
      this.#used += byteSize
      return undefined
    }
    if (cancellation.isCancelled) return Promise.reject(cancellation.reason)
    const queue = isHolder ? this.#holders : this.#others
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        takeBack()
        cancellation.listener = undefined
        queue.delete(waiting)
      }
      const giveUp = (reason: unknown): void => {
        leave()
        this.#startNext()
        reject(reason)
      }
      const takeBack = callLater(() => giveUp(this.outOfMemory()), this.#timeout)
      cancellation.listener = () => giveUp(cancellation.reason)
      const waiting: Waiting = {
        byteSize,
        begin: () => {
          leave()
          this.#used += byteSize
          resolve()
        },
      }
      queue.add(waiting)
    })
  }

  /** Takes bytes if they are free, also before requests that wait. @returns whether they were taken. */
  tryReserve(byteSize: number): boolean {
    if (this.#used + byteSize > this.limit) return false
    this.#used += byteSize
    return true
  }

  release(byteSize: number): void {
    this.#used -= byteSize
    this.#startNext()
  }

  /** The error of a request for which there are not enough bytes. */
  outOfMemory(): ModelUnavailableError {
    return new ModelUnavailableError(`the requests of the server must have at most ${this.limit} bytes together`, {
      hint: 'Send the request again later.',
    })
  }

  /** Gives free bytes to those that wait, in their order. */
  #startNext(): void {
    if (this.#holders.size + this.#others.size === 0) return
    for (const all of [this.#holders, this.#others]) {
      for (const waiting of all) {
        if (this.#used + waiting.byteSize > this.limit) return
        waiting.begin()
      }
    }
  }
}

/** The bytes of one request. One that needs more than the budget gets all of it. */
export class ByteShare {
  readonly #budget: ByteBudget
  readonly #cancellation: Cancellation
  #held = 0

  constructor(budget: ByteBudget, cancellation: Cancellation) {
    this.#budget = budget
    this.#cancellation = cancellation
  }

  /** The bytes that the request still needs to have this many, or all of the budget. */
  lacks(byteSize: number): number {
    return Math.min(byteSize, this.#budget.limit) - this.#held
  }

  /** Takes bytes until the request has this many. @returns undefined if they are there. @throws (rejects) as {@link ByteBudget.reserve} */
  reserve(byteSize: number): Promise<void> | undefined {
    const more = this.lacks(byteSize)
    if (more <= 0) return undefined
    const waiting = this.#budget.reserve(more, this.#cancellation, this.#held > 0)
    if (waiting === undefined) this.#held += more
    return waiting?.then(() => void (this.#held += more))
  }

  /** Takes bytes until the request has this many, without waiting. @returns whether they are there. */
  tryReserve(byteSize: number): boolean {
    const more = this.lacks(byteSize)
    if (more <= 0) return true
    if (!this.#budget.tryReserve(more)) return false
    this.#held += more
    return true
  }

  /** Gives all bytes back. */
  release(): void {
    this.#budget.release(this.#held)
    this.#held = 0
  }
}

/** Fewer received bytes share their memory with others, or are left to the collector. */
const LEAST_FREED = 2048

/**
 * Gives the memory of received bytes back, after which they are gone. The collector would do so only after many more, and looks at
 * all objects of the program each time.
 *
 * @param others the most bytes beside them in their memory that nobody needs either. With more, nothing happens.
 */
export function freeBytes({ buffer, length }: Uint8Array, others: number = 0): void {
  const isAlone = buffer.byteLength <= length + others
  if (length >= LEAST_FREED && isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
