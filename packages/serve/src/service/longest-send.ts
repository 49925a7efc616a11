/** The slowest client in bytes per millisecond. One that reads a little now and then would hold the memory of its answer for ever. */
const SLOWEST = 64

/**
 * The longest time in milliseconds in which a client takes bytes.
 *
 * @param timeout the longest time without a byte being read.
 */
export const longestSend = (timeout: number, byteSize: number): number => timeout + byteSize / SLOWEST
