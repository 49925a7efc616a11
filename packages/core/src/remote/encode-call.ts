import { CONSTANTS, LAYOUTS } from '../generated/layouts.ts'
import type { CallPlan } from '../native/call/call-plan.ts'
import { COPY_ENTRY, FLAGS, WORDS } from '../native/call/frame-layout.ts'
import { bytes, words } from '../native/call/frame.ts'

/** The most bytes of a text that a function returns, without its terminator. */
export const MAXIMUM_TEXT: number = CONSTANTS.TN_CALL_LARGEST_TEXT - 1

const CALL = LAYOUTS.tn_host_call_t
const POINTER = LAYOUTS.tn_host_pointer_t

/** The body of a request: what `store` writes to the frame of this thread, and where the process stores addresses. */
export function encodeCall(
  plan: CallPlan,
  capturesErrno: boolean,
  pointers: readonly { readonly word: number; readonly operand: number }[],
  storeAll: () => void,
): Uint8Array {
  const end = WORDS.stack + plan.stackSize / 4
  // The process must not see the registers of earlier calls.
  words.fill(0, WORDS.general, end)
  storeAll()
  const copiesSize =
    plan.copyCount === 0 ? 0 : (WORDS.copies - WORDS.copyCount) * 4 + plan.copyCount * COPY_ENTRY.size + plan.copySize
  const head = Buffer.alloc(CALL.size + POINTER.size * pointers.length)
  const { offsets } = CALL
  head.writeBigUInt64LE(BigInt(plan.vectorCount), offsets.extra)
  head.writeUInt32LE(plan.flags | (capturesErrno ? FLAGS.ERRNO : 0), offsets.flags)
  head.writeUInt32LE(plan.stackSize, offsets.stack_size)
  head.writeUInt32LE(pointers.length, offsets.pointers)
  head.writeUInt32LE(copiesSize, offsets.copies_size)
  head.writeUInt32LE(plan.result.kind === 'text' ? MAXIMUM_TEXT : 0, offsets.text_limit)
  for (const [i, { word, operand }] of pointers.entries()) {
    head.writeUInt32LE(word, CALL.size + i * POINTER.size + POINTER.offsets.word)
    head.writeUInt32LE(operand, CALL.size + i * POINTER.size + POINTER.offsets.operand)
  }
  return Buffer.concat([
    head,
    bytes.subarray(WORDS.general * 4, end * 4),
    bytes.subarray(WORDS.copyCount * 4, WORDS.copyCount * 4 + copiesSize),
  ])
}
