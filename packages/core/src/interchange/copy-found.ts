import { isUint8Array } from 'node:util/types'
import { wrongType } from '../errors/check-arguments.ts'
import { ArgumentError, BoundsError } from '../errors/kinds.ts'
import { makeStringsFrom, type StringTensorLike } from '../strings/string-tensor-like.ts'
import { copyElements } from '../types/copy-elements.ts'
import { dtypeInfo, type DTypeInfo } from '../types/dtype.ts'
import { elementCodec } from '../types/element.ts'
import { bytesOf } from '../types/tensor-bytes.ts'
import { rowMajorStrides, typeOf } from '../types/tensor-type.ts'
import { newTensor, Tensor } from '../types/tensor.ts'
import { checkUsable } from '../memory/block.ts'
import { isSet, unpackBits } from './bitmap.ts'
import type { FoundMemory } from './found-memory.ts'
import { readOffset, readShape, type FoundLayout } from './found-layout.ts'
import type { FoundMore, FoundNumbers } from './found.ts'

/** Returns a row-major copy of elements with any strides. */
export function copyOfNumbers({ block }: FoundMemory, layout: FoundLayout, info: DTypeInfo): Tensor {
  const { shape, strides, packing, lowest, start, end } = layout
  const copy = newTensor(typeOf(info, shape, packing === undefined ? {} : { packing }))
  checkUsable(block)
  const { byteSize } = elementCodec(info.name)
  const bytes = block.bytes.subarray(start + lowest * byteSize, end)
  if (strides === undefined) bytesOf(copy).set(bytes.subarray(0, copy.type.byteSize))
  else {
    const to = { bytes: bytesOf(copy), strides: rowMajorStrides(shape) }
    copyElements({ bytes, strides, first: -lowest }, to, byteSize, shape)
  }
  return copy
}

/** Returns booleans of a byte each for those of a bitmap, the lowest bit first. @throws {BoundsError} */
export function copyOfBits(found: FoundNumbers, { block, start, byteSize }: FoundMemory, place: string): Tensor {
  const offset = readOffset(found.offset, place)
  const type = typeOf(dtypeInfo('bool'), readShape(found.shape, byteSize * 8), {})
  const count = type.elementCount
  if (offset + count > byteSize * 8) {
    throw new BoundsError(`${place} must have ${offset + count} bits, got ${byteSize * 8}`)
  }
  const copy = newTensor(type)
  checkUsable(block)
  unpackBits(block.bytes.subarray(start), offset, bytesOf(copy))
  return copy
}

/** Overwrites the elements of a copy that are null. @param value the element in their place. @throws {ArgumentError} */
export function fillNulls(copy: Tensor, isValid: IsValid | undefined, value: unknown): Tensor {
  if (isValid === undefined) return copy
  const codec = elementCodec(copy.dtype)
  const { view } = copy.block
  for (let i = 0; i < copy.type.elementCount; i++) {
    if (!isValid(i)) codec.write(view, copy.base + i * codec.byteSize, value)
  }
  return copy
}

/** Returns whether the element with an index is not null. */
export type IsValid = (index: number) => boolean

/** @throws {ArgumentError} because an element is null. */
export function refuseNull(index: number, kind: string, place: string, call: string): never {
  throw new ArgumentError(`${place} must have no nulls, got ${kind} whose element ${index} is null`, {
    hint: `Pass the element that takes the place of nulls in a copy: ${call}.`,
  })
}

/**
 * Looks for nulls.
 *
 * @param nulls what takes the place of nulls. @param call a call with an example of it, for messages.
 * @returns undefined if no element is null.
 * @throws {ArgumentError} if the bitmap is too short, or an element is null and nothing takes its place
 */
export function validityOf(
  { validity, validityOffset = 0 }: Pick<FoundMore, 'validity' | 'validityOffset'>,
  count: number,
  { kind, place, nulls, call }: { kind: string; place: string; nulls: unknown; call: string },
): IsValid | undefined {
  if (validity === undefined) return undefined
  const offset = readOffset(validityOffset, place)
  if (!isUint8Array(validity) || validity.byteLength * 8 < offset + count) {
    throw wrongType(`the validity of ${place}, ${kind},`, `a Uint8Array with ${offset + count} bits`, validity)
  }
  const isValid: IsValid = (i) => isSet(validity, offset + i)
  for (let i = 0; i < count; i++) {
    if (isValid(i)) continue
    if (nulls === undefined) refuseNull(i, kind, place, call)
    return isValid
  }
  return undefined
}

/** Returns a copy of parts one after another along their only axis. @throws {ArgumentError} if their types differ. */
export function joined(parts: readonly (Tensor | StringTensorLike)[], place: string): Tensor | StringTensorLike {
  const numbers = parts.filter((part) => part instanceof Tensor)
  const [first] = numbers
  if (first === undefined && parts.length > 0) {
    const texts = parts.flatMap((part) => (part as unknown as { toArray(): string[] }).toArray())
    return makeStringsFrom({ texts, shape: [texts.length], isCopied: true })
  }
  const isAlike = first !== undefined && numbers.length === parts.length
  if (!isAlike || numbers.some((one) => one.dtype !== first.dtype || one.packing === 'packed')) {
    throw new ArgumentError(
      `${place} must have chunks of one type, got ${parts.map(String).join(' and ') || 'no chunk'}`,
    )
  }
  const count = numbers.reduce((sum, { type }) => sum + type.elementCount, 0)
  const whole = newTensor(typeOf(dtypeInfo(first.dtype), [count], {}))
  let at = 0
  for (const part of numbers) {
    bytesOf(whole).set(bytesOf(part), at)
    at += part.type.byteSize
  }
  return whole
}
