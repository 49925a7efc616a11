import { Tensor } from '@tenon/core'
import { checkedCall, type Written } from '@tenon/core/internal'
import type { NativeObject } from '../objects/native-object.ts'
import { ReadOnlyTensor, TensorView } from '../values/wrappers.ts'

/** Nested deeper, arrays are not looked into. It bounds the work for arrays that contain themselves. */
const DEEPEST = 4

/** Finds the tensors among the arguments of a call, also in arrays and maps. */
function writtenBy(values: readonly unknown[]): Written[] {
  const written: Written[] = []
  const look = (value: unknown, name: string, depth: number): void => {
    if (typeof value !== 'object' || value === null) return
    if (Tensor.isGenuine(value)) written.push({ block: value.block, address: value.address, name })
    else if (value instanceof TensorView || value instanceof ReadOnlyTensor) look(value.value, name, depth)
    else if (depth < DEEPEST && Array.isArray(value))
      value.forEach((member, i) => look(member, `${name}[${i}]`, depth + 1))
    else if (depth < DEEPEST && value instanceof Map) for (const member of value.values()) look(member, name, depth + 1)
  }
  values.forEach((value, i) => look(value, `argument ${i + 1}`, 0))
  return written
}

/**
 * Runs a call of a packed function in guard mode.
 *
 * @param owner the function, whose name messages quote.
 * @throws {GuardError} if the call wrote beside a tensor; else what it throws.
 */
export function checkedPackedCall<Result>(owner: NativeObject, values: readonly unknown[], run: () => Result): Result {
  const { name } = owner as unknown as { readonly name: string }
  return checkedCall(name || 'the packed function', () => writtenBy(values), run)
}
