import { addressOf, keepAlive } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Value } from '../values/argument.ts'
import { unpack } from '../values/unpack.ts'

/** Returns an attribute of exactly this type, or null. Types do not inherit attributes. */
export const attributeOf = (typeIndex: number, name: string): Value =>
  withAttribute(typeIndex, name, (stack, slot) => unpack(stack, slot, stack.i32[slot * 4]!))

/** Returns whether exactly this type has an attribute that is a function. */
export const hasFunction = (typeIndex: number, name: string): boolean =>
  withAttribute(typeIndex, name, (stack, slot) => {
    const isFunction = stack.i32[slot * 4] === TypeIndex.Function
    stack.clear(slot)
    return isFunction
  })

/** `read` gets a slot with an owned copy. */
function withAttribute<Result>(typeIndex: number, name: string, read: (stack: Stack, slot: number) => Result): Result {
  const text = Buffer.from(name)
  const stack = openStack()
  return stack.frame(0, (slot) => {
    const status = stack.host.tn_packed_type_attribute(stack.slotAddress(slot), addressOf(text), text.length, typeIndex)
    keepAlive(text)
    if (status !== 0) throw takeError(stack, slot)
    return read(stack, slot)
  })
}
