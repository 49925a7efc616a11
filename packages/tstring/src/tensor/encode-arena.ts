import type { Segment } from '@tenon/core'
import { type Block, checkUsable, fillBytes, writeUtf8 } from '@tenon/core/internal'
import type { Sums } from '../image/image.ts'
import { hostAbi } from '../layouts/abi.ts'
import { TYPE } from '../layouts/layout.ts'
import { writePointer } from '../layouts/struct-words.ts'
import { QUARTER, type Arena } from '../memory/arena.ts'
import { startOf } from '../memory/regions.ts'
import { byteLengthOf, copyBytes } from '../memory/typed-arrays.ts'
import type { InvalidText } from '../text/decode.ts'
import { encodeString, type Text } from '../text/encode.ts'
import { writeAscii } from '../text/write-ascii.ts'

const SMALL = 22
const STRIDE = 24

/** The number of structs that are zeroed at once. */
const ZEROED = 512

/** The length that stands for values that are not written as UTF-8. No string is that long. */
const OTHER = 2 ** 29

/**
 * Writes TF_TStrings into a table, in one pass without a copy, because this must be as fast as `buf.write`. Each element
 * is read once. A getter of the array can run any code, so the memory is checked after each read.
 */
export function encodeArena(
  values: readonly Text[],
  count: number,
  table: Segment,
  arena: Arena,
  policy: InvalidText,
): Sums {
  const { view, gate } = table.block
  const { bytes } = table.block
  const isUtf8 = policy === 'replace'
  const end = table.base + table.byteSize
  // Variables hold the arena's chunk, because fields would be loaded and stored for each string.
  let { block, bytes: chunk, at: next, end: limit, address } = arena
  let [small, notSmall] = [0, 0]
  for (let i = 0, at = table.base; i < count; i++, at += STRIDE) {
    const value = values[i]!
    if (!gate.alive || !block.gate.alive) checkAlive(table, block)
    // Structs are zeroed when their turn comes, while they are in the cache, and not before the elements are known to exist.
    if (i % ZEROED === 0) fillBytes(bytes, 0, at, Math.min(at + ZEROED * STRIDE, end))
    const length = typeof value === 'string' && isUtf8 ? value.length : OTHER
    // A character of UTF-16 takes at most three bytes of UTF-8. utf8Write() stops silently at the end of the room.
    const most = 3 * length
    if (length > SMALL && most <= QUARTER) {
      if (limit - next < most) {
        arena.at = next
        arena.reserve(most)
        ;({ block, bytes: chunk, at: next, end: limit, address } = arena)
        checkAlive(table, block)
      }
      const size = writeUtf8(chunk, value as string, next, most)
      writeView(view, at, address + next, size)
      next += size
      notSmall += size
      continue
    }
    if (length <= SMALL && end - at > most) {
      const isAscii = writeAscii(bytes, at + 1, value as string, length)
      const size = isAscii ? length : writeUtf8(bytes, value as string, at + 1, most)
      if (size <= SMALL) {
        bytes[at] = size << 2
        small += size
        continue
      }
      // The string is not a SMALL, and was written into the next structs.
      fillBytes(bytes, 0, at + 1, at + 1 + size)
    }
    arena.at = next
    const size = encodeOther(value, i, table, at, arena, policy)
    ;({ block, bytes: chunk, at: next, end: limit, address } = arena)
    if (size > SMALL) notSmall += size
    else small += size
  }
  arena.at = next
  return { total: small + notSmall, notSmall }
}

/** @throws {ScopeClosedError} if a getter of the array or the allocator has closed the memory. */
function checkAlive(table: Segment, chunk: Block): void {
  checkUsable(table.block)
  checkUsable(chunk)
}

function writeView(view: DataView, at: number, address: number, size: number): void {
  if (hostAbi !== 'le64') {
    writePointer(view, at, 'tf', address, size)
    return
  }
  // Strings of the arena have far less than 2^30 bytes, so the upper half of the size word stays zero.
  view.setUint32(at, (size << 2) | TYPE.VIEW, true)
  view.setUint32(at + 8, address, true)
  view.setUint32(at + 12, address / 2 ** 32, true)
}

/** Writes bytes, strings under another policy, very long strings, and the last strings of the table. */
function encodeOther(
  value: Text,
  index: number,
  table: Segment,
  at: number,
  arena: Arena,
  policy: InvalidText,
): number {
  const { view } = table.block
  if (typeof value === 'string' && policy === 'replace' && 3 * value.length > QUARTER) {
    const segment = arena.own(Buffer.byteLength(value))
    checkUsable(table.block)
    const size = writeUtf8(segment.block.bytes, value, segment.base, segment.byteSize)
    writePointer(view, at, 'tf', startOf(segment), size)
    return size
  }
  const bytes = typeof value === 'string' ? encodeString(value, policy, `element ${index}`) : value
  const size = byteLengthOf(bytes, index)
  if (size <= SMALL) {
    table.block.bytes[at] = size << 2
    copyBytes(table.block.bytes, at + 1, bytes, size)
    return size
  }
  const address = arena.put(bytes, size)
  checkUsable(table.block)
  writePointer(view, at, 'tf', address, size)
  return size
}
