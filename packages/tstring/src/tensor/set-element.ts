import { ReadOnlyError, type Segment, type TenonError } from '@tenon/core'
import { ruleError } from '../errors/rules.ts'
import { StructReader } from '../image/struct-reader.ts'
import { hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { isStructLayout, smallCapacity, structSize, TYPE, type Layout, type StructLayout } from '../layouts/layout.ts'
import { writePointer, writePreallocSize } from '../layouts/host-struct.ts'
import { Arena } from '../memory/arena.ts'
import { Regions } from '../memory/regions.ts'
import type { Parts } from './parts.ts'

/** The bytes of the largest struct, in which a struct is built before it is written. */
const scratch = Buffer.alloc(24)

/** Whether strings that do not fit in place can go into an arena, because the structs may hold pointers. */
export function canGrow({ image, isWritable, isOutside = false, blocks }: Parts): boolean {
  return isWritable && !isOutside && blocks === undefined && image.abi === hostAbi
}

/** Creates the error of a string that does not fit in place while {@link canGrow} is false. */
export function placeError({ image }: Parts, index: number, bytes: Uint8Array): TenonError {
  const { layout, abi, table } = image
  checkStructs(layout)
  const isOffset = layout !== 'tf' && (table.block.bytes[table.base + index * structSize(layout)]! & 3) === TYPE.OFFSET
  const limit = isOffset ? new StructReader({ ...image, layout }).sizeOf(index) : smallCapacity(layout)
  const bytesName = abi === hostAbi ? 'bytes from outside' : `bytes for ${abi}`
  const hint = `Change a copy that to('tf') makes, because Tenon writes no pointers into ${bytesName}.`
  return ruleError('string-limit', index, bytes.length, limit, hint)
}

/** Returns the same parts with an arena for strings that do not fit in place. */
export function withArena(parts: Parts): Parts & { readonly arena: Arena } {
  if (parts.arena !== undefined) return parts as Parts & { readonly arena: Arena }
  const regions = parts.image.regions ?? new Regions()
  return { ...parts, image: { ...parts.image, regions }, arena: new Arena(parts.allocator, regions) }
}

/**
 * Gives an element new bytes in place: in its struct, or over the bytes that the struct names if the layout allows that.
 *
 * @returns false if the bytes need a place in an arena.
 */
export function setInPlace({ image }: Parts, index: number, bytes: Uint8Array): boolean {
  const { layout, table } = image
  checkStructs(layout)
  const at = table.base + index * structSize(layout)
  const type = table.block.bytes[at]! & 3
  // As shipped, a string that fits always becomes SMALL. The RFC keeps the container of a string.
  if (layout === 'tf' || type === TYPE.SMALL) {
    if (bytes.length > smallCapacity(layout)) return false
    scratch.fill(0)
    scratch[0] = bytes.length << 2
    scratch.set(bytes, 1)
    scratch.copy(table.block.bytes, at, 0, structSize(layout))
    return true
  }
  return image.abi === hostAbi || type === TYPE.OFFSET ? fillContainer(image, index, at, type, bytes) : false
}

/** Overwrites the bytes of an RFC OFFSET or PREALLOC. Returns false if they do not fit. */
function fillContainer(image: Parts['image'], index: number, at: number, type: number, bytes: Uint8Array): boolean {
  const { view } = image.table.block
  const reader = new StructReader(image as ConstructorParameters<typeof StructReader>[0])
  const isPrealloc = type === TYPE.PREALLOC
  const capacity = isPrealloc ? view.getUint32(at + 4, hostLittleEndian) : reader.sizeOf(index)
  if (type === TYPE.LARGE || bytes.length > capacity) return false
  const { block, start } = reader.locateCapacity(index, capacity)
  block.bytes.set(bytes, start)
  if (isPrealloc) {
    writePreallocSize(view, at, bytes.length)
  } else {
    view.setUint32(at, bytes.length * 4 + TYPE.OFFSET, true)
  }
  return true
}

/** Puts new bytes into the arena, and a VIEW or PREALLOC onto them into the struct. */
export function setInArena(
  { image, arena }: Parts & { readonly arena: Arena },
  index: number,
  bytes: Uint8Array,
): void {
  const { layout, table } = image
  checkStructs(layout)
  const address = arena.put(bytes)
  const at = table.base + index * structSize(layout)
  table.block.bytes.fill(0, at, at + structSize(layout))
  writePointer(table.block.view, at, layout, address, bytes.length)
}

/** Moves the long strings of an arena together and leaves the old bytes to their allocator. Slices share the arena. */
export function compact({ image, arena }: Parts & { readonly arena: Arena }): void {
  const { layout, table, count } = image
  if (!isStructLayout(layout)) return
  const reader = new StructReader({ ...image, layout })
  const size = total(reader, count)
  const room: Segment | undefined = size === 0 ? undefined : arena.own(size)
  let at = room?.base ?? 0
  for (let i = 0; i < count; i++) {
    if (reader.typeOf(i) !== TYPE.VIEW) continue
    reader.locate(i)
    const { block, start } = reader
    const length = reader.size
    if (room !== undefined) block.bytes.copy(room.block.bytes, at, start, start + length)
    const struct = table.base + i * structSize(layout)
    table.block.bytes.fill(0, struct, struct + structSize(layout))
    writePointer(table.block.view, struct, layout, room === undefined ? 0 : room.block.address + at, length)
    at += length
  }
  arena.restart(room)
}

/** Returns the bytes of all strings that pointers name. */
function total(reader: StructReader, count: number): number {
  let size = 0
  for (let i = 0; i < count; i++) if (reader.typeOf(i) === TYPE.VIEW) size += reader.sizeOf(i)
  return size
}

/** Strings of other layouts cannot be set, so their tensors are never writable. */
function checkStructs(layout: Layout): asserts layout is StructLayout {
  if (!isStructLayout(layout)) throw new ReadOnlyError(`the strings of a ${layout} tensor cannot be set`)
}
