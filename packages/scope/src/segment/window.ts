import type { Block } from '@tenon/core/internal'

/**
 * The size of the largest buffer whose methods are safe. In some versions of Node.js, methods of larger buffers take offsets and
 * lengths as 32-bit integers, signed or not, and use other bytes: `copy`, `write`, `indexOf` and others.
 */
const LARGEST = 2 ** 31 - 1

/** Whether methods of Buffer may be called, rather than those of Uint8Array. */
export const isSmall = ({ length }: Buffer): boolean => length <= LARGEST

/**
 * The bytes of a range for methods of Buffer. For a small block these are all its bytes, because making others takes longer than
 * most methods. Otherwise they begin at the range.
 */
export function windowOf({ bytes }: Block, start: number, byteSize: number): Buffer {
  return isSmall(bytes) ? bytes : bytes.subarray(start, start + byteSize)
}

/** The offset of a range in its {@link windowOf window}. */
export const offsetInWindow = ({ bytes }: Block, start: number): number => (isSmall(bytes) ? start : 0)
