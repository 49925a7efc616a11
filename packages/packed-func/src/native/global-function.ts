import { addressOf, checkName, keepAlive } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { ValueError } from '../errors/error-kinds.ts'
import { openStack } from './stack.ts'
import { TypeIndex } from './type-index.ts'

/** Returns the address with a reference for the caller, or 0. */
export function findGlobal(name: string): number {
  const text = Buffer.from(checkName(name, 'name'))
  const stack = openStack()
  return stack.frame(0, (slot) => {
    const status = stack.host.tn_packed_get_global(stack.slotAddress(slot), addressOf(text), text.length)
    keepAlive(text)
    if (status !== 0) throw takeError(stack, slot)
    return stack.i32[slot * 4] === TypeIndex.Function ? stack.pointer(slot) : 0
  })
}

/** @throws {ValueError} if there is no such function. */
export function globalFunction(name: string): number {
  const handle = findGlobal(name)
  if (handle === 0) throw new ValueError(`Function ${name} not found`)
  return handle
}
