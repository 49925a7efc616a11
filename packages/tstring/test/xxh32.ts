const PRIME1 = 0x9e3779b1
const PRIME2 = 0x85ebca77
const PRIME3 = 0xc2b2ae3d
const PRIME4 = 0x27d4eb2f
const PRIME5 = 0x165667b1

const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by))
const step = (lane: number, word: number): number => Math.imul(rotate(lane + Math.imul(word, PRIME2), 13), PRIME1)
const word = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)

/** Returns the XXH32 of `bytes[start]` to `bytes[end]` according to its specification: an unsigned 32-bit number. */
export function xxh32(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let at = start
  let hash = (seed + PRIME5) | 0
  if (end - start >= 16) {
    let [a, b, c, d] = [(seed + PRIME1 + PRIME2) | 0, (seed + PRIME2) | 0, seed | 0, (seed - PRIME1) | 0]
    for (; end - at >= 16; at += 16) {
      a = step(a, word(bytes, at))
      b = step(b, word(bytes, at + 4))
      c = step(c, word(bytes, at + 8))
      d = step(d, word(bytes, at + 12))
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0
  }
  hash = (hash + (end - start)) | 0
  for (; end - at >= 4; at += 4) hash = Math.imul(rotate(hash + Math.imul(word(bytes, at), PRIME3), 17), PRIME4)
  for (; at < end; at++) hash = Math.imul(rotate(hash + Math.imul(bytes[at]!, PRIME5), 11), PRIME1)
  hash = Math.imul(hash ^ (hash >>> 15), PRIME2)
  hash = Math.imul(hash ^ (hash >>> 13), PRIME3)
  return (hash ^ (hash >>> 16)) >>> 0
}
