/** Copies the bytes of structs between memory and words, such as those of the frame. */
import type { Block } from '../../memory/block.ts'
import type { Piece } from './call-plan.ts'
import { bytes, words } from './frame.ts'

/** The memory of a struct that is an argument. It is copied after all arguments were read, and their memory was found to be open. */
export interface StructSource {
  readonly block: Block
  /** The offset of the struct from the start of the block. */
  readonly base: number
}

/** Words of 32 bits, and the same memory as bytes. */
export interface Words {
  readonly words: Int32Array
  readonly bytes: Uint8Array
}

export function newWords(byteSize: number): Words {
  const buffer = new ArrayBuffer(byteSize)
  return { words: new Int32Array(buffer), bytes: new Uint8Array(buffer) }
}

interface Copies {
  /** Copies bytes of a block to words, from one on. */
  toWords(target: Words, word: number, block: Block, offset: number, byteSize: number): void
  /** Copies words, from one on, to bytes of a block. */
  fromWords(source: Words, word: number, block: Block, offset: number, byteSize: number): void
}

/** Up to this many bytes, copying four at a time is faster than making the typed array of a part. */
const SMALL = 128

/** A function, for the reason that `makeSteps()` of the calls has. */
function makeCopies(): Copies {
  const small = SMALL
  return {
    toWords: (target, word, block, offset, byteSize) => {
      if (byteSize > small) {
        target.bytes.set(block.bytes.subarray(offset, offset + byteSize), word * 4)
        return
      }
      const { view } = block
      const { words: list, bytes: tail } = target
      const whole = byteSize & -4
      for (let i = 0; i < whole; i += 4) list[word + (i >> 2)] = view.getInt32(offset + i, true)
      for (let i = whole; i < byteSize; i++) tail[word * 4 + i] = view.getUint8(offset + i)
    },
    fromWords: (source, word, block, offset, byteSize) => {
      if (byteSize > small) {
        block.bytes.set(source.bytes.subarray(word * 4, word * 4 + byteSize), offset)
        return
      }
      const { view } = block
      const { words: list, bytes: tail } = source
      const whole = byteSize & -4
      for (let i = 0; i < whole; i += 4) view.setInt32(offset + i, list[word + (i >> 2)]!, true)
      for (let i = whole; i < byteSize; i++) view.setUint8(offset + i, tail[word * 4 + i]!)
    },
  }
}

const copies = makeCopies()
export const toWords: Copies['toWords'] = copies.toWords
export const fromWords: Copies['fromWords'] = copies.fromWords

export const frameWords: Words = { words, bytes }

/** Copies a struct out of the frame. Bytes of padding that no register has become 0. */
export function loadStruct(pieces: readonly Piece[], byteSize: number, block: Block, base: number): void {
  let end = 0
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i]!
    if (piece.offset > end) clear(block, base + end, piece.offset - end)
    fromWords(frameWords, piece.word, block, base + piece.offset, piece.byteSize)
    end = piece.offset + piece.byteSize
  }
  if (end < byteSize) clear(block, base + end, byteSize - end)
}

/** Copies a struct out of the frame to other words. */
export function stageStruct(pieces: readonly Piece[], byteSize: number, target: Words, first: number): void {
  const list = target.words
  const end = first + Math.ceil(byteSize / 4)
  let next = first
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i]!
    const start = first + (piece.offset >> 2)
    const stop = start + Math.ceil(piece.byteSize / 4)
    while (next < start) list[next++] = 0
    if (piece.byteSize > SMALL) {
      list.set(words.subarray(piece.word, piece.word + stop - start), start)
      next = stop
    } else {
      for (let word = piece.word; next < stop;) list[next++] = words[word++]!
    }
  }
  while (next < end) list[next++] = 0
}

function clear({ view }: Block, offset: number, byteSize: number): void {
  for (let i = 0; i < byteSize; i++) view.setUint8(offset + i, 0)
}
