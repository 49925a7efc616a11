import { ArgumentError, ReadOnlyError, type TenonError } from '@tenon/core'
import { checkUsable, fillBytes, writeUtf8 } from '@tenon/core/internal'
import { ruleError } from '../errors/rules.ts'
import { TensorLimitError } from '../errors/tstring-errors.ts'
import type { Reader } from '../image/reader.ts'
import type { StructReader } from '../image/struct-reader.ts'
import { hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { writePointer, writePreallocSize } from '../layouts/struct-words.ts'
import { isStructLayout, type Layout, TYPE } from '../layouts/layout.ts'
import { Arena, QUARTER } from '../memory/arena.ts'
import { copyRange } from '../memory/copy-range.ts'
import { Regions } from '../memory/regions.ts'
import type { Parts } from './parts.ts'

/** Whether strings that do not fit in place can go into an arena, because the structs may hold pointers. */
export function canGrow({ image, isWritable, isOutside = false, blocks }: Parts): boolean {
  return isWritable && !isOutside && blocks === undefined && image.abi === hostAbi && isStructLayout(image.layout)
}

/**
 * Sets an element to a short text of ASCII, character by character, which takes a third of the time of encoding it first.
 *
 * @returns false for another text, and for an element that is not set in its struct. Nothing was written then.
 */
export function setAscii(reader: StructReader, index: number, text: string): boolean {
  const { length } = text
  const { table, stride } = reader
  if (length > reader.small) return false
  const at = reader.base + index * stride
  if (reader.layout !== 'tf' && (table[at]! & 3) !== TYPE.SMALL) return false
  for (let k = 0; k < length; k++) if (text.charCodeAt(k) > 0x7f) return false
  table[at] = length << 2
  for (let k = 0; k < length; k++) table[at + 1 + k] = text.charCodeAt(k)
  for (let k = 1 + length; k < stride; k++) table[at + k] = 0
  return true
}

/** The error for a tensor whose strings cannot be set. */
export function notSettable(layout: Layout): ReadOnlyError {
  return new ReadOnlyError(`the strings of this ${layout} tensor cannot be set`, {
    hint: "Change a copy that to('tf') makes, or pass { writable: true } to ofSegment() if the layout is not legacy.",
  })
}

/** The most bytes of UTF-8 for each unit of a string. */
const MOST_BYTES = 3

/**
 * Sets an element to a text that its struct cannot hold, which is encoded where it stays. The allocator may run any code.
 *
 * @returns false for a text that may be too large to share a chunk. Nothing was written then.
 */
export function setLongText(arena: Arena, reader: StructReader, index: number, text: string): boolean {
  const most = text.length * MOST_BYTES
  if (text.length <= reader.small || most > QUARTER) return false
  arena.reserve(most)
  checkUsable(arena.block)
  checkUsable(reader.image.table.block)
  const { at } = arena
  const size = writeUtf8(arena.bytes, text, at, most)
  arena.at = at + size
  pointTo(reader, index, arena.address + at, size)
  return true
}

/** Overwrites an element of a layout without structs, whose length stays. @throws {TensorLimitError} for another length. */
export function setSameLength(reader: Reader, index: number, bytes: Uint8Array): void {
  reader.locate(index)
  const { block, start, size } = reader
  if (bytes.length !== size) {
    throw new TensorLimitError(
      `element ${index} must keep its ${size} bytes, because the next string follows it, got ${bytes.length}`,
      {
        hint: `Pass ${size} bytes, or change a copy that to('tf') makes.`,
        details: { index, value: bytes.length, limit: size },
      },
    )
  }
  block.bytes.set(bytes, start)
}

export function placeError(reader: StructReader, index: number, bytes: Uint8Array): TenonError {
  const { abi } = reader.image
  const isOffset = reader.layout !== 'tf' && reader.typeOf(index) === TYPE.OFFSET
  const limit = isOffset ? reader.sizeOf(index) : reader.small
  const bytesName = abi === hostAbi ? 'bytes from outside' : `bytes for ${abi}`
  const hint = `Change a copy that to('tf') makes, because Tenon writes no pointers into ${bytesName}.`
  return ruleError('string-limit', index, bytes.length, limit, hint)
}

export function withArena(parts: Parts): Parts & { readonly arena: Arena } {
  const { image, allocator } = parts
  const regions = image.regions ?? new Regions()
  return { ...parts, image: { ...image, regions }, arena: new Arena(allocator, regions) }
}

/** Gives an element new bytes in place. Returns false if the bytes need a place in an arena. */
export function setInPlace(reader: StructReader, index: number, bytes: Uint8Array): boolean {
  const { layout, table, image } = reader
  const at = reader.base + index * reader.stride
  const type = reader.typeOf(index)
  // As shipped, a string that fits always becomes SMALL. The RFC keeps the container of a string.
  if (layout !== 'tf' && type !== TYPE.SMALL) {
    return image.abi === hostAbi || type === TYPE.OFFSET ? fillContainer(reader, index, at, type, bytes) : false
  }
  if (bytes.length > reader.small) return false
  // The bytes may be a view of this struct, so they are moved before the rest is overwritten.
  table.set(bytes, at + 1)
  table[at] = bytes.length << 2
  fillBytes(table, 0, at + 1 + bytes.length, at + reader.stride)
  return true
}

/** Overwrites the bytes of an RFC OFFSET or PREALLOC. Returns false if they do not fit. */
function fillContainer(reader: StructReader, index: number, at: number, type: number, bytes: Uint8Array): boolean {
  const { view } = reader.image.table.block
  if (type === TYPE.LARGE) return false
  if (type === TYPE.PREALLOC) {
    const capacity = view.getUint32(at + 4, hostLittleEndian)
    if (bytes.length > capacity) return false
    reader.locatePrealloc(index, capacity)
    reader.block.bytes.set(bytes, reader.start)
    writePreallocSize(view, at, bytes.length)
    return true
  }
  // The capacity of an OFFSET is its size, which is read once, because others may change it.
  reader.locate(index)
  if (bytes.length > reader.size) return false
  reader.block.bytes.set(bytes, reader.start)
  view.setUint32(at, bytes.length * 4 + TYPE.OFFSET, true)
  return true
}

export function setInArena(arena: Arena, reader: StructReader, index: number, bytes: Uint8Array): void {
  const { length } = bytes
  const address = arena.put(bytes, length)
  // The allocator may have closed the memory of the tensor.
  checkUsable(reader.image.table.block)
  pointTo(reader, index, address, length)
}

function pointTo({ image, layout, base, stride }: StructReader, index: number, address: number, size: number): void {
  writePointer(image.table.block.view, base + index * stride, layout, address, size)
}

/** @throws {ArgumentError} for a slice, whose strings lie among those of the tensor from which it was cut. */
export function refuseSlice({ isWindow = false }: Parts): void {
  if (!isWindow) return
  throw new ArgumentError('a slice has no strings of its own', {
    hint: 'Call compact() on the tensor from which the slice was cut.',
  })
}

/** Moves the long strings of an arena together and leaves the old bytes to their allocator. Slices share the arena. */
export function compact(reader: StructReader, arena: Arena): void {
  const { count } = reader.image
  let total = 0
  for (let i = 0; i < count; i++) if (reader.typeOf(i) === TYPE.VIEW) total += reader.sizeOf(i)
  const room = total === 0 ? undefined : arena.own(total)
  checkUsable(reader.image.table.block)
  let at = room?.base ?? 0
  const end = at + total
  for (let i = 0; i < count; i++) {
    if (reader.typeOf(i) !== TYPE.VIEW) continue
    reader.locate(i)
    const { block, start, size } = reader
    // The allocator may have set strings.
    if (size > end - at) throw ruleError('changed', i, size, end - at)
    if (room !== undefined) copyRange(block.bytes, start, size, room.block.bytes, at)
    pointTo(reader, i, room === undefined ? 0 : room.block.address + at, size)
    at += size
  }
  arena.restart(room)
}

/** Checks that strings can be blocks of the C library. @throws {ArgumentError} for another layout than `tf`. */
export function checkTf(layout: Layout): void {
  if (layout === 'tf') return
  throw new ArgumentError(`the tensor must have the layout tf, got ${layout}`, {
    details: { name: 'layout', expected: 'tf', received: layout },
  })
}
