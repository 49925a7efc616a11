import { AllocationError, ArgumentError, Segment } from '@tenon/core'
import { checkSize, coreFunctions, type CoreFunctions, describe, lastError } from '@tenon/core/internal'
import { typeName, type StringType } from '../layouts/layout.ts'
import { segmentOver, withOpen } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { encodeText, type Text } from '../text/encode.ts'
import { callElement, checkString } from './call.ts'

// The functions of TensorFlow's C API for one string, and those of its header that the API leaves out. `string` is a
// segment whose first 24 bytes are a TF_TString of this machine, made valid by tstringInit() or by zeroed memory. A LARGE
// owns a block of C's malloc: what was not given to TensorFlow must be freed by tstringDealloc(). Sources may lie in the
// string itself: they are read before anything is freed. All throw a ScopeClosedError for dead memory, a ReadOnlyError
// for read-only memory and a LoadError without the C core, which alone can own blocks of malloc.

/** Makes the empty string of any bytes. What they owned is not freed. */
export function tstringInit(string: Segment): void {
  checkString(string, 'string')
  string.block.bytes.fill(0, string.base, string.base + 24)
}

/**
 * Makes the string a copy of these bytes: SMALL up to 22 bytes, else LARGE.
 *
 * @throws {AllocationError} without memory; the string is unchanged.
 * @example
 * const string = gcAllocator.allocate(24)
 * tstringCopy(string, 'hello')
 * tstringGetSize(string) // 5
 */
export function tstringCopy(string: Segment, value: Text): void {
  withBytes(coreFunctions().tn_tstring_copy, string, value)
}

/** Adds bytes at the end; room doubles. Nothing at all happens for no bytes. @throws {AllocationError} */
export function tstringAppend(string: Segment, value: Text): void {
  withBytes(coreFunctions().tn_tstring_append, string, value)
}

/** Makes the string longer, filled with a byte, or shorter. @throws {AllocationError} */
export function tstringResize(string: Segment, byteSize: number, fill = 0): void {
  const { tn_tstring_resize: resize } = coreFunctions()
  const size = checkSize(byteSize, 'byteSize')
  const byte = checkSize(fill, 'fill', 'byte')
  if (byte > 255) throw new ArgumentError(`fill must be a byte, got ${describe(fill)}`)
  checkString(string, 'string')
  callElement('resizing a string', [string], () => resize(startOf(string), size, (byte << 24) >> 24))
}

/** Makes a LARGE with room for `capacity` bytes; nothing up to 22. Never shrinks. @throws {AllocationError} */
export function tstringReserve(string: Segment, capacity: number): void {
  withSize(coreFunctions().tn_tstring_reserve, string, capacity)
}

/** As {@link tstringReserve}, and at least twice the present capacity if it has to grow. @throws {AllocationError} */
export function tstringReserveAmortized(string: Segment, capacity: number): void {
  withSize(coreFunctions().tn_tstring_reserve_amortized, string, capacity)
}

/**
 * Makes the string a VIEW onto bytes that others own: they must stay where they are while the string names them. Bytes of
 * the string itself are copied instead.
 */
export function tstringAssignView(string: Segment, bytes: Segment): void {
  const { tn_tstring_assign_view: assign } = coreFunctions()
  if (!(bytes instanceof Segment)) throw new ArgumentError(`bytes must be a segment, got ${describe(bytes)}`)
  checkString(string, 'string')
  callElement('viewing bytes', [string, bytes], () => assign(startOf(string), startOf(bytes), bytes.byteSize))
}

/** Makes the string what `source` is: a VIEW or OFFSET becomes a VIEW, a LARGE is copied. @throws {AllocationError} */
export function tstringAssign(string: Segment, source: Segment): void {
  const { tn_tstring_assign: assign } = coreFunctions()
  checkString(string, 'string')
  checkString(source, 'source')
  callElement('assigning a string', [string, source], () => assign(startOf(string), startOf(source)))
}

/** What a VIEW is after it was moved from: empty since November 2025 (TensorFlow 2.21), before that a VIEW still. */
export interface MoveOptions {
  readonly keepViews?: boolean
}

/** Moves: a LARGE leaves an empty string behind, a SMALL or OFFSET stays as it is. @throws {AllocationError} */
export function tstringMove(string: Segment, source: Segment, { keepViews = false }: MoveOptions = {}): void {
  const { tn_tstring_move: move } = coreFunctions()
  checkString(string, 'string')
  checkString(source, 'source')
  callElement('moving a string', [string, source], () => move(startOf(string), startOf(source), keepViews ? 1 : 0))
}

/** Frees the block of a LARGE, which is empty then. Idempotent; nothing happens to other types. */
export function tstringDealloc(string: Segment): void {
  const { tn_tstring_dealloc: dealloc } = coreFunctions()
  checkString(string, 'string')
  withOpen([string], () => dealloc(startOf(string)))
}

/** How the string lies in memory. */
export function tstringGetType(string: Segment): StringType {
  return typeName('tf', getter(coreFunctions().tn_tstring_get_type, string))
}

/** The string's bytes, counted. */
export function tstringGetSize(string: Segment): number {
  return getter(coreFunctions().tn_tstring_get_size, string)
}

/** The bytes that fit without another block: 22 for SMALL, 0 for VIEW and OFFSET. */
export function tstringGetCapacity(string: Segment): number {
  return getter(coreFunctions().tn_tstring_get_capacity, string)
}

/** Where the bytes are. The address is good until the string changes. */
export function tstringGetDataPointer(string: Segment): bigint {
  return BigInt(getter(coreFunctions().tn_tstring_get_data_pointer, string))
}

/** Where bytes are that may be written: a VIEW or OFFSET becomes SMALL or LARGE first. @throws {AllocationError} */
export function tstringGetMutableDataPointer(string: Segment): bigint {
  const address = getter(coreFunctions().tn_tstring_get_mutable_data_pointer, string)
  if (address === 0) throw new AllocationError(`the viewed bytes could not be copied: ${lastError()}`)
  return BigInt(address)
}

function getter(get: (string: number) => number | bigint, string: Segment): number {
  checkString(string, 'string')
  return Number(withOpen([string], () => get(startOf(string))))
}

function withBytes(change: CoreFunctions['tn_tstring_copy'], string: Segment, value: Text): void {
  const bytes = segmentOver(encodeText(value, 'replace', 'value'), 'value')
  checkString(string, 'string')
  callElement('changing a string', [string, bytes], () => change(startOf(string), startOf(bytes), bytes.byteSize))
}

function withSize(change: CoreFunctions['tn_tstring_reserve'], string: Segment, byteSize: number): void {
  const size = checkSize(byteSize, 'capacity')
  checkString(string, 'string')
  callElement('reserving room', [string], () => change(startOf(string), size))
}
