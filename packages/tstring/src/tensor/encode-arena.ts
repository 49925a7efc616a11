import type { Segment } from '@tenon/core'
import type { Sums } from '../image/image.ts'
import { hostLittleEndian } from '../layouts/abi.ts'
import { TYPE } from '../layouts/layout.ts'
import { writePointer } from '../kernels/struct-writer.ts'
import { QUARTER, type Arena } from '../memory/arena.ts'
import { startOf } from '../memory/regions.ts'
import type { InvalidText } from '../text/decode.ts'
import { encodeText, type Text } from '../text/encode.ts'
import type { FastBuffer } from '../text/fast-buffer.ts'

const SMALL = 22
const STRIDE = 24

/**
 * Writes strings as TF_TString of this machine: up to 22 bytes into the struct, longer ones into the arena and a VIEW.
 * The table is zeroed. One pass, no copy in between: this is the path that has to be as fast as `buf.write` alone.
 *
 * @returns the sums of the sizes.
 */
export function encodeArena(values: readonly Text[], table: Segment, arena: Arena, policy: InvalidText): Sums {
  const { view } = table.block
  const bytes = table.block.bytes as FastBuffer
  const isUtf8 = policy === 'replace'
  let [small, notSmall] = [0, 0]
  for (let i = 0, at = table.base; i < values.length; i++, at += STRIDE) {
    const value = values[i]!
    if (typeof value !== 'string' || !isUtf8) {
      const size = encodeOther(value, i, view, bytes, at, arena, policy)
      if (size > SMALL) notSmall += size
      else small += size
      continue
    }
    const { length } = value
    if (length <= SMALL && writeAscii(bytes, at + 1, value, length)) {
      bytes[at] = length << 2
      small += length
      continue
    }
    // A character of UTF-16 takes at most three bytes of UTF-8. Writing stops early without a word where room ends.
    if (3 * length > QUARTER) {
      const segment = arena.own(Buffer.byteLength(value))
      const written = (segment.block.bytes as FastBuffer).utf8Write(value, segment.base, segment.byteSize)
      writePointer(view, at, 'tf', startOf(segment), written)
      notSmall += written
      continue
    }
    if (arena.end - arena.at < 3 * length) arena.reserve(3 * length)
    const start = arena.at
    const size = (arena.bytes as FastBuffer).utf8Write(value, start)
    // What a try as ASCII left in the struct would be read as an owner.
    if (length <= SMALL) bytes.fill(0, at + 1, at + STRIDE)
    if (size > SMALL) {
      writeView(view, at, arena.address + start, size)
      arena.at = start + size
      notSmall += size
    } else {
      // What stays behind in the arena is overwritten by the next string.
      arena.bytes.copy(bytes, at + 1, start, start + size)
      bytes[at] = size << 2
      small += size
    }
  }
  return { total: small + notSmall, notSmall }
}

/** Writes characters below U+0080 as they are; false if there are others, and what was written is to be overwritten. */
function writeAscii(bytes: Buffer, at: number, value: string, length: number): boolean {
  for (let k = 0; k < length; k++) {
    const code = value.charCodeAt(k)
    if (code > 0x7f) return false
    bytes[at + k] = code
  }
  return true
}

function writeView(view: DataView, at: number, address: number, size: number): void {
  if (!hostLittleEndian) {
    writePointer(view, at, 'tf', address, size)
    return
  }
  // Strings of the arena are far below 2^30 bytes: the size word's upper half stays zero.
  view.setUint32(at, (size << 2) | TYPE.VIEW, true)
  view.setUint32(at + 8, address, true)
  view.setUint32(at + 12, address / 2 ** 32, true)
}

function encodeOther(
  value: Text,
  index: number,
  view: DataView,
  table: Buffer,
  at: number,
  arena: Arena,
  policy: InvalidText,
): number {
  const bytes = encodeText(value, policy, `element ${index}`)
  if (bytes.length <= SMALL) {
    table[at] = bytes.length << 2
    table.set(bytes, at + 1)
  } else {
    writePointer(view, at, 'tf', arena.put(bytes), bytes.length)
  }
  return bytes.length
}
