import { gcAllocator } from '../memory/allocators.ts'
import { newCollected } from '../memory/collected-memory.ts'
import type { Gated } from '../memory/lifetime.ts'
import type { Segment } from '../memory/segment.ts'
import { Tensor } from '../types/tensor.ts'
import type { TensorType } from '../types/tensor-type.ts'
import {
  checkOperand,
  checkPacked,
  countOf,
  measurePacked,
  writeBlocks,
  writePacked,
  type NativeStrings,
} from './native-strings.ts'
import { checkStrings, copied, copyOfOperand, isStringOperand, readStrings, stringSegmentOf } from './string-operand.ts'
import { takeSharedStrings } from './string-result.ts'
import { knownMemory, makeStrings, type StringArgument, type StringTensorLike } from './string-tensor-like.ts'

// The strings of functions in TypeScript. A function reads copies of its operands and writes to memory of its own, so neither a pointer of the
// caller nor memory that ends with the call gets into a tensor that the function can keep.

/**
 * Copies the strings of an operand for a function.
 *
 * @param table the structs or the buffer that the caller passes. @param held what the call in progress holds; if the table is that of an
 * operand there, its pointers are checked. Others are those of native code, which are followed. @param place for messages.
 * @throws {ArgumentError} with the element that is damaged.
 */
export function lentStrings(table: Tensor, held: readonly Gated[], place: string): StringArgument {
  const { layout, shape } = table.type.strings!
  const operand = heldOperand(held, table)
  // Native code may pass a part of an operand, or claim more than it has.
  const isOperand = operand !== undefined && operand.type === table.type
  const segment = isOperand ? copyOfOperand(operand) : copyOfNative({ layout, shape, segment: table.segment }, place)
  return makeStrings({ layout, shape, segment }, false) as StringArgument
}

/** The memory of layouts without structs is copied as it is, so the copy is checked. */
function copyOfNative({ layout, shape, segment }: StringTensorLike, place: string): Segment {
  const count = countOf(shape)
  const copy = copied({ layout, count, segment, follows: true }, gcAllocator, place)
  checkPacked({ layout, count, segment: copy, follows: false }, place)
  return copy
}

/** Returns the operand of strings in a list at the address of a table. */
export function heldOperand(held: readonly Gated[], table: { readonly address: number }): Tensor | undefined {
  const found = held.find((one) => one instanceof Tensor && isStringOperand(one) && one.address === table.address)
  return found as Tensor | undefined
}

/** Returns the tensor in which a function writes a result: empty strings, which can become strings of any length. */
export function emptyStrings(type: TensorType): StringArgument {
  const { strings, byteSize } = type
  const { layout, shape } = strings!
  return makeStrings({ layout, shape, segment: newCollected(byteSize) }, false) as StringArgument
}

/** Reads and checks what a function has written. Code of the user must not run before it is copied. */
function writtenStrings(result: StringTensorLike, place: string): NativeStrings {
  const { layout, shape, segment, regions, isForeign } = knownMemory(result)!
  const strings = { layout, count: countOf(shape), segment, follows: isForeign }
  checkOperand(strings, regions, place)
  return { ...strings, follows: isForeign || regions.length > 0 }
}

/**
 * Copies what a function has written to the structs of its caller, which owns the blocks of strings that do not fit into them.
 *
 * @throws {ArgumentError} with the element that is damaged. The structs have no blocks then.
 */
export function giveStrings(result: StringTensorLike, table: Tensor, place: string): void {
  writeBlocks(writtenStrings(result, place), table.segment, place)
}

/**
 * Copies what a function has written to structs in shared memory, if all strings fit into them.
 *
 * @returns otherwise the structs, without pointers, with the bytes of long strings behind them. @throws {ArgumentError}
 */
export function shareStrings(result: StringTensorLike, table: Segment, place: string): Segment | undefined {
  const strings = writtenStrings(result, place)
  const sizes = measurePacked(strings, place)
  const to = sizes.data === 0 ? table : gcAllocator.allocate(sizes.table + sizes.data, 8)
  writePacked(strings, sizes, to, place)
  return to === table ? undefined : to
}

/** Copies the strings of a tensor of a known class to a tensor of bytes, which native code can keep. @returns undefined for other values */
export function bytesOfStrings(value: object): Tensor | undefined {
  if (knownMemory(value) === undefined) return undefined
  return checkStrings(readStrings(value, 'a string tensor'), { isCopied: true }).tensor
}

/**
 * Returns the strings of a tensor that {@link bytesOfStrings} made, over its memory.
 *
 * @returns undefined for another tensor. @throws {ArgumentError} if native code has damaged them
 */
export function stringsOfBytes(bytes: Tensor): StringTensorLike | undefined {
  const segment = stringSegmentOf(bytes)
  if (segment === undefined) return undefined
  const { layout, shape } = bytes.type.strings!
  return takeSharedStrings({ layout, shape, segment }, 'a string tensor')
}
