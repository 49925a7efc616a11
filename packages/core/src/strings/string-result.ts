import { gcAllocator } from '../memory/allocators.ts'
import type { NativeAllocator } from '../memory/native-allocator.ts'
import { Block } from '../memory/block.ts'
import { Cleaner } from '../memory/cleaner.ts'
import { globalGate } from '../memory/global-lifetime.ts'
import { Segment } from '../memory/segment.ts'
import { sharedChunkOf } from '../memory/block.ts'
import { tensor } from '../types/make-tensor.ts'
import type { Tensor } from '../types/tensor.ts'
import {
  checkPacked,
  countOf,
  freeBlocks,
  isPacked,
  measurePacked,
  writePacked,
  type NativeStrings,
} from './native-strings.ts'
import { makeStrings, type StringTensorLike } from './string-tensor-like.ts'

/** Returns the strings of a result, whose elements a kernel of this process has written. */
function stringsOf({ type, segment }: Tensor): NativeStrings {
  const { layout, shape } = type.strings!
  return { layout, count: countOf(shape), segment, follows: true }
}

/**
 * Takes the strings that a kernel of this process has written to a table of the garbage collector. Strings that are not in their structs are
 * copied behind the table, and their blocks are freed.
 *
 * @param place for messages. @param allocator of the result. It can be code of the user.
 * @throws {ArgumentError} with the element that is damaged. The blocks of such a table are not freed, because they are not known.
 */
export function takeStrings(table: Tensor, place: string, allocator: NativeAllocator = gcAllocator): StringTensorLike {
  const strings = stringsOf(table)
  const { layout, shape } = table.type.strings!
  if (allocator === gcAllocator && isPacked(strings))
    return makeStrings({ layout, shape, segment: table.segment }, false)
  const sizes = measurePacked(strings, place)
  const { segment } = tensor('uint8', [sizes.table + sizes.data], undefined, { allocator })
  writePacked(strings, sizes, segment, place)
  freeBlocks(strings)
  return makeStrings({ layout, shape, segment }, false)
}

/** Frees the blocks of a call that has failed. */
export function freeStrings(table: Tensor): void {
  freeBlocks(stringsOf(table))
}

interface Table {
  readonly strings: NativeStrings
  /** Keeps the table from being collected before its blocks are freed. */
  readonly buffer: ArrayBufferLike
}

const collected = new Cleaner<Table>(({ strings }) => freeBlocks(strings))

/** Frees the blocks of a call that was given up, when nothing uses its table any more. Its kernel may still run. */
export function abandonStrings(table: Tensor): void {
  const { block, base, byteSize, flags } = table.segment
  const { buffer } = block.view
  const same = new Block(globalGate, new DataView(buffer), Buffer.from(buffer as ArrayBuffer), block.address)
  const strings = { ...stringsOf(table), segment: new Segment(same, base, byteSize, flags) }
  collected.watch(block, { strings, buffer })
}

/** The memory with the strings of a result that another process has sent, with the bytes of OFFSET strings behind the table. */
const arrived = new WeakMap<Tensor, Segment>()

/** Notes the memory with the strings of a result of another process. */
export function stringsArrived(table: Tensor, segment: Segment): void {
  arrived.set(table, segment)
}

/** Returns the strings of a result of another process, which are in their table or in the memory that arrived. */
export function arrivedStrings(table: Tensor): StringTensorLike {
  const { layout, shape } = table.type.strings!
  return { layout, shape, segment: arrived.get(table) ?? table.segment }
}

/**
 * Returns the strings that a kernel of another process has written. That process may still change their memory.
 *
 * @param place for messages. @param allocator of the memory to which the strings are copied; by default they stay where they are
 * @throws {ArgumentError} with the element that is damaged.
 */
export function takeSharedStrings(
  { layout, shape, segment: from }: StringTensorLike,
  place: string,
  allocator?: NativeAllocator,
): StringTensorLike {
  const segment = allocator === undefined ? from : copyTo(allocator, from)
  checkPacked({ layout, count: countOf(shape), segment, follows: false }, place)
  return makeStrings({ layout, shape, segment }, sharedChunkOf(segment) !== undefined)
}

function copyTo(allocator: NativeAllocator, from: Segment): Segment {
  const { segment } = tensor('uint8', [from.byteSize], undefined, { allocator })
  segment.block.bytes.set(from.block.bytes.subarray(from.base, from.base + from.byteSize), segment.base)
  return segment
}
