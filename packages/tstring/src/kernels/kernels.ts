import { AllocationError, type Segment } from '@tenon/core'
import {
  checkStatus,
  CONSTANTS,
  coreFunctions,
  keepAlive,
  lastError,
  LAYOUTS,
  NativeStruct,
  newArrayBuffer,
  statusName,
  type CoreFunctions,
} from '@tenon/core/internal'
import { ruleError, ruleNames, type Rule } from '../errors/rules.ts'
import { segmentsOf, type Image, type Sums } from '../image/image.ts'
import { segmentOver, withOpen } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { descriptorOf, measuredSizes, planStruct, targetStructOf } from './descriptor.ts'
import type { Plan, Sizes, Target } from './plan.ts'

// The operations of the C core on whole tensors. Each is one call.

const { size: SUMS_SIZE, offsets: SUMS } = LAYOUTS.tn_tstring_sums_t
const { size: FAULT_SIZE, offsets: FAULT } = LAYOUTS.tn_tstring_fault_t

const rules = new Map<number, Rule>(
  ruleNames.map((rule) => {
    const name = `TN_TSTRING_CHECK_${rule.toUpperCase().replaceAll('-', '_')}`
    return [CONSTANTS[name as keyof typeof CONSTANTS], rule]
  }),
)

let fault: NativeStruct | undefined
let results: NativeStruct | undefined

/** Returns the memory into which kernels write numbers. The next call uses the same memory again. */
const result = (): NativeStruct => (results ??= new NativeStruct(SUMS_SIZE))

/**
 * Calls a kernel and keeps segments open, and the structs of images alive, meanwhile. The kernel fills the fault if a rule is
 * broken.
 */
function call(
  open: readonly Segment[],
  structs: readonly NativeStruct[],
  kernel: (core: CoreFunctions, faultAddress: number) => number,
): void {
  fault ??= new NativeStruct(FAULT_SIZE)
  fault.setInt(FAULT.check, CONSTANTS.TN_TSTRING_CHECK_NONE)
  const { address } = fault
  const core = coreFunctions()
  const status = withOpen(open, () => kernel(core, address))
  for (const { view } of structs) keepAlive(view)
  if (status === 0) return
  const rule = rules.get(fault.getInt(FAULT.check))
  if (rule !== undefined) {
    throw ruleError(rule, fault.getSize(FAULT.index), fault.getSize(FAULT.value), fault.getSize(FAULT.limit))
  }
  if (statusName(status) === 'OUT_OF_MEMORY') throw new AllocationError(lastError())
  checkStatus(status, 'reading a string tensor')
}

export interface ValidateOptions {
  readonly strict: boolean
  /** Whether two strings must not share bytes. */
  readonly writable: boolean
  /** The most bytes that all strings together may have. */
  readonly budget: number
}

/** Checks a tensor that came from outside. Pointers are refused. @throws {MalformedTensorError} */
export function validate(image: Image, { strict, writable, budget }: ValidateOptions): Sums {
  const sums = result()
  const from = descriptorOf(image, writable)
  call(segmentsOf(image), [from], (core, at) =>
    core.tn_tstring_validate(from.address, strict ? 1 : 0, budget, sums.address, at),
  )
  return { total: sums.getSize(SUMS.total), notSmall: sums.getSize(SUMS.not_small) }
}

/** The elements to convert, in order. Undefined stands for all. */
type Selection = Uint32Array | undefined

/** Returns the bytes that a conversion needs. @throws {TensorLimitError} if the layout cannot hold the strings */
export function measure(image: Image, selection: Selection, count: number, plan: Plan): Sizes {
  const indices = segmentsOfSelection(selection)
  const struct = planStruct(plan)
  const from = descriptorOf(image)
  call([...segmentsOf(image), ...indices], [from], (core, at) =>
    core.tn_tstring_measure(from.address, addressOrNull(indices), count, struct.address, at),
  )
  return measuredSizes(struct)
}

/**
 * Writes elements in another layout, and returns the bytes of the target's data that were used.
 *
 * @throws {MalformedTensorError} also if the strings need more (`changed`). Nothing is written past the target.
 */
export function convert(image: Image, selection: Selection, count: number, target: Target): number {
  const indices = segmentsOfSelection(selection)
  const struct = targetStructOf(target)
  const from = descriptorOf(image)
  call([...segmentsOf(image), ...indices, target.table, target.data], [from], (core, at) =>
    core.tn_tstring_convert(from.address, addressOrNull(indices), count, struct.address, at),
  )
  return measuredSizes(struct).dataSize
}

/** Compares the bytes of each element with the element at the same index of `other`, or with its only element. */
export function compare(image: Image, other: Image): Int8Array {
  const orders = new Int8Array(image.count)
  const out = segmentOver(orders, 'out')
  const [left, right] = [descriptorOf(image), descriptorOf(other)]
  call([...segmentsOf(image), ...segmentsOf(other), out], [left, right], (core, at) =>
    core.tn_tstring_compare(left.address, right.address, startOf(out), at),
  )
  return orders
}

/** Returns the first index from `first` on with exactly these bytes, or the count. */
export function find(image: Image, bytes: Uint8Array, first: number): number {
  const index = result()
  const needle = segmentOver(bytes, 'bytes')
  const from = descriptorOf(image)
  call([...segmentsOf(image), needle], [from], (core, at) =>
    core.tn_tstring_find(from.address, startOf(needle), needle.byteSize, first, index.address, at),
  )
  return index.getSize(0)
}

/** Returns the XXH32 of each element. */
export function hash(image: Image, seed: number): Uint32Array {
  const hashes = new Uint32Array(image.count)
  const out = segmentOver(hashes, 'out')
  const from = descriptorOf(image)
  call([...segmentsOf(image), out], [from], (core, at) => core.tn_tstring_hash(from.address, seed, startOf(out), at))
  return hashes
}

/** Returns the first index from `first` on whose bytes are not valid UTF-8, or the count. */
export function findInvalidUtf8(image: Image, first: number): number {
  const index = result()
  const from = descriptorOf(image)
  call(segmentsOf(image), [from], (core, at) =>
    core.tn_tstring_find_invalid_utf8(from.address, first, index.address, at),
  )
  return index.getSize(0)
}

/** Copies the bytes of one element, wherever its pointer leads. `byteSize` is the size in its struct. */
export function readElement(image: Image, index: number, byteSize: number): Segment {
  const size = result()
  const copy = segmentOver(new Uint8Array(newArrayBuffer(byteSize, 1), 0, byteSize), 'copy')
  const from = descriptorOf(image)
  call([...segmentsOf(image), copy], [from], (core, at) =>
    core.tn_tstring_read(from.address, index, startOf(copy), byteSize, size.address, at),
  )
  return copy.asSlice(0, Math.min(byteSize, size.getSize(0)))
}

const segmentsOfSelection = (selection: Selection): Segment[] =>
  selection === undefined ? [] : [segmentOver(selection, 'selection')]

const addressOrNull = ([segment]: readonly Segment[]): number => (segment === undefined ? 0 : startOf(segment))
