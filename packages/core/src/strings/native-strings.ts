import { ArgumentError } from '../errors/kinds.ts'
import { CONSTANTS, LAYOUTS } from '../generated/layouts.ts'
import type { Segment } from '../memory/segment.ts'
import { checkStatus, coreFunctions } from '../native/core-library.ts'
import { NativeStruct } from '../native/native-struct.ts'
import { addressOf, keepAlive } from '../native/native-memory.ts'
import { stringSize, STRING_LAYOUTS, type StringLayout } from './string-layout.ts'

// The operations of the C core on the strings of operands and results. Each is one call, during which no other code runs.

const { size: TENSOR_SIZE, offsets: TENSOR } = LAYOUTS.tn_tstring_tensor_t
const { size: TARGET_SIZE, offsets: TARGET } = LAYOUTS.tn_tstring_target_t
const { size: FAULT_SIZE, offsets: FAULT } = LAYOUTS.tn_tstring_fault_t
const { size: SUMS_SIZE } = LAYOUTS.tn_tstring_sums_t

/** The strings of a tensor, as C reads them. */
export interface NativeStrings {
  readonly layout: StringLayout
  readonly count: number
  /** The structs, or the whole buffer, followed by the bytes of OFFSET strings. */
  readonly segment: Segment
  /** Whether C follows pointers, which were checked. */
  readonly follows: boolean
}

/** The number of strings of a shape. */
export const countOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1)

/** The structs of one thread, which each call fills anew. */
interface Structs {
  readonly tensor: NativeStruct
  readonly target: NativeStruct
  readonly fault: NativeStruct
  readonly sums: NativeStruct
}

let known: Structs | undefined

function structs(): Structs {
  return (known ??= {
    tensor: new NativeStruct(TENSOR_SIZE),
    target: new NativeStruct(TARGET_SIZE),
    fault: new NativeStruct(FAULT_SIZE),
    sums: new NativeStruct(SUMS_SIZE),
  })
}

const startOf = ({ block, base }: Segment): number => block.address + base

/** Returns the structs, with the strings in `tensor`. */
function describe({ layout, count, segment, follows }: NativeStrings): Structs {
  const filled = structs()
  const { tensor, fault } = filled
  const { byteSize } = segment
  const start = startOf(segment)
  tensor.setInt(TENSOR.layout, STRING_LAYOUTS.indexOf(layout))
  tensor.setInt(TENSOR.abi, CONSTANTS.TN_TSTRING_LE64)
  tensor.setInt(TENSOR.flags, follows ? CONSTANTS.TN_TSTRING_FOLLOW : 0)
  tensor.setSize(TENSOR.count, count)
  tensor.setSize(TENSOR.table_size, byteSize)
  tensor.setSize(TENSOR.data_size, byteSize)
  tensor.setSize(TENSOR.table, start)
  tensor.setSize(TENSOR.data, start)
  fault.setInt(FAULT.check, CONSTANTS.TN_TSTRING_CHECK_NONE)
  return filled
}

/** @throws {ArgumentError} for a broken rule, with the rule and the element. */
function checkStatusOf(status: number, place: string): void {
  if (status === 0) return
  const { fault } = structs()
  const rule = ruleName(fault.getInt(FAULT.check))
  if (rule === undefined) checkStatus(status, `reading ${place}`)
  const [index, value, limit] = [FAULT.index, FAULT.value, FAULT.limit].map((at) => fault.getSize(at))
  throw new ArgumentError(
    `${place} must have valid strings, but element ${index} breaks the rule ${rule}, got ${value} with the limit ${limit}`,
    {
      hint: 'The README of @tenon/tstring describes the rules. Check the memory with StringTensor.ofSegment().',
      details: { path: place, index, rule, value, limit },
    },
  )
}

const PREFIX = 'TN_TSTRING_CHECK_'

/** Returns the name of a rule, as `@tenon/tstring` has it. */
function ruleName(check: number): string | undefined {
  if (check === CONSTANTS.TN_TSTRING_CHECK_NONE) return undefined
  const name = Object.keys(CONSTANTS).find(
    (one) => one.startsWith(PREFIX) && CONSTANTS[one as keyof typeof CONSTANTS] === check,
  )
  return name?.slice(PREFIX.length).toLowerCase().replaceAll('_', '-')
}

/**
 * Checks strings that a kernel of this process is about to read.
 *
 * @param regions the memory to which pointers may refer, in the order of its addresses. @throws {ArgumentError} with the element.
 */
