import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { Value } from './argument.ts'
import { DataType } from './scalars.ts'

/* The types of values in native code. JavaScript has one type for ints and floats, and one for all forms of text. */

/** The type indices of the arguments of the running callback. Valid at its start. */
export function argumentTypes(values: readonly Value[]): number[] {
  // The arguments are the last slots of the stack.
  const first = openStack().top - values.length
  return values.map((value, i) => typeAt(first + i, value))
}

/** The type index of the result of a call. Valid right after the call. */
export const resultType = (value: Value): number => typeAt(openStack().top, value)

/** Reading an element type overwrites its slot with text. */
const typeAt = (slot: number, value: Value): number =>
  value instanceof DataType ? TypeIndex.DataType : openStack().i32[slot * 4]!
