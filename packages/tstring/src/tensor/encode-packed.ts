import { Segment } from '@tenon/core'
import { newArrayBuffer, writeUtf8 } from '@tenon/core/internal'
import type { Image } from '../image/image.ts'
import { hostAbi } from '../layouts/abi.ts'
import { smallCapacity } from '../layouts/layout.ts'
import { segmentOver } from '../memory/open.ts'
import { byteLengthOf, copyBytes } from '../memory/typed-arrays.ts'
import type { InvalidText } from '../text/decode.ts'
import { encodeString, type Text } from '../text/encode.ts'

const SMALL = smallCapacity('tf')

/** The bytes at first, before the sizes of some strings are known: at least, for each string, and at most. */
const LEAST_FIRST = 256
const FIRST_OF_EACH = 64
const MOST_FIRST = 1 << 16

/** Encodes strings one behind the other, with the offset of each, in temporary memory of JavaScript. */
export function encodePacked(values: readonly Text[], policy: InvalidText): Image {
  return encodeTexts(values, values.length, policy)
}

/** As {@link encodePacked}, for `count` elements, of which the first were read already. Each other is read once. */
export function encodeTexts(
  values: readonly Text[],
  count: number,
  policy: InvalidText,
  known: readonly Text[] = [],
): Image {
  const offsets = new BigUint64Array(newArrayBuffer(8 * (count + 1), 16))
  // Offsets are written as pairs of 32 bits, because a bigint costs more than encoding a short string.
  const words = new Uint32Array(offsets.buffer)
  const isUtf8 = policy === 'replace'
  const firstSize = Math.max(LEAST_FIRST, Math.min(FIRST_OF_EACH * count, MOST_FIRST))
  let bytes: Buffer = Buffer.from(newArrayBuffer(firstSize, 16))
  let [at, notSmall] = [0, 0]
  for (let i = 0; i < count; i++) {
    const value = i < known.length ? known[i]! : values[i]!
    const start = at
    if (typeof value === 'string' && isUtf8) {
      // A character of UTF-16 takes at most three bytes.
      if (bytes.length - at < 3 * value.length) bytes = grown(bytes, at, 3 * value.length, count / i)
      at += writeUtf8(bytes, value, at, 3 * value.length)
    } else {
      const encoded = typeof value === 'string' ? encodeString(value, policy, `element ${i}`) : value
      const size = byteLengthOf(encoded, i)
      if (bytes.length - at < size) bytes = grown(bytes, at, size, count / i)
      copyBytes(bytes, at, encoded, size)
      at += size
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

/**
 * Returns a larger copy, with `room` bytes behind `used`. Memory that is not touched costs nothing, so the size is that of all
 * strings if the others are like those written, a share of one in `share`.
 */
function grown(bytes: Buffer, used: number, room: number, share: number): Buffer {
  const expected = Number.isFinite(share) ? Math.floor(used * Math.min(share, MOST_GROWTH) * 1.1) : 0
  const next = Buffer.from(newArrayBuffer(Math.max(2 * bytes.length, expected, used + room), 16))
  bytes.copy(next, 0, 0, used)
  return next
}

/** The largest factor by which memory grows at once, because the first strings may be much longer than the others. */
const MOST_GROWTH = 1024
