import { Socket } from 'node:net'
import { addressOf, checkOptions, CONSTANTS, wrongType, wrongValue } from '@tenon/core/internal'
import { putError } from '../errors/crossing.ts'
import { RuntimeError } from '../errors/kind-classes.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { pack } from '../values/pack.ts'
import { refuseBorrowed } from '../values/wrappers.ts'
import { ownThreadOnly, Threads, type Run, type ThreadRules } from './callback.ts'

/** How a TypeScript function takes calls: see `packedFunc`. */
export interface PackedFuncOptions {
  /**
   * Makes calls from other threads wait until the event loop of this thread runs the function. Such a call fails with kind
   * `ThreadError` if this thread ends, if the function does not start within `timeout` ms (default 10,000), or if this thread
   * stays in one native call for 0.1 s, because that call may be waiting for the caller. A call that has started is always
   * waited for. Waiting calls do not keep the process alive.
   */
  readonly relay?: boolean | { readonly timeout?: number }
  /**
   * Lets the function return a promise: callers on other threads wait until it settles, as with `relay`. Calls from its own
   * thread fail with kind `TypeError`, because they would wait for themselves.
   */
  readonly async?: boolean
}

const TIMEOUT = 10_000

/** The rules that the options describe. @throws {ArgumentError} if an option is not valid. */
export function threadsOf(options: PackedFuncOptions | undefined): ThreadRules {
  const { relay = false, async = false } = checkOptions(options, ['relay', 'async'])
  if (typeof async !== 'boolean') throw wrongType('async', 'a boolean', async)
  if (typeof relay !== 'boolean' && (typeof relay !== 'object' || relay === null))
    throw wrongType('relay', 'a boolean or an object', relay)
  if (relay === false && !async) return ownThreadOnly
  const { timeout = TIMEOUT } = typeof relay === 'object' ? checkOptions(relay, ['timeout'], 'relay') : {}
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > 0x7fff_ffff)
    throw wrongValue('timeout', 'a whole number of milliseconds below 2^31', timeout)
  return { mode: async ? Threads.Async : Threads.Relayed, timeout }
}

let isOpen = false

/** Lets calls from other threads reach the event loop of this one. @throws {RuntimeError} if the system has no pipe for it. */
export function openRelay(stack: Stack): void {
  if (isOpen) return
  const { address } = stack
  const { tn_packed_relay_open: open, tn_packed_relay_serve: serve, tn_packed_relay_close: close } = stack.host
  const descriptor = new Int32Array(1)
  if (open(address, addressOf(descriptor)) !== 0)
    throw new RuntimeError('calls from other threads cannot be relayed, because the system has no pipe for them')
  isOpen = true
  const bytes = new Socket({ fd: descriptor[0]!, readable: true, writable: false })
  bytes.on('data', () => serve(address))
  bytes.unref()
  process.once('exit', () => close(address))
}

/** The index in `words` of the call that an asynchronous function is to answer. */
const TOKEN = CONSTANTS.TN_PACKED_ANSWERED_CALL

/** A function that starts `run`, and answers its native caller once the promise settles. */
export function answerLater(stack: Stack, run: Run): Run {
  return (...values) => {
    const call = Number(stack.words[TOKEN])
    Promise.resolve(run(...values)).then(
      (value) =>
        answer(call, (slot) => {
          refuseBorrowed(value)
          pack(stack, slot, value)
        }),
      (error: unknown) =>
        answer(call, () => {
          throw error
        }),
    )
    return null
  }
}

/** Answers a waiting caller with the value that `put` leaves in a slot, or with the error that it throws. */
function answer(call: number, put: (slot: number) => void): void {
  const stack = openStack()
  stack.frame(0, (slot) => {
    let failed = 0
    try {
      put(slot)
    } catch (error) {
      putError(stack, slot, error)
      stack.undo.push(slot)
      failed = 1
    }
    stack.host.tn_packed_relay_answer(call, stack.slotAddress(slot), failed)
  })
}