export function checkOperand(strings: NativeStrings, regions: readonly Segment[], place: string): void {
  if (stringSize(strings.layout) === 0) {
    checkPacked(strings, place)
    return
  }
  const { tensor, fault } = describe(strings)
  const ranges = rangesOf(regions)
  const status = coreFunctions().tn_tstring_check_operand(
    tensor.address,
    addressOf(ranges),
    regions.length,
    fault.address,
  )
  keepAlive(ranges)
  checkStatusOf(status, place)
}

const NO_RANGES = new BigUint64Array(1)

/** The regions as an array of `tn_tstring_range_t`. */
function rangesOf(regions: readonly Segment[]): BigUint64Array {
  if (regions.length === 0) return NO_RANGES
  const ranges = new BigUint64Array(2 * regions.length)
  regions.forEach((region, i) => {
    const start = startOf(region)
    ranges[2 * i] = BigInt(start)
    ranges[2 * i + 1] = BigInt(start + region.byteSize)
  })
  return ranges
}

/** Whether all strings are inside the segment. They are not if one is damaged. */
export const isPacked = (strings: NativeStrings): boolean => validate(strings) === 0

/** Checks strings that are inside the segment, without pointers. @throws {ArgumentError} with the element that is damaged. */
export function checkPacked(strings: NativeStrings, place: string): void {
  checkStatusOf(validate(strings), place)
}

/** Returns a status. Nothing is copied, so strings may share bytes, and their sum has no limit. */
function validate(strings: NativeStrings): number {
  const { tensor, fault, sums } = describe({ ...strings, follows: false })
  const budget = Number.MAX_SAFE_INTEGER
  return coreFunctions().tn_tstring_validate(tensor.address, 0, budget, sums.address, fault.address)
}

/** The sizes of packed strings in bytes. */
export interface PackedSizes {
  readonly table: number
  readonly data: number
}

const { TN_TSTRING_AS_OFFSET: AS_OFFSET, TN_TSTRING_AS_BLOCK: AS_BLOCK } = CONSTANTS

function describeTarget(
  { layout }: NativeStrings,
  { table, data }: PackedSizes,
  start: number,
  form: number = AS_OFFSET,
): NativeStruct {
  const { target } = structs()
  target.setInt(TARGET.layout, STRING_LAYOUTS.indexOf(layout))
  target.setInt(TARGET.abi, CONSTANTS.TN_TSTRING_LE64)
  target.setInt(TARGET.form, form)
  target.setInt(TARGET.is_inline, 1)
  target.setSize(TARGET.table_size, table)
  target.setSize(TARGET.data_size, data)
  target.setSize(TARGET.table, start)
  target.setSize(TARGET.data, start + table)
  return target
}

/** Returns the size of strings without pointers. @throws {ArgumentError} for damaged strings, and those that no OFFSET can have. */
export function measurePacked(strings: NativeStrings, place: string): PackedSizes {
  const { tensor, fault } = describe(strings)
  const target = describeTarget(strings, { table: 0, data: 0 }, 0)
  const status = coreFunctions().tn_tstring_measure(tensor.address, 0, strings.count, target.address, fault.address)
  checkStatusOf(status, place)
  return { table: target.getSize(TARGET.table_size), data: target.getSize(TARGET.data_size) }
}

/** Copies strings, without pointers, into memory of the measured size. @throws {ArgumentError} if they have changed meanwhile. */
export function writePacked(strings: NativeStrings, sizes: PackedSizes, to: Segment, place: string): void {
  convert(strings, describeTarget(strings, sizes, startOf(to)), place)
}

/**
 * Copies strings to structs, whose contents are overwritten. Strings that do not fit into them become blocks of malloc, which the structs own.
 *
 * @throws {ArgumentError} for damaged strings. The structs have no blocks then.
 */
export function writeBlocks(strings: NativeStrings, to: Segment, place: string): void {
  convert(strings, describeTarget(strings, { table: to.byteSize, data: 0 }, startOf(to), AS_BLOCK), place)
}

function convert(strings: NativeStrings, target: NativeStruct, place: string): void {
  const { tensor, fault } = describe(strings)
  const status = coreFunctions().tn_tstring_convert(tensor.address, 0, strings.count, target.address, fault.address)
  checkStatusOf(status, place)
}

/** Frees the blocks of malloc that the structs own. */
export function freeBlocks({ layout, count, segment }: NativeStrings): void {
  coreFunctions().tn_tstring_dealloc_all(startOf(segment), count, STRING_LAYOUTS.indexOf(layout))
}
