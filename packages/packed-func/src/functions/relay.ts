import { Socket } from 'node:net'
import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { addressOf, describe } from '@tenon/core/internal'
import { putError } from '../errors/crossing.ts'
import { RuntimeError } from '../errors/kind-classes.ts'
import { openStack, type Stack } from '../native/stack.ts'
import type { Argument, Value } from '../values/argument.ts'
import { pack } from '../values/pack.ts'
import { refuseLent } from '../values/refuse-lent.ts'

/** How a TypeScript function takes calls: see `packedFunc`. */
export interface PackedFuncOptions {
  /**
   * Calls from other threads wait until this thread's event loop has run the function. They fail with kind `ThreadError` if this
   * thread ends, if it does not come to it in `timeout` ms (10 000 if not given), and after 0.1 s in which it sits in one and
   * the same native call, because that may be waiting for them. A call that has begun is waited for. Waiting calls do not keep the
   * process alive.
   */
  readonly relay?: boolean | { readonly timeout?: number }
  /**
   * The function may return a promise: callers on other threads wait for what it resolves to, as with `relay`. Calls on its own
   * thread are refused with kind `TypeError`: they would wait for themselves.
   */
  readonly async?: boolean
}

/** What native code does with calls: the numbers of its `threads_t`. */
export const Threads = { Refused: 0, Relayed: 1, Async: 2 } as const

export interface ThreadRules {
  readonly mode: (typeof Threads)[keyof typeof Threads]
  /** How long callers wait, in milliseconds. */
  readonly timeout: number
}

const TIMEOUT = 10_000

/** Calls from other threads are refused. */
export const ownThreadOnly: ThreadRules = { mode: Threads.Refused, timeout: 0 }

/** The rules that options stand for. @throws {ArgumentError} if they are not valid */
export function threadsOf(options: PackedFuncOptions): ThreadRules {
  if (typeof options !== 'object' || options === null)
    throw new ArgumentError(`options must be an object, got ${describe(options)}`)
  const { relay = false, async = false } = options
  if (typeof async !== 'boolean') throw new ArgumentError(`async must be a boolean, got ${describe(async)}`)
  if (typeof relay !== 'boolean' && (typeof relay !== 'object' || relay === null))
    throw new ArgumentError(`relay must be a boolean or an object, got ${describe(relay)}`)
  if (relay === false && !async) return ownThreadOnly
  const timeout = typeof relay === 'object' ? (relay.timeout ?? TIMEOUT) : TIMEOUT
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > 0x7fff_ffff)
    throw new ArgumentRangeError(`timeout must be a whole number of milliseconds below 2^31, got ${describe(timeout)}`)
  return { mode: async ? Threads.Async : Threads.Relayed, timeout }
}

let isOpen = false

/** Lets calls from other threads reach this one's event loop. @throws {RuntimeError} if the system can't do it */
export function openRelay(stack: Stack): void {
  if (isOpen) return
  const { host, address } = stack
  const descriptor = new Int32Array(1)
  if (host.openRelay(address, addressOf(descriptor)) !== 0)
    throw new RuntimeError("calls from other threads can't be relayed: the system has no pipe for it")
  isOpen = true
  const bytes = new Socket({ fd: descriptor[0]!, readable: true, writable: false })
  bytes.on('data', () => host.serveRelay(address))
  bytes.unref()
  process.once('exit', () => host.closeRelay(address))
}

/** The place in `words` of the call that an asynchronous function is to answer. */
const TOKEN = 13

/** A function that starts another, and answers its native caller when the promise settles. */
export function answerLater(stack: Stack, run: (...values: Value[]) => unknown): (...values: Value[]) => null {
  return (...values) => {
    const call = Number(stack.words[TOKEN])
    const result = run(...values)
    Promise.resolve(result).then(
      (value) => answer(call, (slot) => packAnswer(stack, slot, value)),
      (error: unknown) => answer(call, () => fail(error)),
    )
    return null
  }
}

function fail(error: unknown): never {
  throw error
}

function packAnswer(stack: Stack, slot: number, value: unknown): void {
  refuseLent(value)
  pack(stack, slot, value as Argument)
}

/** Gives a waiting caller what `put` leaves in a slot, or what it throws. */
function answer(call: number, put: (slot: number) => void): void {
  const stack = openStack()
  const { top: slot, text } = stack
  const undone = stack.undo.length
  stack.enter(0)
  try {
    let failed = 0
    try {
      put(slot)
    } catch (error) {
      putError(stack, slot, error)
      stack.undo.push(slot)
      failed = 1
    }
    stack.host.answerRelay(call, stack.slotAddress(slot), failed)
  } finally {
    stack.settle(undone)
    stack.leave(slot, text)
  }
}
