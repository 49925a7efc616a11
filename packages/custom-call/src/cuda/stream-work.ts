import { NativeError } from '@tenon/core'
import type { Gated } from '@tenon/core/internal'
import { expectArrival, type Arrival } from './arrival.ts'
import type { CudaError } from './cuda-error.ts'

export interface WorkDriver {
  /** Has a C function called with its argument when all work enqueued so far is done. @returns the CUresult. */
  callBack(functionAddress: number, argument: number): number
  findFailure(): CudaError | undefined
  /** Waits until the stream is empty. @throws {CudaError} if work failed. */
  wait(): void
}

interface Entry {
  readonly held: readonly Gated[]
  readonly settle?: (error?: CudaError) => void
}

/** The interval in ms at which the stream is asked for failures, after which drivers do not call back. */
const LOOK_EVERY = 50

/**
 * Keeps the operands of a stream's work open until the work is done. At most one callback of the driver is under way at a
 * time, and it covers everything that was enqueued before it.
 */
export class StreamWork {
  readonly #driver: WorkDriver
  readonly #entries: Entry[] = []
  #arrival: Arrival | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(driver: WorkDriver) {
    this.#driver = driver
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** Keeps operands open until the work that is in the stream now is done. */
  keep(held: readonly Gated[]): void {
    for (const { gate } of held) gate.reenter()
    this.#entries.push({ held })
    this.#follow()
  }

  /** Settles when the work that is in the stream now is done. */
  finished(): Promise<void> {
    const last = this.#entries.at(-1)
    if (last === undefined) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#entries.push({ held: [], settle: (error) => (error === undefined ? resolve() : reject(error)) })
    })
  }

  /** Waits for the work, blocks this thread, and settles all entries. */
  wait(): void {
    try {
      this.#driver.wait()
      this.settleAll()
    } catch (error) {
      this.#fail(error as CudaError)
    }
  }

  /** Settles all entries, because the stream is empty. A callback that is still under way will find nothing to do. */
  settleAll(): void {
    this.#settle(this.#entries.length)
    this.#stopLooking()
  }

  #fail(error: CudaError): void {
    this.#arrival?.abandon()
    this.#arrival = undefined
    this.#stopLooking()
    this.#settle(this.#entries.length, error)
  }

  #settle(count: number, error?: CudaError): void {
    for (const { held, settle } of this.#entries.splice(0, count)) {
      for (const { gate } of held) gate.exit()
      settle?.(error)
    }
  }

  /** Requests a callback, unless one is under way or there is nothing to wait for. */
  #follow(): void {
    if (this.#arrival !== undefined || this.isEmpty) return
    const covered = new Set(this.#entries)
    const arrival = expectedOrNone(() => {
      this.#arrival = undefined
      this.#stopLooking()
      // Some entries may have been settled meanwhile; those added since are not done.
      this.#settle(this.#countCovered(covered))
      this.#follow()
    })
    if (arrival !== undefined && this.#driver.callBack(arrival.functionAddress, arrival.argument) === 0) {
      this.#arrival = arrival
      this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY)
      return
    }
    arrival?.forget()
    this.wait()
  }

  /** Counts the leading entries that a callback covers. Entries that only wait are covered by the work before them. */
  #countCovered(covered: ReadonlySet<Entry>): number {
    const first = this.#entries.findIndex((entry) => entry.held.length > 0 && !covered.has(entry))
    return first < 0 ? this.#entries.length : first
  }

  #look(): void {
    const failure = this.#driver.findFailure()
    if (failure !== undefined) this.#fail(failure)
  }

  #stopLooking(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Returns undefined if native code cannot call back, which is the case on Windows without Node-API. */
function expectedOrNone(done: () => void): Arrival | undefined {
  try {
    return expectArrival(done)
  } catch (error) {
    if (error instanceof NativeError) return undefined
    throw error
  }
}
