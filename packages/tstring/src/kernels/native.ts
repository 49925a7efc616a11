import type { Segment } from '@tenon/core'
import { coreFunctions, LAYOUTS } from '@tenon/core/internal'
import { segmentsOf, type Image, type Sums } from '../image/image.ts'
import { segmentOver } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { callKernel } from './call.ts'
import { descriptorOf, measuredSizes, NativeStruct, planStruct, targetStructOf } from './descriptor.ts'
import type { Plan, Sizes, Target } from './plan.ts'

// The operations of the C core on whole tensors. Each is one call.

const { size: SUMS_SIZE, offsets: SUMS } = LAYOUTS.tn_tstring_sums_t

let results: NativeStruct | undefined

/** The memory into which kernels write a number. */
function result(): NativeStruct {
  return (results ??= new NativeStruct(SUMS_SIZE))
}

/** Options of {@link validate}. */
export interface ValidateOptions {
  /** Whether the bytes must be as this library writes them. */
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
  const [tensor, level] = [descriptorOf(image, writable), strict ? 1 : 0]
  const { tn_tstring_validate: kernel } = coreFunctions()
  callKernel(segmentsOf(image), (fault) => kernel(tensor, level, budget, sums.address, fault))
  return { total: sums.getSize(SUMS.total), notSmall: sums.getSize(SUMS.not_small) }
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
  const [tensor, selected] = [descriptorOf(image), addressOrNull(indices)]
  const { tn_tstring_measure: kernel } = coreFunctions()
  const open = [...segmentsOf(image), ...indices]
  callKernel(open, (fault) => kernel(tensor, selected, count, struct.address, fault))
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
  const [tensor, selected] = [descriptorOf(image), addressOrNull(indices)]
  const { tn_tstring_convert: kernel } = coreFunctions()
  const open = [...segmentsOf(image), ...indices, target.table, target.data]
  callKernel(open, (fault) => kernel(tensor, selected, count, struct.address, fault))
  return measuredSizes(struct).dataSize
}

/** Compares the bytes of each element with the element at the same index of `other`, or with its only element. */
export function compare(image: Image, other: Image): Int8Array {
  const out = new Int8Array(image.count)
  const segment = segmentOver(out, 'out')
  const [left, right, at] = [descriptorOf(image), descriptorOf(other), startOf(segment)]
  const { tn_tstring_compare: kernel } = coreFunctions()
  const open = [...segmentsOf(image), ...segmentsOf(other), segment]
  callKernel(open, (fault) => kernel(left, right, at, fault))
  return out
}

/** Returns the first element from `from` on that has exactly these bytes, or the count. */
export function find(image: Image, bytes: Uint8Array, from: number): number {
  const index = result()
  const needle = segmentOver(bytes, 'bytes')
  const [tensor, at] = [descriptorOf(image), startOf(needle)]
  const { tn_tstring_find: kernel } = coreFunctions()
  const open = [...segmentsOf(image), needle]
  callKernel(open, (fault) => kernel(tensor, at, needle.byteSize, from, index.address, fault))
  return index.getSize(0)
}

/** Returns the XXH32 of each element. */
export function hash(image: Image, seed: number): Uint32Array {
  const out = new Uint32Array(image.count)
  const segment = segmentOver(out, 'out')
  const [tensor, at] = [descriptorOf(image), startOf(segment)]
  const { tn_tstring_hash: kernel } = coreFunctions()
  callKernel([...segmentsOf(image), segment], (fault) => kernel(tensor, seed, at, fault))
  return out
}

/**
 * Returns the first element from `from` on that is not valid UTF-8, or the count.
 *
 * @throws {MalformedTensorError} also if the table does not hold `count` elements, whatever `from` is.
 */
export function findInvalidUtf8(image: Image, from: number): number {
  const index = result()
  const tensor = descriptorOf(image)
  const { tn_tstring_find_invalid_utf8: kernel } = coreFunctions()
  callKernel(segmentsOf(image), (fault) => kernel(tensor, from, index.address, fault))
  return index.getSize(0)
}

/** Copies the bytes of one element, wherever its pointer leads. `byteSize` is the size in its struct. */
export function readElement(image: Image, index: number, byteSize: number): Segment {
  const size = result()
  const segment = segmentOver(new Uint8Array(byteSize), 'copy')
  const [tensor, at] = [descriptorOf(image), startOf(segment)]
  const { tn_tstring_read: kernel } = coreFunctions()
  const open = [...segmentsOf(image), segment]
  callKernel(open, (fault) => kernel(tensor, index, at, byteSize, size.address, fault))
  return segment.asSlice(0, Math.min(byteSize, size.getSize(0)))
}

function addressOrNull(segments: readonly Segment[]): number {
  return segments[0] === undefined ? 0 : startOf(segments[0])
}
