import { ScopeClosedError } from '../errors/kinds.ts'
import { nativeHolds } from '../memory/call-stack.ts'
import { STATUS } from '../generated/status.ts'
import { checkStatus, coreFunctions } from '../native/core-library.ts'
import { addressOf } from '../native/native-memory.ts'
import { isThreadDriverOpen, threadDriver } from '../native/call/thread-driver.ts'
import { WORDS } from '../native/call/frame-layout.ts'
import { TWO_32 } from '../native/call/frame.ts'
import {
  addFunction,
  addressAt,
  type EnteredFunction,
  removeFunction,
  setTakeReleased,
} from '../native/call/functions.ts'
import { shared } from '../native/call/shared.ts'

/** Both addresses are valid until the function returns. If it throws, native code receives a failure. */
export type CallbackFunction = (argumentsAddress: number, resultAddress: number) => void

/** The number of callbacks that native code may still call on this thread. */
const live = shared('live callbacks', () => ({ count: 0 }))

/**
 * A TypeScript function that native code can call through `tn_callback_invoke` and retain with `tn_callback_retain`. The
 * function lives until this handle is released and native code has released every reference.
 *
 * Only the thread that created the callback runs it. A call from another thread fails at once with `WRONG_THREAD`.
 */
export class Callback {
  /** The address of the callback's `tn_callback_t`, for native code. */
  readonly address: number
  #released = false

  /**
   * @param entered does what `run` does, and reads the addresses from the words of the frame from `WORDS.general` on. Passing
   * them to a function that the compiler does not know costs 5 ns.
   * @throws {NativeError} if there is no memory. @throws {ScopeClosedError} while the thread ends.
   */
  constructor(run: CallbackFunction | undefined, entered: EnteredFunction = enteringWith(run!)) {
    this.address = create(entered, coreFunctions().tn_callback_create)
    live.count++
  }

  /** Releases this handle's reference. Idempotent. */
  release(): void {
    if (this.#released) return
    this.#released = true
    coreFunctions().tn_callback_release(this.address)
    takeReleasedCallbacks()
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

const enteringWith =
  (run: CallbackFunction): EnteredFunction =>
  () =>
    run(addressAt(WORDS.general), addressAt(WORDS.general + 2))

/** The number of ids that are taken with one call. */
const BATCH = 64

/** Where native code writes: the address of a callback or the number of ids, and then the ids. */
interface Exchange {
  readonly words: Uint32Array
  readonly address: number
}

let exchange: Exchange | undefined

function newExchange(): Exchange {
  const words = new Uint32Array(2 + 2 * BATCH)
  return { words, address: addressOf(words) }
}

/** Gives a function an id, and makes the handle by which native code refers to it. */
function create(entered: EnteredFunction, make: (id: number, out: number) => number): number {
  threadDriver()
  takeReleasedCallbacks()
  const { words, address } = exchange!
  const id = addFunction(entered)
  const status = make(id, address)
  if (status !== 0) removeFunction(id)
  if (status === STATUS.CLOSED.value) {
    throw new ScopeClosedError('cannot create a callback: this thread is shutting down')
  }
  checkStatus(status, 'making a callback')
  last.id = id
  return words[0]! + words[1]! * TWO_32
}

/** The id of the handle that was made last. */
const last = { id: 0 }

/** What runs when native code has released holds, by their ids. */
const holds = shared('native holds', () => new Map<number, () => void>())

/**
 * Makes a hold: something of JavaScript that native code keeps until it calls `tn_callback_release()` with the address, on any thread. The
 * event loop then runs `released` on this thread, or {@link takeReleasedCallbacks} does so before. If this thread has ended, nothing runs.
 *
 * @param released must not throw.
 * @returns the address of the hold, for native code.
 * @throws {NativeError} if there is no memory. @throws {ScopeClosedError} while the thread ends.
 */
export function makeHold(released: () => void): number {
  setTakeReleased(takeReleasedCallbacks)
  nativeHolds.takers.add(takeReleasedCallbacks)
  const address = create(unused, coreFunctions().tn_hold_create)
  holds.set(last.id, released)
  nativeHolds.count++
  return address
}

/** Native code calls no function of a hold. */
const unused = (): void => {}

/** Lets go of the functions and holds whose last reference native code has released, with the values that they captured. */
export function takeReleasedCallbacks(): void {
  const { words, address } = (exchange ??= newExchange())
  const ended: (() => void)[] = []
  let taken: number
  do {
    const status = coreFunctions().tn_callbacks_take_released(address + 8, BATCH, address)
    checkStatus(status, 'taking released callbacks')
    taken = words[0]!
    for (let i = 0; i < taken; i++) {
      // Ids have 64 bits, of which the upper half is 0.
      const id = words[2 + 2 * i]!
      removeFunction(id)
      const released = holds.size === 0 ? undefined : holds.get(id)
      if (released === undefined) live.count--
      else ended.push(released)
      if (released !== undefined) holds.delete(id)
    }
  } while (taken === BATCH)
  nativeHolds.count -= ended.length
  // They may make holds, so the ids are read before.
  for (const released of ended) released()
}

/** The number of TypeScript functions that native code may still call on this thread. */
export function liveCallbacks(): number {
  if (isThreadDriverOpen()) takeReleasedCallbacks()
  return live.count
}
