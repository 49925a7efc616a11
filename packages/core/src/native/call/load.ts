import { textAt } from '../text-at.ts'
import type { ValueType } from '../value-type.ts'
import { bigints, doubles, floats, TWO_32, unsignedBigints, words, unsignedWords } from './frame.ts'

/**
 * Loads a scalar from a register of the frame. Only the low bytes of narrow values are defined. An address is loaded as {@link loadAddress} does,
 * and a text is copied.
 *
 * @param word the first word of the register.
 * @throws {NativeError} if a text has no end.
 */
export function load(kind: ValueType | 'void', word: number): number | bigint | boolean | string | null | undefined {
  switch (kind) {
    case 'void':
      return undefined
    case 'int32':
      return words[word]
    case 'float64':
      return doubles[word >> 1]
    case 'pointer':
      return loadAddress(word)
    case 'text':
      return textAt(loadAddress(word))
    case 'uint64':
      return unsignedBigints[word >> 1]
    case 'int64':
      return bigints[word >> 1]
    case 'float32':
      return floats[word]
    case 'uint32':
      return unsignedWords[word]
    case 'bool':
      return (words[word]! & 0xff) !== 0
    case 'int8':
      return (words[word]! << 24) >> 24
    case 'uint8':
      return words[word]! & 0xff
    case 'int16':
      return (words[word]! << 16) >> 16
    case 'uint16':
      return words[word]! & 0xffff
  }
}

/** Loads an address, which is a bigint from 2^53 on. */
export function loadAddress(word: number): number | bigint {
  const address = unsignedWords[word]! + unsignedWords[word + 1]! * TWO_32
  return address <= Number.MAX_SAFE_INTEGER ? address : unsignedBigints[word >> 1]!
}
