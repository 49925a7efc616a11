import { ScopeClosedError } from '../errors/kinds.ts'
import { checkStatus, coreFunctions } from '../native/core-library.ts'
import { LAYOUTS } from '../generated/layouts.ts'
import { addressOf, registerCallback } from '../native/driver.ts'

/** Both addresses are valid until the function returns. If it throws, native code receives a failure. */
export type CallbackFunction = (argumentsAddress: number, resultAddress: number) => void

/** The errors of the callbacks of this thread: if `count` is larger after a native call than before, `last` is the cause. */
export const thrown: { count: number; last: unknown } = { count: 0, last: undefined }

/** The indices of the members of a `tn_callback_call_t`, all of which are doubles. */
const { offsets } = LAYOUTS.tn_callback_call_t
const [ID, ARGUMENTS, RESULT] = [offsets.id / 8, offsets.arguments / 8, offsets.result / 8]

const functions: (CallbackFunction | undefined)[] = []
/** The ids of functions that nobody can call any more. */
const free: number[] = []
/** The address of the table of this thread, which opens with the first callback, and 0 before. */
let table = 0
/** Whether the table is closed, because the thread ends. */
let isClosed = false

/** Opens the table of this thread. Its functions share one trampoline, because koffi has slots for 8192 functions. */
function openTable(): number {
  const call = new Float64Array(LAYOUTS.tn_callback_call_t.size / 8)
  const trampoline = registerCallback(
    (): number => {
      try {
        functions[call[ID]!]!(call[ARGUMENTS]!, call[RESULT]!)
        return 1
      } catch (error) {
        thrown.count++
        thrown.last = error
        return 0
      }
    },
    'int32_t',
    [],
  )
  const out = new BigUint64Array(1)
  const status = coreFunctions().tn_callbacks_open(trampoline, addressOf(call), addressOf(out))
  checkStatus(status, 'opening the table of callbacks')
  process.once('exit', () => {
    isClosed = true
    coreFunctions().tn_callbacks_close(table)
  })
  return Number(out[0])
}

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

  /** @throws {NativeError} if there is no memory. @throws {ScopeClosedError} while the thread ends. */
  constructor(run: CallbackFunction) {
    if (isClosed) throw new ScopeClosedError('cannot create a callback: this thread is shutting down')
    table ||= openTable()
    takeReleased()
    const out = new BigUint64Array(1)
    const id = free.at(-1) ?? functions.length
    checkStatus(coreFunctions().tn_callback_create(table, id, addressOf(out)), 'making a callback')
    free.pop()
    functions[id] = run
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

const ids = new BigInt64Array(64)
const taken = new BigUint64Array(1)

function takeReleased(): void {
  if (isClosed) return
  do {
    const status = coreFunctions().tn_callbacks_take_released(table, addressOf(ids), ids.length, addressOf(taken))
    checkStatus(status, 'taking released callbacks')
    for (const id of ids.subarray(0, Number(taken[0]))) {
      functions[Number(id)] = undefined
      free.push(Number(id))
    }
  } while (Number(taken[0]) === ids.length)
}

/** The number of TypeScript functions that native code may still call on this thread. */
export function liveCallbacks(): number {
  if (table !== 0) takeReleased()
  return functions.length - free.length
}
