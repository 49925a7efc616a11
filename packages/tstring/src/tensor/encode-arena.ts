import type { Segment } from '@tenon/core'
import type { Sums } from '../image/image.ts'
import { hostAbi } from '../layouts/abi.ts'
import { TYPE } from '../layouts/layout.ts'
import { writePointer } from '../layouts/struct-words.ts'
import { QUARTER, type Arena } from '../memory/arena.ts'
import { startOf } from '../memory/regions.ts'
import type { InvalidText } from '../text/decode.ts'
import { encodeText, type Text } from '../text/encode.ts'
import type { FastBuffer } from '../text/fast-buffer.ts'

const SMALL = 22
const STRIDE = 24

/** The length that stands for values that are not written as UTF-8. No string is that long. */
const OTHER = 2 ** 29

/** The longest string for which writing ASCII character by character is faster than a call. */
const SHORT = 16

/** Writes TF_TStrings into a zeroed table, in one pass without a copy, because this must be as fast as `buf.write`. */
export function encodeArena(values: readonly Text[], table: Segment, arena: Arena, policy: InvalidText): Sums {
  const { view } = table.block
  const bytes = table.block.bytes as FastBuffer
  const isUtf8 = policy === 'replace'
  const end = table.base + table.byteSize
  // Variables hold the arena's chunk, because fields would be loaded and stored for each string.
  let { bytes: chunk, at: next, end: limit, address } = arena
  let [small, notSmall] = [0, 0]
  for (let i = 0, at = table.base; i < values.length; i++, at += STRIDE) {
    const value = values[i]!
    const length = typeof value === 'string' && isUtf8 ? value.length : OTHER
    // A character of UTF-16 takes at most three bytes of UTF-8. utf8Write() stops silently at the end of the room.
    const most = 3 * length
    if (length > SMALL && most <= QUARTER) {
      if (limit - next < most) {
        arena.at = next
        arena.reserve(most)
        ;({ bytes: chunk, at: next, end: limit, address } = arena)
      }
      const size = (chunk as FastBuffer).utf8Write(value as string, next, most)
      writeView(view, at, address + next, size)
      next += size
      notSmall += size
      continue
    }
    if (length <= SMALL && end - at > most) {
      const isAscii = length <= SHORT && writeAscii(bytes, at + 1, value as string, length)
      const size = isAscii ? length : bytes.utf8Write(value as string, at + 1, most)
      if (size <= SMALL) {
        bytes[at] = size << 2
        small += size
        continue
      }
      // The string is not a SMALL, and was written into the next structs.
      bytes.fill(0, at + 1, at + 1 + size)
    }
    arena.at = next
    const size = encodeOther(value, i, view, bytes, at, arena, policy)
    ;({ bytes: chunk, at: next, end: limit, address } = arena)
    if (size > SMALL) notSmall += size
    else small += size
  }
  arena.at = next
  return { total: small + notSmall, notSmall }
}

/** Writes ASCII characters. Returns false at the first other character; the caller overwrites what was written. */
function writeAscii(bytes: Buffer, at: number, value: string, length: number): boolean {
  for (let k = 0; k < length; k++) {
    const code = value.charCodeAt(k)
    if (code > 0x7f) return false
    bytes[at + k] = code
  }
  return true
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
  view: DataView,
  table: Buffer,
  at: number,
  arena: Arena,
  policy: InvalidText,
): number {
  if (typeof value === 'string' && policy === 'replace' && 3 * value.length > QUARTER) {
    const segment = arena.own(Buffer.byteLength(value))
    const size = (segment.block.bytes as FastBuffer).utf8Write(value, segment.base, segment.byteSize)
    writePointer(view, at, 'tf', startOf(segment), size)
    return size
  }
  const bytes = encodeText(value, policy, `element ${index}`)
  if (bytes.length <= SMALL) {
    table[at] = bytes.length << 2
    table.set(bytes, at + 1)
  } else {
    writePointer(view, at, 'tf', arena.put(bytes), bytes.length)
  }
  return bytes.length
}
