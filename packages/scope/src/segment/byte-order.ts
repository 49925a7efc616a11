import { endianness } from 'node:os'

/** Whether this machine stores the lowest byte first. */
export const LITTLE_ENDIAN: boolean = endianness() === 'LE'

/** How the bytes of a value lie in memory. */
export type ByteOrder = 'little' | 'big'

/** The order of this machine. */
export const nativeOrder: ByteOrder = LITTLE_ENDIAN ? 'little' : 'big'
