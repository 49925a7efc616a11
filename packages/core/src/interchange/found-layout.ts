import { wrongType, wrongValue } from '../errors/check-arguments.ts'
import { ArgumentError, BoundsError } from '../errors/kinds.ts'
import { dtypeOfArray } from '../types/array-dtypes.ts'
import { findDType, type DTypeInfo } from '../types/dtype.ts'
import { checkAxisSize, rowMajorStrides, type Packing } from '../types/tensor-type.ts'
import { readList, type FoundNumbers } from './found.ts'
import type { FoundMemory } from './found-memory.ts'

/** Sizes and steps that stay inside their memory. */
export interface FoundLayout {
  readonly shape: readonly number[]
  /** In elements. Undefined for row-major. */
  readonly strides: readonly number[] | undefined
  readonly packing: Packing | undefined
  /** The number of elements. */
  readonly count: number
  /** The position of the element with the lowest address, counted from the first one, in elements: 0 or less. */
  readonly lowest: number
  /** The position of the first element in the block, in bytes. */
  readonly start: number
  /** The end of the last element in the block, in bytes. */
  readonly end: number
}

/** Returns the element type, which the array must be able to have. @throws {ArgumentError} */
export function elementsOf({ dtype, kind }: FoundNumbers, { array }: FoundMemory, place: string): DTypeInfo {
  const own = array === undefined ? undefined : dtypeOfArray(array)
  const name = dtype ?? own
  const info = typeof name === 'string' ? findDType(name) : undefined
  if (info === undefined) throw wrongType(`the elements of ${place}, ${kind},`, 'of an element type of Tenon', name)
  if (array === undefined || own === info.name || array === info.array) return info
  if (info.bits < 8 && array === 'Uint8Array') return info
  throw new ArgumentError(`${place}, ${kind} of ${info.name}, must have ${article(info.array)}, got ${article(array)}`)
}

const article = (name: string): string => `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`

/** Reads the shape and the strides, each number once. @throws {BoundsError} if an element lies outside of the memory. */
export function layoutOf(found: FoundNumbers, info: DTypeInfo, memory: FoundMemory, place: string): FoundLayout {
  const { bits } = info
  const { start, byteSize, array } = memory
  const packing = bits < 8 ? packingOf(found.more?.packing) : undefined
  const unit = bits < 8 ? 1 : bits / 8
  const offset = readOffset(found.offset, place) * (array === undefined ? 1 : unit)
  const shape = readShape(found.shape, byteSize / unit)
  const count = countOf(shape)
  const strides = found.strides === undefined || count === 0 ? undefined : readStrides(found.strides, shape, place)
  let [lowest, highest] = [0, count - 1]
  if (strides !== undefined) {
    highest = 0
    for (let axis = 0; axis < shape.length; axis++) {
      const reach = strides[axis]! * (shape[axis]! - 1)
      if (reach < 0) lowest += reach
      else highest += reach
    }
  }
  const first = offset + lowest * unit
  const end = offset + (packing === 'packed' ? Math.ceil((count * bits) / 8) : (highest + 1) * unit)
  if (first < 0 || end > byteSize) {
    throw new BoundsError(`${place} must lie inside its memory of ${byteSize} bytes, got bytes ${first} to ${end}`, {
      details: { byteSize, needed: end },
    })
  }
  if (found.isWhole && end !== byteSize) {
    throw new ArgumentError(
      `${place}, ${found.kind}, must have the elements of its shape [${shape.join(', ')}], got ${byteSize / unit}`,
    )
  }
  return { shape, strides, packing, count, lowest, start: start + offset, end: start + end }
}

function packingOf(packing: unknown): Packing | undefined {
  if (packing === undefined || packing === 'packed' || packing === 'element') return packing
  throw wrongType('packing', "'element' or 'packed'", packing)
}

/** @param all the size of the only axis, if there is no shape. */
export function readShape(shape: unknown, all: number): readonly number[] {
  if (shape === undefined) return [all]
  const sizes = readList(shape, 'the shape')
  for (let axis = 0; axis < sizes.length; axis++) sizes[axis] = checkAxisSize(sizes[axis], axis)
  return sizes as number[]
}

function readStrides(value: unknown, shape: readonly number[], place: string): readonly number[] {
  const steps = readList(value, `the strides of ${place}`)
  if (steps.length !== shape.length) {
    throw new ArgumentError(`the strides of ${place} must have ${shape.length} numbers, got ${steps.length}`)
  }
  const plain = rowMajorStrides(shape)
  for (let axis = 0; axis < steps.length; axis++) {
    const step = steps[axis]
    if (!Number.isSafeInteger(step)) throw wrongValue(`stride ${axis} of ${place}`, 'a whole number', step)
    // The step of an axis of one element has no effect.
    if (shape[axis] === 1) steps[axis] = plain[axis]
  }
  return steps as number[]
}

/** @throws {ArgumentRangeError} */
export function readOffset(value: unknown, place: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw wrongValue(`the offset of ${place}`, 'a whole number from 0', value)
}

function countOf(shape: readonly number[]): number {
  let count = 1
  for (let axis = 0; axis < shape.length; axis++) {
    if (shape[axis] === 0) return 0
    count *= shape[axis]!
  }
  return count
}
