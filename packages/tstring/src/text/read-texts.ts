import { byteLengthOf } from '../memory/typed-arrays.ts'
import type { Text } from './encode.ts'

/** Elements that were read once and are strings or bytes. */
export interface Texts {
  readonly values: Text[]
  /** The sum of the lengths, which is the number of bytes if all strings are ASCII. Never larger than that number. */
  readonly length: number
}

/** The largest array that the engine creates with room for all elements. */
const PACKED_MAXIMUM = 2 ** 25

/** The first elements are samples, then one in this number. */
const SAMPLES = 64
const EVERY = 1024

/**
 * Reads `count` elements once, because getters among them can run any code. Stops behind the first sample that is not ASCII.
 *
 * @throws {ArgumentError} for other values than strings and bytes.
 */
export function readAsciiTexts(values: readonly Text[], count: number): Texts {
  const texts: Text[] = count <= PACKED_MAXIMUM ? new Array<Text>(count) : []
  let length = 0
  for (let i = 0; i < count; i++) {
    const value = values[i]!
    texts[i] = value
    if (typeof value !== 'string') {
      length += byteLengthOf(value, i)
      continue
    }
    length += value.length
    if ((i < SAMPLES || i % EVERY === 0) && Buffer.byteLength(value) !== value.length) {
      texts.length = i + 1
      break
    }
  }
  return { values: texts, length }
}
