import { checkName } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { DataType } from './scalars.ts'
import { readSmallText } from './text.ts'

/** Element types by the word that holds their code, bits and lanes. */
const known = new Map<number, DataType>()

/**
 * An element type by its name in tvm-ffi: `float32`, `int8x4`, `bool`, `float8_e4m3fn`.
 *
 * @throws {PackedFuncError} of kind `ValueError` if there is no such type.
 * @example
 * dataType('float16x2').lanes // 2
 */
export function dataType(name: string): DataType {
  checkName(name, 'name')
  const stack = openStack()
  return stack.frame(0, (slot) => {
    const offset = stack.textOffset()
    const size = stack.bytes.write(name, offset, 256)
    if (stack.host.tn_packed_dtype_parse(stack.slotAddress(slot), stack.address + offset, size) !== 0)
      throw takeError(stack, slot)
    return dataTypeAt(stack, slot)
  })
}

/** The element type in a slot. */
export function dataTypeAt(stack: Stack, slot: number): DataType {
  const word = stack.i32[slot * 4 + 2]!
  let type = known.get(word)
  if (type === undefined) {
    if (stack.host.tn_packed_dtype_text(stack.slotAddress(slot)) !== 0) throw takeError(stack, slot)
    const isLong = stack.i32[slot * 4 + 1] === 1 && stack.i32[slot * 4] === TypeIndex.Str
    const text = isLong ? stack.outText(stack.i32[slot * 4 + 2]!) : readSmallText(stack, slot)
    type = new DataType(word & 0xff, (word >> 8) & 0xff, (word >> 16) & 0xffff, text)
    known.set(word, type)
  }
  return type
}
