/** Fewer bytes share their memory with others, or are left to the collector. */
const LEAST = 2048

/**
 * Gives the memory of received bytes back, after which they are gone. The collector would do so only after many more, and looks at
 * all objects of the program each time.
 *
 * @param others the most bytes beside them in their memory that nobody needs either. With more, nothing happens.
 */
export function freeBytes({ buffer, length }: Uint8Array, others: number = 0): void {
  const isAlone = buffer.byteLength <= length + others
  if (length >= LEAST && isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
