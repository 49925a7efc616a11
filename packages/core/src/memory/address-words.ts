/**
 * Addresses are numbers and are written to native memory as two int32 words. A float64 with the bits of an address would
 * need one store, but it is a subnormal number, which is 0 for a thread with flush-to-zero.
 */

/** The low 32 bits of an address, as an int32. */
export function lowWord(address: number): number {
  return address | 0
}

/** The high 32 bits of an address, as an int32. */
export function highWord(address: number): number {
  return (address / 2 ** 32) | 0
}

/** Writes an address. Frequent writes use an Int32Array and the stored words of {@link lowWord} and {@link highWord}. */
export function writeAddress(view: DataView, byteOffset: number, address: number): void {
  view.setInt32(byteOffset, lowWord(address), true)
  view.setInt32(byteOffset + 4, highWord(address), true)
}
