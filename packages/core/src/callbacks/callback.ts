import { ScopeClosedError } from '../errors/kinds.ts'
import { STATUS } from '../generated/status.ts'
import { checkStatus, coreFunctions } from '../native/core-library.ts'
import { addressOf } from '../native/native-memory.ts'
import { door, isDoorOpen } from '../native/call/door.ts'
import { WORDS } from '../native/call/frame-layout.ts'
import { addFunction, addressAt, type EnteredFunction, removeFunction } from '../native/call/functions.ts'
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
    door()
    takeReleased()
    const out = new BigUint64Array(1)
    const id = addFunction(entered)
    const status = coreFunctions().tn_callback_create(id, addressOf(out))
    if (status !== 0) removeFunction(id)
    if (status === STATUS.CLOSED.value) {
      throw new ScopeClosedError('cannot create a callback: this thread is shutting down')
    }
    checkStatus(status, 'making a callback')
    live.count++
    this.address = Number(out[0])
  }

  /** Releases this handle's reference. Idempotent. */
  release(): void {
    if (this.#released) return
    this.#released = true
    coreFunctions().tn_callback_release(this.address)
    takeReleased()
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

const enteringWith =
  (run: CallbackFunction): EnteredFunction =>
  () =>
    run(addressAt(WORDS.general), addressAt(WORDS.general + 2))

const ids = new BigInt64Array(64)
const taken = new BigUint64Array(1)

function takeReleased(): void {
  do {
    const status = coreFunctions().tn_callbacks_take_released(addressOf(ids), ids.length, addressOf(taken))
    checkStatus(status, 'taking released callbacks')
    for (const id of ids.subarray(0, Number(taken[0]))) {
      removeFunction(Number(id))
      live.count--
    }
  } while (Number(taken[0]) === ids.length)
}

/** The number of TypeScript functions that native code may still call on this thread. */
export function liveCallbacks(): number {
  if (isDoorOpen()) takeReleased()
  return live.count
}
