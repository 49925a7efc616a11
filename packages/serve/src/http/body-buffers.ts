/** The bytes of each buffer. */
const SIZE = 16_384

/** Smaller bodies have a part of a buffer that the engine keeps for many of them. */
const SMALLEST = 4096

/** The most buffers that are kept. */
const MOST_KEPT = 64

/**
 * Buffers for the bodies of answers, each of which serves one answer after the other. The engine counts the memory of buffers that wait for
 * their collection, and marks the whole heap again and again because of them.
 */
export class BodyBuffers {
  /** The most bytes that one has. */
  static readonly size: number = SIZE
  readonly #free: Buffer[] = []

  /** Returns a buffer for a body, or undefined if bodies of this size in bytes use none. */
  take(size: number): Buffer | undefined {
    return size < SMALLEST || size > SIZE ? undefined : (this.#free.pop() ?? Buffer.allocUnsafeSlow(SIZE))
  }

  /** Takes a buffer back, when the connection does not need its contents any more. */
  give(buffer: Buffer): void {
    if (this.#free.length < MOST_KEPT) this.#free.push(buffer)
  }
}
