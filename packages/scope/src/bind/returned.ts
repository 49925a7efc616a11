import type { MemorySegment } from '../segment/memory-segment.ts'

/** The result of a function in another process. */
export class Returned {
  readonly value: unknown
  readonly errno: number
  /** Makes a pointer of an address that the function has written to memory. */
  readonly pointerAt: (address: bigint) => MemorySegment

  constructor(value: unknown, errno: number, pointerAt: (address: bigint) => MemorySegment) {
    this.value = value
    this.errno = errno
    this.pointerAt = pointerAt
  }
}
