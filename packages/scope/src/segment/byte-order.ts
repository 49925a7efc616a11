import { endianness } from 'node:os'
import { checkWord } from '../check.ts'

export const LITTLE_ENDIAN: boolean = endianness() === 'LE'

/** The order of the bytes of a value in memory. */
export type ByteOrder = 'little' | 'big'

export const nativeOrder: ByteOrder = LITTLE_ENDIAN ? 'little' : 'big'

/** @throws {ArgumentError} if the value is not a byte order. */
export function checkOrder(order: ByteOrder): ByteOrder {
  return checkWord(order, ['little', 'big'], 'order')
}
