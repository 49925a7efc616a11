import { checkName } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { DataType } from './scalars.ts'
import { readSmallText } from './text.ts'

/** By code, bits and lanes as they lie in memory. */
const known = new Map<number, DataType>()

/**
 * An element type by the name that tvm-ffi has for it: `float32`, `int8x4`, `bool`, `float8_e4m3fn`.
 *
 * @throws {PackedFuncError} of kind `ValueError` if there is no such type.
 * @example
 * dataType('float16x2').lanes // 2
 */
export function dataType(name: string): DataType {
  checkName(name, 'name')
  const stack = openStack()
  const slot = stack.top
  const offset = stack.textOffset()
  stack.enter(0)
  try {
    const size = stack.bytes.write(name, offset, 256)
    if (stack.host.parseDType(stack.slotAddress(slot), stack.address + offset, size) !== 0) throw takeError(stack, slot)
    return dataTypeAt(stack, slot)
  } finally {
    stack.leave(slot, stack.text)
  }
}

/** The element type in a slot. */
export function dataTypeAt(stack: Stack, slot: number): DataType {
  const bits = stack.i32[slot * 4 + 2]!
  const found = known.get(bits)
  if (found !== undefined) return found
  if (stack.host.dtypeText(stack.slotAddress(slot)) !== 0) throw takeError(stack, slot)
  const isLong = stack.i32[slot * 4 + 1] === 1 && stack.i32[slot * 4] === 65
  const text = isLong ? stack.outText(stack.i32[slot * 4 + 2]!) : readSmallText(stack, slot)
  const made = new DataType(bits & 0xff, (bits >> 8) & 0xff, (bits >> 16) & 0xffff, text)
  known.set(bits, made)
  return made
}
