/** The number of strings in a tensor of the benchmarks. */
export const COUNT = 1_000_000

/** A tenth of the strings, for peers that would take a second for all. */
export const FEWER: number = COUNT / 10

const LETTERS = 'abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789'
const OTHERS = ['é', 'ž', '語', '😀']

/** Returns a small generator with a seed, so every run has the same strings. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Returns a size: 60 % are 0 to 15 bytes, 30 % 16 to 64, 10 % 65 to 1000. */
function size(next: () => number): number {
  const kind = next()
  if (kind < 0.6) return Math.floor(next() * 16)
  return kind < 0.9 ? 16 + Math.floor(next() * 49) : 65 + Math.floor(next() * 936)
}

function make(mixed: boolean): string[] {
  const next = random(1)
  return Array.from({ length: COUNT }, () => {
    const length = size(next)
    const hasOthers = mixed && next() < 0.2
    let text = ''
    while (text.length < length) {
      text +=
        hasOthers && next() < 0.25
          ? OTHERS[Math.floor(next() * OTHERS.length)]
          : LETTERS[Math.floor(next() * LETTERS.length)]
    }
    // Decoding bytes makes flat strings, like those from a file.
    return Buffer.from(text).toString()
  })
}

let ascii: string[] | undefined
let mixed: string[] | undefined

/** Returns a million ASCII strings of 70 MB. */
export const asciiStrings = (): string[] => (ascii ??= make(false))

/** Returns strings of the same sizes. In every fifth, a quarter of the characters is not ASCII. */
export const mixedStrings = (): string[] => (mixed ??= make(true))

/** Returns the bytes of the strings, one behind the other, with the offset of each and the end of the last. */
export function packed(strings: readonly string[]): { data: Buffer; offsets: Uint32Array } {
  const data = Buffer.alloc(strings.reduce((sum, text) => sum + Buffer.byteLength(text), 0))
  const offsets = new Uint32Array(strings.length + 1)
  strings.forEach((text, i) => (offsets[i + 1] = offsets[i]! + data.write(text, offsets[i]!)))
  return { data, offsets }
}
