import { CONSTANTS } from '@tenon/core/internal'
import { putError } from '../errors/crossing.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { pack } from '../values/pack.ts'
import { refuseBorrowed } from '../values/wrappers.ts'
import type { Run } from './callback.ts'

/** The index in `words` of the answer that an asynchronous function is to give. */
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
      stack.releaseLater(slot)
      failed = 1
    }
    stack.entered.tn_packed_answer(call, stack.slotAddress(slot), failed)
  })
}
