import { ModelUnavailableError } from '../errors.ts'
import { callLater } from './call-later.ts'
import type { Cancellation } from './cancellation.ts'

interface Waiting {
  readonly byteSize: number
  begin(): void
}

/** Shares a number of bytes among requests. A request that finds too few left waits for its turn. */
export class ByteBudget {
  readonly #limit: number
  readonly #timeout: number
  readonly #waiting = new Set<Waiting>()
  #used = 0

  /** @param limit the bytes of all requests. @param timeout the longest time that a request waits, in milliseconds. */
  constructor(limit: number, timeout: number) {
    this.#limit = limit
    this.#timeout = timeout
  }

  /** The bytes of all requests together. A request that needs more may have all of them. */
  get limit(): number {
    return this.#limit
  }

  /** The bytes that requests have now. */
  get used(): number {
    return this.#used
  }

  /**
   * Takes bytes, which {@link release} gives back.
   *
   * @returns a promise if the bytes are not free, and undefined if they were taken at once.
   * @throws (rejects with) {ModelUnavailableError} if they do not become free in time. @throws (rejects with) the reason of the cancellation
   */
  reserve(byteSize: number, cancellation: Cancellation): Promise<void> | undefined {
    if (this.#waiting.size === 0 && this.#used + byteSize <= this.#limit) {
      this.#used += byteSize
      return undefined
    }
    if (cancellation.isCancelled) return Promise.reject(cancellation.reason)
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        takeBack()
        cancellation.listener = undefined
        this.#waiting.delete(waiting)
      }
      const giveUp = (reason: unknown): void => {
        leave()
        this.#startNext()
        reject(reason)
      }
      const takeBack = callLater(() => giveUp(this.#outOfMemory()), this.#timeout)
      cancellation.listener = () => giveUp(cancellation.reason)
      const waiting: Waiting = {
        byteSize,
        begin: () => {
          leave()
          this.#used += byteSize
          resolve()
        },
      }
      this.#waiting.add(waiting)
    })
  }

  release(byteSize: number): void {
    this.#used -= byteSize
    this.#startNext()
  }

  #outOfMemory(): ModelUnavailableError {
    return new ModelUnavailableError(`the requests of the server must have at most ${this.#limit} bytes together`, {
      hint: 'Send the request again later.',
    })
  }

  /** Gives free bytes to those that wait, the first one first. */
  #startNext(): void {
    for (const waiting of this.#waiting) {
      if (this.#used + waiting.byteSize > this.#limit) return
      waiting.begin()
    }
  }
}
