import { release, type NativeObject } from '../objects/native-object.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'

/**
 * Passes the address of a place that holds the object's address: a function that moves it leaves a null there. Meanwhile the
 * object is gone here, so that no second argument can use what may be freed.
 */
export function packRValue(stack: Stack, slot: number, object: NativeObject): void {
  const handle = object.checkAlive()
  stack.text = (stack.text + 7) & ~7
  const offset = stack.textOffset()
  stack.bytes.writeBigUInt64LE(BigInt(handle), offset)
  object.surrender()
  // What calls in progress borrow stays theirs until they have ended. Functions are: they may be what is called.
  const isBorrowed = object.typeIndex === TypeIndex.Function || isInSlot(stack, slot, handle)
  if (isBorrowed) stack.host.retain(handle)
  stack.text += 8
  stack.setPointer(slot, TypeIndex.ObjectRValueRef, stack.address + offset)
  stack.undo.push({
    settle: () => {
      if (stack.bytes.readBigUInt64LE(offset) !== 0n) object.restore(handle)
      if (isBorrowed) release(stack, handle)
    },
  })
}

/** Whether an argument before this one is the object. */
function isInSlot(stack: Stack, end: number, handle: number): boolean {
  for (let slot = 0; slot < end; slot++) {
    if (stack.i32[slot * 4]! >= TypeIndex.Object && stack.pointer(slot) === handle) return true
  }
  return false
}
