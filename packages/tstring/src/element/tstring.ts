import { AllocationError, type Segment } from '@tenon/core'
import { checkOptions, checkSize, coreFunctions, type CoreFunctions, fillBytes, lastError } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { typeName, type StringType } from '../layouts/layout.ts'
import { checkSegment, segmentOver, withOpen } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { encodeText, type Text } from '../text/encode.ts'
import { callElement, checkString } from './call.ts'

// The functions of TensorFlow's C API for one string, and the functions of its header that the API leaves out. `string` is a
// segment whose first 24 bytes are a TF_TString of this machine, made valid by tstringInit() or by zeroed memory. A LARGE
// owns a block of C's malloc: free it with tstringDealloc() unless TensorFlow owns the string. Sources may lie in the string
// itself, because they are read before anything is freed. All functions throw a ScopeClosedError for closed memory, a
// ReadOnlyError for read-only memory, and a LoadError without the C core.

/** Makes the string empty, whatever its bytes are. A block that they own is not freed. */
export function tstringInit(string: Segment): void {
  const { block, base } = checkString(string)
  fillBytes(block.bytes, 0, base, base + 24)
}

/**
 * Copies bytes into the string, which becomes SMALL up to 22 bytes, and LARGE otherwise.
 *
 * @throws {AllocationError} without memory. The string is unchanged then.
 * @example
 * const string = gcAllocator.allocate(24)
 * tstringCopy(string, 'hello')
 * tstringGetSize(string) // 5
 */
export function tstringCopy(string: Segment, value: Text): void {
  withBytes((core) => core.tn_tstring_copy, string, value)
}

/** Appends bytes. The room doubles. Appending no bytes changes nothing. @throws {AllocationError} */
export function tstringAppend(string: Segment, value: Text): void {
  withBytes((core) => core.tn_tstring_append, string, value)
}

/** Makes the string shorter, or longer with a fill byte. @throws {AllocationError} */
export function tstringResize(string: Segment, byteSize: number, fill = 0): void {
  const size = checkSize(byteSize, 'byteSize')
  const byte = checkSize(fill, 'fill', 'byte')
  if (byte > 255) throw argumentError('fill', 'a byte', fill)
  const struct = checkString(string)
  callElement('resizing a string', [struct], (core) =>
    core.tn_tstring_resize(startOf(struct), size, (byte << 24) >> 24),
  )
}

/** Makes the string a LARGE with room for more than 22 bytes. Never shrinks the room. @throws {AllocationError} */
export function tstringReserve(string: Segment, capacity: number): void {
  withSize((core) => core.tn_tstring_reserve, string, capacity)
}

/** Reserves like {@link tstringReserve}, but at least twice the capacity if it must grow. @throws {AllocationError} */
export function tstringReserveAmortized(string: Segment, capacity: number): void {
  withSize((core) => core.tn_tstring_reserve_amortized, string, capacity)
}

/**
 * Makes the string a VIEW onto bytes that others own. The bytes must not move or end while the string names them. Bytes of
 * the string itself are copied instead.
 */
export function tstringAssignView(string: Segment, bytes: Segment): void {
  const viewed = checkSegment(bytes, 'bytes')
  const struct = checkString(string)
  callElement('viewing bytes', [struct, viewed], (core) =>
    core.tn_tstring_assign_view(startOf(struct), startOf(viewed), viewed.byteSize),
  )
}

/** Assigns a string: a VIEW or OFFSET becomes a VIEW, and a LARGE is copied. @throws {AllocationError} */
export function tstringAssign(string: Segment, source: Segment): void {
  const from = checkString(source, 'source')
  const struct = checkString(string)
  callElement('assigning a string', [struct, from], (core) => core.tn_tstring_assign(startOf(struct), startOf(from)))
}

/** Options of `tstringMove`. */
export interface MoveOptions {
  /** Whether a VIEW that was moved stays a VIEW, as before TensorFlow 2.21 (November 2025); by default it becomes empty. */
  readonly keepViews?: boolean
}

/** Moves a string: a LARGE leaves an empty string behind, and a SMALL or OFFSET is unchanged. @throws {AllocationError} */
export function tstringMove(string: Segment, source: Segment, options?: MoveOptions): void {
  const { keepViews = false } = checkOptions(options, ['keepViews'])
  const from = checkString(source, 'source')
  const struct = checkString(string)
  callElement('moving a string', [struct, from], (core) =>
    core.tn_tstring_move(startOf(struct), startOf(from), keepViews ? 1 : 0),
  )
}

/** Frees the block of a LARGE, which becomes empty. Idempotent. Other types are unchanged. */
export function tstringDealloc(string: Segment): void {
  const struct = checkString(string)
  withOpen([struct], () => coreFunctions().tn_tstring_dealloc(startOf(struct)))
}

/** Returns the type of the string's struct. */
export function tstringGetType(string: Segment): StringType {
  return typeName('tf', getter(coreFunctions().tn_tstring_get_type, string))
}

/** Returns the size of the string in bytes. */
export function tstringGetSize(string: Segment): number {
  return getter(coreFunctions().tn_tstring_get_size, string)
}

/** Returns the bytes that fit without another block: 22 for SMALL, 0 for VIEW and OFFSET. */
export function tstringGetCapacity(string: Segment): number {
  return getter(coreFunctions().tn_tstring_get_capacity, string)
}

/** Returns the address of the bytes, which is valid until the string changes. */
export function tstringGetDataPointer(string: Segment): bigint {
  return BigInt(getter(coreFunctions().tn_tstring_get_data_pointer, string))
}

/** Returns the address of writable bytes. A VIEW or OFFSET becomes SMALL or LARGE first. @throws {AllocationError} */
export function tstringGetMutableDataPointer(string: Segment): bigint {
  const address = getter(coreFunctions().tn_tstring_get_mutable_data_pointer, string)
  if (address === 0) throw new AllocationError(`copying viewed bytes: ${lastError()}`)
  return BigInt(address)
}

function getter(get: (string: number) => number | bigint, string: Segment): number {
  const struct = checkString(string)
  return Number(withOpen([struct], () => get(startOf(struct))))
}

type Select<Arguments extends readonly number[]> = (core: CoreFunctions) => (...values: Arguments) => number

function withBytes(
  select: Select<[string: number, bytes: number, byteSize: number]>,
  string: Segment,
  value: Text,
): void {
  const bytes = segmentOver(encodeText(value, 'replace', 'value'), 'value')
  const struct = checkString(string)
  callElement('changing a string', [struct, bytes], (core) =>
    select(core)(startOf(struct), startOf(bytes), bytes.byteSize),
  )
}

function withSize(select: Select<[string: number, capacity: number]>, string: Segment, byteSize: number): void {
  const size = checkSize(byteSize, 'capacity')
  const struct = checkString(string)
  callElement('reserving room', [struct], (core) => select(core)(startOf(struct), size))
}
