import { NativeError } from '@tenon/core'
import type { Gated } from '@tenon/core/internal'
import { expectArrival, type Arrival } from '../async/expect-arrival.ts'
import type { CudaError } from './cuda-error.ts'

/** What the driver does for the list: told by the stream. */
export interface WorkDriver {
  /** Has a C function called with its argument when all work of now is done. @returns the CUresult */
  callBack(functionAddress: number, argument: number): number
  /** What is wrong with the stream or its device; undefined if nothing is. */
  findFailure(): CudaError | undefined
  /** Waits until the stream is empty. @throws {CudaError} if work failed. */
  wait(): void
}

/** One piece of work: what it keeps open, and who waits for it. */
interface Entry {
  readonly held: readonly Gated[]
  resolve?: () => void
  reject?: (error: CudaError) => void
}

/** After a kernel has failed, drivers call nobody back: so often the stream is asked instead, in ms. */
const LOOK_EVERY = 50

/**
 * What the work of a stream keeps open until it is done. One callback at most is under way at a time: it covers all that was
 * enqueued before it.
 */
export class StreamWork {
  readonly #driver: WorkDriver
  /** In the order of the stream. */
  #entries: Entry[] = []
  #arrival: Arrival | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(driver: WorkDriver) {
    this.#driver = driver
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** Keeps operands open until what is in the stream now is done. */
  keep(held: readonly Gated[]): void {
    for (const { gate } of held) gate.reenter()
    this.#entries.push({ held })
    this.#follow()
  }

  /** Settles when what is in the stream now is done. */
  finished(): Promise<void> {
    const last = this.#entries.at(-1)
    if (last === undefined) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#entries.push({ held: [], resolve, reject })
    })
  }

  /** The stream is empty: everything was waited for. */
  settleAll(): void {
    this.#settle(this.#entries.length)
    // The callback may still be on its way, and finds nothing to do.
    this.#stopLooking()
  }

  /** Nothing of it will be done. */
  fail(error: CudaError): void {
    const entries = this.#entries
    this.#entries = []
    this.#arrival?.abandon()
    this.#arrival = undefined
    this.#stopLooking()
    for (const { held, reject } of entries) {
      for (const { gate } of held) gate.exit()
      reject?.(error)
    }
  }

  #settle(count: number): void {
    for (const { held, resolve } of this.#entries.splice(0, count)) {
      for (const { gate } of held) gate.exit()
      resolve?.()
    }
  }

  /** Asks for a callback, unless one is under way or there is nothing to wait for. */
  #follow(): void {
    if (this.#arrival !== undefined || this.isEmpty) return
    const covered = new Set(this.#entries)
    const arrival = expectedOrNone(() => {
      this.#arrival = undefined
      this.#stopLooking()
      // Some of them may have been waited for meanwhile; what was added since is not done.
      this.#settle(this.#countCovered(covered))
      this.#follow()
    })
    if (arrival !== undefined && this.#driver.callBack(arrival.functionAddress, arrival.argument) === 0) {
      this.#arrival = arrival
      this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY)
      return
    }
    arrival?.forget()
    this.#waitInstead()
  }

  /** The leading entries that a callback covers. Those that only wait are covered by what is before them. */
  #countCovered(covered: ReadonlySet<Entry>): number {
    const first = this.#entries.findIndex((entry) => entry.held.length > 0 && !covered.has(entry))
    return first < 0 ? this.#entries.length : first
  }

  #waitInstead(): void {
    try {
      this.#driver.wait()
      this.#settle(this.#entries.length)
    } catch (error) {
      this.fail(error as CudaError)
    }
  }

  #look(): void {
    const failure = this.#driver.findFailure()
    if (failure !== undefined) this.fail(failure)
  }

  #stopLooking(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Undefined where native code can't call back: Windows. */
function expectedOrNone(done: () => void): Arrival | undefined {
  try {
    return expectArrival(done)
  } catch (error) {
    if (error instanceof NativeError) return undefined
    throw error
  }
}
