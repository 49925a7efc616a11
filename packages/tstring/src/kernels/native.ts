import type { Segment } from '@tenon/core'
import type { CType } from '@tenon/core/internal'
import { segmentsOf, type Image, type Sums } from '../image/image.ts'
import { segmentOver } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { callKernel } from './call.ts'
import { descriptorOf, measuredSizes, NativeStruct, planStruct, targetStructOf } from './descriptor.ts'
import type { Plan, Sizes, Target } from './plan.ts'

// The loops of the C core over whole tensors: one call for each.

let results: NativeStruct | undefined

/** The memory into which kernels write a number. */
function result(): NativeStruct {
  return (results ??= new NativeStruct(16))
}

const POINTER: CType = 'uintptr_t'
const SIZE: CType = 'uint64_t'
const INT: CType = 'int32_t'

/** How strictly a tensor is checked. */
export interface ValidateOptions {
  readonly strict: boolean
  /** Whether two strings must not share bytes. */
  readonly writable: boolean
  /** The most bytes that all strings together may have. */
  readonly budget: number
}

/**
 * Checks a tensor that came from outside. Pointers are refused.
 *
 * @throws {MalformedTensorError}
 */
export function validate(image: Image, { strict, writable, budget }: ValidateOptions): Sums {
  const sums = result()
  const values = [descriptorOf(image, writable), strict ? 1 : 0, budget, sums.address]
  callKernel('tn_tstring_validate', [POINTER, INT, SIZE, POINTER], values, segmentsOf(image))
  return { total: sums.getSize(0), notSmall: sums.getSize(8) }
}

/** The elements to convert, in order; undefined stands for all. */
type Selection = Uint32Array | undefined

/**
 * Returns the bytes that a conversion of `count` elements needs.
 *
 * @throws {TensorLimitError} if the plan's layout cannot hold the strings. @throws {MalformedTensorError}
 */
export function measure(image: Image, selection: Selection, count: number, plan: Plan): Sizes {
  const indices = selection === undefined ? [] : [segmentOver(selection, 'selection')]
  const struct = planStruct(plan)
  const values = [descriptorOf(image), addressOrNull(indices), count, struct.address]
  callKernel('tn_tstring_measure', [POINTER, POINTER, SIZE, POINTER], values, [...segmentsOf(image), ...indices])
  return measuredSizes(struct)
}

/**
 * Writes `count` elements in another layout.
 *
 * @returns the bytes of the target's data that were used.
 * @throws {MalformedTensorError} also if the strings need more (`changed`): nothing is written past the target.
 */
export function convert(image: Image, selection: Selection, count: number, target: Target): number {
  const indices = selection === undefined ? [] : [segmentOver(selection, 'selection')]
  const struct = targetStructOf(target)
  const values = [descriptorOf(image), addressOrNull(indices), count, struct.address]
  const open = [...segmentsOf(image), ...indices, target.table, target.data]
  callKernel('tn_tstring_convert', [POINTER, POINTER, SIZE, POINTER], values, open)
  return measuredSizes(struct).dataSize
}

/** Compares the bytes of each element with the element at the same index of `other`, or with its only element. */
export function compare(image: Image, other: Image): Int8Array {
  const out = new Int8Array(image.count)
  const segment = segmentOver(out, 'out')
  const values = [descriptorOf(image), descriptorOf(other), startOf(segment)]
  const open = [...segmentsOf(image), ...segmentsOf(other), segment]
  callKernel('tn_tstring_compare', [POINTER, POINTER, POINTER], values, open)
  return out
}

/** Returns the first element from `from` on that has exactly these bytes, or the count. */
export function find(image: Image, bytes: Uint8Array, from: number): number {
  const index = result()
  const needle = segmentOver(bytes, 'bytes')
  const values = [descriptorOf(image), startOf(needle), needle.byteSize, from, index.address]
  callKernel('tn_tstring_find', [POINTER, POINTER, SIZE, SIZE, POINTER], values, [...segmentsOf(image), needle])
  return index.getSize(0)
}

/** Returns the XXH32 of each element. */
export function hash(image: Image, seed: number): Uint32Array {
  const out = new Uint32Array(image.count)
  const segment = segmentOver(out, 'out')
  const values = [descriptorOf(image), seed, startOf(segment)]
  callKernel('tn_tstring_hash', [POINTER, 'uint32_t', POINTER], values, [...segmentsOf(image), segment])
  return out
}

/**
 * Returns the first element from `from` on that is not valid UTF-8, or the count.
 *
 * @throws {MalformedTensorError} also if the table does not hold `count` elements, whatever `from` is.
 */
export function findInvalidUtf8(image: Image, from: number): number {
  const index = result()
  const values = [descriptorOf(image), from, index.address]
  callKernel('tn_tstring_find_invalid_utf8', [POINTER, SIZE, POINTER], values, segmentsOf(image))
  return index.getSize(0)
}

/** Copies the bytes of one element, wherever its pointer leads. `byteSize` is the size in its struct. */
export function readElement(image: Image, index: number, byteSize: number): Segment {
  const size = result()
  const segment = segmentOver(new Uint8Array(byteSize), 'copy')
  const values = [descriptorOf(image), index, startOf(segment), byteSize, size.address]
  callKernel('tn_tstring_read', [POINTER, SIZE, POINTER, SIZE, POINTER], values, [...segmentsOf(image), segment])
  return segment.asSlice(0, Math.min(byteSize, size.getSize(0)))
}

function addressOrNull(segments: readonly Segment[]): number {
  return segments[0] === undefined ? 0 : startOf(segments[0])
}
