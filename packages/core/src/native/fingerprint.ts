/** As many words as make the function below hot after a few calls, so that it is compiled soon. */
const WORDS_PER_CALL = 4096

/**
 * A fingerprint of 128 bits, as hexadecimal digits. It detects damage and other versions of a file, but not somebody who looks for a file
 * with the same fingerprint. Unlike SHA-256 it needs no `node:crypto`, whose loading takes as long as that of the core.
 */
export function fingerprint(bytes: Uint8Array): string {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2)
  const state = Int32Array.of(4, 1, 2, 3)
  const end = words.length & ~3
  for (let at = 0; at < end; at += WORDS_PER_CALL) mix(state, words, at, Math.min(at + WORDS_PER_CALL, end))
  mix(state, Int32Array.from([...bytes.subarray(end * 4), ...new Uint8Array(16)]), 0, 16)
  // Each of the four states mixes in the length last, so that the length cannot cancel out a byte.
  mix(state, new Int32Array(4).fill(bytes.length), 0, 4)
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** Each step maps different words to different states, so one changed word always changes the state. */
function mix(state: Int32Array, words: Int32Array, from: number, end: number): void {
  let [a, b, c, d] = [state[0]!, state[1]!, state[2]!, state[3]!]
  for (let i = from; i < end; i += 4) {
    a = Math.imul(a ^ words[i]!, 0x9e3779b1)
    a = (a << 13) | (a >>> 19)
    b = Math.imul(b ^ words[i + 1]!, 0x85ebca77)
    b = (b << 13) | (b >>> 19)
    c = Math.imul(c ^ words[i + 2]!, 0xc2b2ae3d)
    c = (c << 13) | (c >>> 19)
    d = Math.imul(d ^ words[i + 3]!, 0x27d4eb2f)
    d = (d << 13) | (d >>> 19)
  }
  state.set([a, b, c, d])
}
