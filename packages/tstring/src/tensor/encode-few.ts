import { gcAllocator, Segment } from '@tenon/core'
import { addressOf, coreFunctions, guardMode, newCollected, writeUtf8 } from '@tenon/core/internal'
import { hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { smallCapacity, structSize, TYPE } from '../layouts/layout.ts'
import { Regions, startOf } from '../memory/regions.ts'
import { byteLengthOf } from '../memory/typed-arrays.ts'
import type { Text } from '../text/encode.ts'
import { writeAscii } from '../text/write-ascii.ts'
import { TABLE_ALIGNMENT } from './convert-to.ts'
import type { Parts } from './parts.ts'

/** The most strings of a tensor that is written at once. */
const MOST = 32

/** The most bytes of such a tensor. */
const ROOM = 2048

const STRIDE = structSize('tf')
const WORDS = STRIDE / 4
const SMALL = smallCapacity('tf')

/** The longest string that is a SMALL whatever its characters are. */
const SURELY_SMALL = 7

/** Memory in which a tensor is written before its own memory is known. Nothing of the user runs while it is in use. */
interface Draft {
  readonly bytes: Buffer
  readonly words: Uint32Array
  readonly address: number
}

let draft: Draft | undefined

function newDraft(): Draft {
  // The bytes of a short string are written behind the others first.
  const words = new Uint32Array((ROOM + STRIDE) / 4)
  return { words, bytes: Buffer.from(words.buffer), address: addressOf(words) }
}

/** Whether {@link partsOfFew} may be used: guard mode finds faults at the ends of the table and of the strings. */
export const isFew = (count: number): boolean => count <= MOST && hostLittleEndian && !guardMode

/** Reads elements once, because getters among them can run any code. @throws {ArgumentError} */
export function readFew(values: readonly Text[], count: number): Text[] {
  const texts: Text[] = []
  for (let i = 0; i < count; i++) {
    const value = values[i]!
    if (typeof value !== 'string') byteLengthOf(value, i)
    texts.push(value)
  }
  return texts
}

/**
 * Writes a few short strings as TF_TStrings of this machine, with their long strings behind the table in one piece of memory
 * of the garbage collector. An arena, a reader and views of the memory are made when they are first used.
 *
 * @returns undefined if an element is not a string, or the strings may need more room.
 * @throws {AllocationError} if memory is exhausted.
 */
export function partsOfFew(texts: readonly Text[], shape: readonly number[]): Parts | undefined {
  const count = texts.length
  const tableSize = STRIDE * count
  if (!fits(texts, tableSize)) return undefined
  const { words, address } = (draft ??= newDraft())
  const [end, small] = write(texts as readonly string[], tableSize, draft)
  const notSmall = end - tableSize
  const whole = newCollected(end, TABLE_ALIGNMENT)
  const start = startOf(whole)
  if (notSmall > 0) relocate(words, count, start)
  if (end > 0) coreFunctions().tn_memory_copy(start, address, end)
  const table = notSmall === 0 ? whole : new Segment(whole.block, whole.base, tableSize, 0)
  const regions = new Regions()
  if (notSmall > 0) regions.add(new Segment(whole.block, whole.base + tableSize, notSmall, 0))
  return {
    image: {
      layout: 'tf',
      abi: hostAbi,
      count,
      table,
      data: table,
      regions,
      foreign: false,
      sums: { total: small + notSmall, notSmall },
    },
    shape,
    segment: table,
    storage: 'arena',
    allocator: gcAllocator,
    isWritable: true,
  }
}

/** Whether all elements are strings that fit, however many bytes their characters take. */
function fits(texts: readonly Text[], tableSize: number): boolean {
  let room = tableSize
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i]!
    if (typeof text !== 'string') return false
    // A character of UTF-16 takes at most three bytes of UTF-8.
    if (text.length > SURELY_SMALL) room += 3 * text.length
  }
  return room <= ROOM
}

/** Writes the draft. A VIEW has the offset of its string instead of an address. Returns the end, and the sum of the SMALLs. */
function write(texts: readonly string[], tableSize: number, { bytes, words }: Draft): [end: number, small: number] {
  let [next, small] = [tableSize, 0]
  for (let i = 0, word = 0; i < texts.length; i++, word += WORDS) {
    const text = texts[i]!
    const { length } = text
    const at = 4 * word
    for (let k = 0; k < WORDS; k++) words[word + k] = 0
    let size = length
    if (!writeAscii(bytes, at + 1, text, length)) {
      size = writeUtf8(bytes, text, next, 3 * length)
      if (size > SMALL) {
        // Some characters may have been written as ASCII.
        for (let k = 0; k < WORDS; k++) words[word + k] = 0
        words[word] = (size << 2) | TYPE.VIEW
        words[word + 2] = next
        next += size
        continue
      }
      for (let k = 0; k < size; k++) bytes[at + 1 + k] = bytes[next + k]!
    }
    bytes[at] = size << 2
    small += size
  }
  return [next, small]
}

/** Turns the offsets of the VIEWs into addresses. */
function relocate(words: Uint32Array, count: number, start: number): void {
  for (let word = 0; word < WORDS * count; word += WORDS) {
    if ((words[word]! & 3) !== TYPE.VIEW) continue
    const address = start + words[word + 2]!
    words[word + 2] = address
    words[word + 3] = address / 2 ** 32
  }
}
