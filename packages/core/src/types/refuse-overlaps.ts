import { ArgumentError } from '../errors/kinds.ts'
import type { Tensor } from './tensor.ts'
import { sharedBytes } from './tensor-bytes.ts'
import type { TensorType } from './tensor-type.ts'

/**
 * Refuses results that are in the memory of an operand in part, or in that of another result: the kernel would read what it has
 * written. A result may have exactly the bytes of an operand. Operands that are copied into their layouts can be anywhere.
 *
 * @param nameOf returns the name of a tensor for messages. @throws {ArgumentError} with both tensors.
 */
export function refuseOverlaps(
  types: readonly TensorType[],
  operandCount: number,
  tensors: readonly Tensor[],
  nameOf: (index: number) => string,
): void {
  for (let i = operandCount; i < tensors.length; i++) {
    const result = tensors[i]!
    for (let j = 0; j < i; j++) {
      const other = tensors[j]!
      if (other.type !== types[j]) continue
      const shared = sharedBytes(result, other)
      if (shared === 0 || (j < operandCount && isSamePlace(result, other))) continue
      const place = nameOf(i)
      const isOperand = j < operandCount
      const which = isOperand ? 'must not overlap a part of' : 'must not be in the memory of'
      throw new ArgumentError(`${place} ${which} ${nameOf(j)}, got ${shared} common bytes`, {
        hint: `Pass other memory for the result${isOperand ? ', or exactly that of the operand' : ''}.`,
        details: { path: place, received: `${shared} bytes of ${nameOf(j)}` },
      })
    }
  }
}

const isSamePlace = (a: Tensor, b: Tensor): boolean => a.address === b.address && a.type.byteSize === b.type.byteSize
