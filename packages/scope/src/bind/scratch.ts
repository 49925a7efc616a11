import { MemorySegment } from '../segment/memory-segment.ts'

const SIZE = 64 * 1024
/** The most bytes of one UTF-16 unit in UTF-8. */
const LONGEST = 3

/**
 * Memory for the texts of calls, as a stack: callbacks may call again while the texts of the outer call are in use. Text that does not fit
 * gets memory of its own.
 */
export class Scratch {
  #memory: MemorySegment | undefined
  #top = 0

  /** The position to which {@link release} returns. */
  get mark(): number {
    return this.#top
  }

  release(mark: number): void {
    this.#top = mark
  }

  /** A C string that is valid until {@link release}. @throws {ArgumentError} if the text contains U+0000 */
  text(text: string): MemorySegment {
    const most = text.length * LONGEST + 1
    const start = this.#top
    if (start + most > SIZE) return ownText(text)
    this.#memory ??= MemorySegment.allocateNative(SIZE)
    const segment = this.#memory.asSlice(start, most)
    segment.setString(0, text)
    this.#top = start + most
    return segment
  }
}

/** A C string in memory that lives as long as the segment, or as a call that has it. */
function ownText(text: string): MemorySegment {
  const segment = MemorySegment.allocateNative(text.length * LONGEST + 1)
  segment.setString(0, text)
  return segment
}
