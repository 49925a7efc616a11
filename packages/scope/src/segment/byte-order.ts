import { checkWord } from '../check.ts'

/** Whether this processor stores the lowest byte first. Loading node:os to ask for it would take 2 ms. */
export const LITTLE_ENDIAN: boolean = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** The order of the bytes of a value in memory. */
export type ByteOrder = 'little' | 'big'

export const nativeOrder: ByteOrder = LITTLE_ENDIAN ? 'little' : 'big'

/** @throws {ArgumentError} if the value is not a byte order. */
export function checkOrder(order: ByteOrder): ByteOrder {
  return checkWord(order, ['little', 'big'], 'order')
}
