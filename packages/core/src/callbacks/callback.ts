import { ScopeClosedError } from '../errors/kinds.ts'
import { checkStatus, coreFunctions } from '../native/core-library.ts'
import { LAYOUTS } from '../generated/layouts.ts'
import { addressOf, registerCallback } from '../native/driver.ts'

/**
 * What a callback runs: it gets the addresses that its native caller passed to `tn_callback_invoke`, whose meaning the
 * two agree on, and which are valid until it returns. If it throws, native code sees a failure.
 */
export type CallbackFunction = (argumentsAddress: number, resultAddress: number) => void

interface CallbackTable {
  readonly address: number
  /** False once the thread ends, when the table in native code is closed. */
  isOpen: boolean
  /** The functions by id. */
  readonly functions: (CallbackFunction | undefined)[]
  /** The ids of functions that nobody can call any more. */
  readonly free: number[]
}

/** What the callbacks of this thread threw: compare `count` before and after a native call, and `last` is the cause. */
export const thrown: { count: number; last: unknown } = { count: 0, last: undefined }

/** The places of the members of a `tn_callback_call_t`, all of them doubles. */
const { offsets } = LAYOUTS.tn_callback_call_t
const [ID, ARGUMENTS, RESULT] = [offsets.id / 8, offsets.arguments / 8, offsets.result / 8]

let table: CallbackTable | undefined

/** Returns the table of this thread, whose functions share one trampoline, because koffi has slots for 8192 functions. */
function callbackTable(): CallbackTable {
  if (table !== undefined) return table
  const functions: CallbackTable['functions'] = []
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
  const opened: CallbackTable = { address: Number(out[0]), isOpen: true, functions, free: [] }
  process.once('exit', () => {
    opened.isOpen = false
    coreFunctions().tn_callbacks_close(opened.address)
  })
  table = opened
  return opened
}

/**
 * A TypeScript function that native code can call through `tn_callback_invoke`, and keep with `tn_callback_retain`. It
 * lives until this handle is released and native code has given back every reference.
 *
 * Only the thread that made it runs it: a call from another thread fails with `WRONG_THREAD` at once and never waits.
 */
export class Callback {
  /** The address of its `tn_callback_t`, for native code. */
  readonly address: number
  #released = false

  /** @throws {NativeError} if there is no memory. @throws {ScopeClosedError} while the thread ends. */
  constructor(run: CallbackFunction) {
    const { address, functions, free, isOpen } = callbackTable()
    if (!isOpen) throw new ScopeClosedError("a callback can't be made any more: the thread of its JavaScript is ending")
    takeReleased()
    const out = new BigUint64Array(1)
    const id = free.at(-1) ?? functions.length
    checkStatus(coreFunctions().tn_callback_create(address, id, addressOf(out)), 'making a callback')
    free.pop()
    functions[id] = run
    this.address = Number(out[0])
  }

  /** Gives back the reference of this handle. Idempotent. */
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

/** Forgets the functions that nobody can call any more. */
function takeReleased(): void {
  const { address, functions, free, isOpen } = callbackTable()
  if (!isOpen) return
  do {
    const status = coreFunctions().tn_callbacks_take_released(address, addressOf(ids), ids.length, addressOf(taken))
    checkStatus(status, 'taking released callbacks')
    for (const id of ids.subarray(0, Number(taken[0]))) {
      functions[Number(id)] = undefined
      free.push(Number(id))
    }
  } while (Number(taken[0]) === ids.length)
}

/** How many TypeScript functions native code may still call on this thread. */
export function liveCallbacks(): number {
  if (table === undefined) return 0
  takeReleased()
  return table.functions.length - table.free.length
}
