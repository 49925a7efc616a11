import { MemorySegment } from '../segment/memory-segment.ts'

/** The size of a slot in bytes: that of the largest scalar. */
const SLOT = 8
const COUNT = 4096

/**
 * Memory for single values that C writes during a call, as a stack: callbacks may call again while the values of the outer call are in use.
 * The segment of a slot is made once.
 */
class SlotStack {
  #memory: MemorySegment | undefined
  readonly #slots: MemorySegment[] = []
  #top = 0

  /** The position to which {@link release} returns. */
  get mark(): number {
    return this.#top
  }

  release(mark: number): void {
    this.#top = mark
  }

  /** A slot whose bytes are zero, or undefined if all are in use. */
  take(): MemorySegment | undefined {
    const index = this.#top
    if (index === COUNT) return undefined
    this.#memory ??= MemorySegment.allocateNative(COUNT * SLOT)
    const slot = (this.#slots[index] ??= this.#memory.asSlice(index * SLOT, SLOT))
    this.#top = index + 1
    slot.setFloat64(0, 0)
    return slot
  }
}

/** The slots of this thread. */
export const slots: SlotStack = new SlotStack()
