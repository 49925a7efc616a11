import type { TensorType } from '@tenon/core'
import { byteSizesOf, type CallShape } from './call-shape.ts'

/** Whether types have the ranks and element types of others, and are row-major like them. A place without a type must be one in both. */
export function differOnlyInSizes(
  types: readonly (TensorType | undefined)[],
  others: readonly (TensorType | undefined)[],
): boolean {
  if (types.length !== others.length) return false
  for (let i = 0; i < types.length; i++) {
    const [type, other] = [types[i], others[i]]
    if (type === other) continue
    if (type === undefined || other === undefined) return false
    if (type.dtype !== other.dtype || type.packing !== other.packing || type.shape.length !== other.shape.length)
      return false
    if (type.strides !== undefined || other.strides !== undefined) return false
    if (type.strings?.layout !== other.strings?.layout || type.strings?.shape.length !== other.strings?.shape.length)
      return false
  }
  return true
}

/** Whether the frames of a call can run tensors of other sizes: all buffers are row-major tensors, because scratch has a size of its own. */
export function isResizable({ leaves, types }: CallShape): boolean {
  return leaves === types && types.every(({ strides }) => strides === undefined)
}

/** Whether the types of a call have its aliases: an operand and the result in its memory have one type. */
export function haveAliases({ aliases, operandCount }: CallShape, types: readonly TensorType[]): boolean {
  return aliases.every(({ operand, result }) => types[operand] === types[operandCount + result])
}

/** Returns the shape of a call with other types, which differ only in sizes. @param hasDims whether the frame has the dimensions. */
export function withSizes(shape: CallShape, types: readonly TensorType[], hasDims: boolean): CallShape {
  return {
    name: shape.name,
    types,
    operandCount: shape.operandCount,
    byteSizes: byteSizesOf(types),
    sources: undefined,
    names: shape.names,
    misalignment: shape.misalignment,
    deviceType: shape.deviceType,
    aliases: shape.aliases,
    dims: hasDims ? dimensionWords(types) : shape.dims,
    leaves: types,
    operands: shape.operands,
    results: shape.results,
  }
}

/** The words of a dimension, and of the place that a scalar has for one. */
const WORDS_OF_SCALAR = 2

/** Returns dimensions as native code stores them, those of one tensor after the others. */
function dimensionWords(types: readonly TensorType[]): readonly number[] {
  let count = 0
  for (let i = 0; i < types.length; i++) count += 2 * types[i]!.shape.length || WORDS_OF_SCALAR
  // The exact number of places, because calls can have many shapes.
  const words = new Array<number>(count).fill(0)
  let at = 0
  for (let i = 0; i < types.length; i++) {
    const { shape } = types[i]!
    const { length } = shape
    for (let axis = 0; axis < length; axis++) {
      const size = shape[axis]!
      words[at + 2 * axis] = size | 0
      words[at + 2 * axis + 1] = Math.floor(size / 2 ** 32)
    }
    at += 2 * length || WORDS_OF_SCALAR
  }
  return words
}
