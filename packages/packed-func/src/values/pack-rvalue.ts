import type { NativeObject } from '../objects/native-object.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'

/** Passes the address of a place that holds the object's address: a function that moves it leaves a null there. */
export function packRValue(stack: Stack, slot: number, object: NativeObject): void {
  const handle = object.checkAlive()
  stack.text = (stack.text + 7) & ~7
  const offset = stack.textOffset()
  stack.bytes.writeBigUInt64LE(BigInt(handle), offset)
  stack.text += 8
  stack.setPointer(slot, TypeIndex.ObjectRValueRef, stack.address + offset)
  stack.undo.push({
    settle: () => {
      if (stack.bytes.readBigUInt64LE(offset) === 0n && object.isAlive) object.surrender()
    },
  })
}
