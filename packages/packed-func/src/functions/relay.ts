import { Socket } from 'node:net'
import { addressOf, CONSTANTS } from '@tenon/core/internal'
import { putError } from '../errors/crossing.ts'
import { RuntimeError } from '../errors/error-kinds.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { pack } from '../values/pack.ts'
import { refuseBorrowed } from '../values/wrappers.ts'
import type { Run } from './callback.ts'

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
