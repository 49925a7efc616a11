import { addressOf, ADDRESS_SPACE_END, copiedBuffer, coreFunctions, NULL_PAGE } from '@tenon/core/internal'

/** The most words that are copied into the memory that is kept. */
const KEPT = 64

/** Memory into which words are copied, and its views. */
interface Kept {
  readonly low: Uint32Array
  readonly high: Int32Array
  readonly address: number
}

let kept: Kept | undefined

function newKept(): Kept {
  const low = new Uint32Array(2 * KEPT)
  return { low, high: new Int32Array(low.buffer), address: addressOf(low) }
}

/**
 * Copies 64-bit integers out of native memory, once each. Addresses and sizes are exact; integers beyond 2^53 are rounded, and so beyond every
 * limit as well.
 */
export function readWords(address: number, count: number): number[] {
  const words = new Array<number>(count)
  if (count <= KEPT) {
    kept ??= newKept()
    coreFunctions().tn_memory_copy(kept.address, address, 8 * count)
    for (let i = 0; i < count; i++) words[i] = kept.low[2 * i]! + kept.high[2 * i + 1]! * 2 ** 32
    return words
  }
  const copy = new DataView(copiedBuffer(address, 8 * count))
  for (let i = 0; i < count; i++) words[i] = copy.getUint32(8 * i, true) + copy.getInt32(8 * i + 4, true) * 2 ** 32
  return words
}

/** Copies a 32-bit integer. */
export const readInt32 = (address: number): number => new DataView(copiedBuffer(address, 4)).getInt32(0, true)

/** Whether memory of so many bytes can be at an address. */
export const canBeMemory = (address: number, byteSize: number): boolean =>
  address >= NULL_PAGE && address + byteSize <= ADDRESS_SPACE_END
