import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { release, type NativeObject } from '../objects/native-object.ts'

/**
 * Packs the address of a cell that holds the object's address. A function that moves the object leaves null in the cell. Until
 * the call ends the object cannot be used here, so that no second argument can use memory that the function may free.
 */
export function packRValue(stack: Stack, slot: number, object: NativeObject): void {
  const handle = object.surrender()
  const offset = stack.alignedTextOffset()
  stack.bytes.writeBigUInt64LE(BigInt(handle), offset)
  // An object that a call in progress borrows keeps a reference until this call ends. So do functions, which may be called.
  const isBorrowed = object.typeIndex === TypeIndex.Function || isInSlot(stack, slot, handle)
  if (isBorrowed) stack.host.tn_packed_retain(handle)
  stack.text += 8
  stack.setPointer(slot, TypeIndex.ObjectRValueRef, stack.address + offset)
  stack.undo.push({
    settle: () => {
      if (stack.bytes.readBigUInt64LE(offset) !== 0n) object.restore(handle)
      if (isBorrowed) release(stack, handle)
    },
  })
}

/** Whether a slot before `end` holds the object. */
function isInSlot(stack: Stack, end: number, handle: number): boolean {
  for (let slot = 0; slot < end; slot++) {
    if (stack.i32[slot * 4]! >= TypeIndex.Object && stack.pointer(slot) === handle) return true
  }
  return false
}
