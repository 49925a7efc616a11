import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Value } from './argument.ts'
import { DataType } from './scalars.ts'

/* Which type a value had in native code: JavaScript has one type for ints and floats, and one for all text. */

/** The type indices of the arguments of the callback that runs now, at its start. */
export function argumentTypes(values: readonly Value[]): number[] {
  // The arguments are the last slots of the stack.
  const first = openStack().top - values.length
  return values.map((value, i) => typeAt(first + i, value))
}

/** The type index of what a call returned, right after it. */
export const resultType = (value: Value): number => typeAt(openStack().top, value)

/** Reading an element type leaves its text in the slot. */
const typeAt = (slot: number, value: Value): number =>
  value instanceof DataType ? TypeIndex.DataType : openStack().i32[slot * 4]!
