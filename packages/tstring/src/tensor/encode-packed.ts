import { Segment } from '@tenon/core'
import { newArrayBuffer } from '@tenon/core/internal'
import type { Image } from '../image/image.ts'
import { hostAbi } from '../layouts/abi.ts'
import { smallCapacity } from '../layouts/layout.ts'
import { segmentOver } from '../memory/open.ts'
import type { InvalidText } from '../text/decode.ts'
import { encodeText, type Text } from '../text/encode.ts'
import type { FastBuffer } from '../text/fast-buffer.ts'

const SMALL = smallCapacity('tf')

/** Encodes strings one behind the other, with the offset of each, in temporary memory of JavaScript. */
export function encodePacked(values: readonly Text[], policy: InvalidText): Image {
  const count = values.length
  const offsets = new BigUint64Array(count + 1)
  // Offsets are written as pairs of 32 bits, because a bigint costs more than encoding a short string.
  const words = new Uint32Array(offsets.buffer)
  const isUtf8 = policy === 'replace'
  let bytes = Buffer.from(newArrayBuffer(expectedSize(values), 16)) as FastBuffer
  let [at, notSmall] = [0, 0]
  for (let i = 0; i < count; i++) {
    const value = values[i]!
    const start = at
    if (typeof value === 'string' && isUtf8) {
      if (bytes.length - at < 3 * value.length) bytes = grown(bytes, at, 3 * value.length)
      at += bytes.utf8Write(value, at)
    } else {
      const encoded = encodeText(value, policy, `element ${i}`)
      if (bytes.length - at < encoded.length) bytes = grown(bytes, at, encoded.length)
      bytes.set(encoded, at)
      at += encoded.length
    }
    if (at - start > SMALL) notSmall += at - start
    words[2 * i + 2 + LOW] = at
    words[2 * i + 2 + 1 - LOW] = at / 2 ** 32
  }
  const whole = segmentOver(bytes, 'bytes')
  return {
    layout: 'arrow64',
    abi: hostAbi,
    count,
    table: segmentOver(offsets, 'offsets'),
    data: new Segment(whole.block, whole.base, at, 0),
    regions: undefined,
    foreign: false,
    sums: { total: at, notSmall },
  }
}

const LOW = hostAbi.startsWith('le') ? 0 : 1

/** Returns room for ASCII strings, plus room for the last one to be written with three bytes for each character. */
function expectedSize(values: readonly Text[]): number {
  let [total, longest] = [0, 0]
  for (const value of values) {
    // A value without a length is refused when it is written.
    const length = value?.length ?? 0
    total += length
    if (length > longest) longest = length
  }
  return Number.isSafeInteger(total) ? total + 2 * longest : 0
}

/** Returns a copy that is twice as large, and large enough for `room` bytes behind `used`. */
function grown(bytes: Buffer, used: number, room: number): FastBuffer {
  const next = Buffer.from(newArrayBuffer(Math.max(2 * bytes.length, used + room), 16)) as FastBuffer
  bytes.copy(next, 0, 0, used)
  return next
}
