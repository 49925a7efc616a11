import { NativeObject } from '../objects/native-object.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'

/** What was passed to be moved by the calls in progress: the object, and where its address waits to be taken. */
interface Moving {
  readonly object: NativeObject
  readonly offset: number
}

const moving: Moving[] = []

/** Passes the address of a place that holds the object's address: a function that moves it leaves a null there. */
export function packRValue(stack: Stack, slot: number, object: NativeObject): void {
  const handle = object.checkAlive()
  stack.text = (stack.text + 7) & ~7
  const offset = stack.textOffset()
  stack.bytes.writeBigUInt64LE(BigInt(handle), offset)
  stack.text += 8
  stack.setPointer(slot, TypeIndex.ObjectRValueRef, stack.address + offset)
  moving.push({ object, offset })
}

/** How many objects wait to be moved: compare before and after packing. */
export const movingCount = (): number => moving.length

/** After a call: disposes of the objects that were moved, of those passed since `count`. */
export function settleRValues(stack: Stack, count: number): void {
  while (moving.length > count) {
    const { object, offset } = moving.pop()!
    if (stack.bytes.readBigUInt64LE(offset) === 0n && object.isAlive) object.surrender()
  }
}
