import { cpu, Segment, Tensor, type TensorType } from '@tenon/core'
import { Block, type RemoteKernel } from '@tenon/core/internal'
import type { SharedMemory } from '@tenon/pools'
import type { MemoryRange } from '@tenon/pools/internal'

/** The frames of one kernel that wait for its next runs are at most as many as one worker runs in a row. */
const MOST_FRAMES = 32

/** The bytes of the frames of all kernels that wait for their next runs. Larger ones are given back after each run. */
const MOST_BYTES = 2 ** 22

/** The shared memory to which one run of a kernel copies the operands that lie in other memory, and then the next run of the kernel. */
export class StagingFrame {
  readonly kernel: RemoteKernel
  /** The bytes that are taken. */
  byteSize = 0
  readonly #memory: SharedMemory
  /** By the index of the first operand in the range. */
  readonly #ranges: (MemoryRange | undefined)[] = []
  /** The tensors over the copies, by the index of the operand. A range that is given back ends them. */
  readonly #copies: (Tensor | undefined)[] = []

  constructor(kernel: RemoteKernel, memory: SharedMemory) {
    this.kernel = kernel
    this.#memory = memory
  }

  /**
   * Returns the memory of an operand, and of those that overlap it. Its contents are undefined.
   *
   * @throws {AllocationError} if there is not enough shared memory.
   */
  rangeOf(index: number, byteSize: number): MemoryRange {
    const known = this.#ranges[index]
    if (known?.byteSize === byteSize) return known
    if (known !== undefined) this.#give(index, known)
    const range = this.#memory.take(byteSize)
    this.byteSize += range.span.byteSize
    return (this.#ranges[index] = range)
  }

  /** Returns the tensor over the copy of an operand. @param offset in the range */
  copyOf(index: number, range: MemoryRange, offset: number, type: TensorType): Tensor {
    const known = this.#copies[index]
    if (known?.type === type && known.address === range.address + offset) return known
    const block = Block.ofPart(range.gate, range, 0, Math.max(range.byteSize, 1))
    return (this.#copies[index] = new Tensor(new Segment(block, offset, type.byteSize, 0), type, cpu))
  }

  #give(index: number, range: MemoryRange): void {
    this.#ranges[index] = undefined
    // Other memory may be mapped at their addresses.
    this.#copies.length = 0
    this.byteSize -= range.span.byteSize
    this.#memory.give(range)
  }

  /** Gives all memory back. */
  free(): void {
    for (const [index, range] of this.#ranges.entries()) if (range !== undefined) this.#give(index, range)
  }
}

/** The frames of a library's kernels that no run has. Their bytes do not count as used. */
export class StagingFrames {
  readonly memory: SharedMemory
  readonly #idle = new Map<RemoteKernel, StagingFrame[]>()
  #isClosed = false

  /** @param memory that of the library. */
  constructor(memory: SharedMemory) {
    this.memory = memory
  }

  /** Returns a frame for one run. @throws {ScopeClosedError} if the memory is closed */
  take(kernel: RemoteKernel): StagingFrame {
    const { memory } = this
    if (!memory.gate.open) memory.checkOpen()
    const frame = this.#idle.get(kernel)?.pop()
    if (frame === undefined) return new StagingFrame(kernel, memory)
    memory.idleBytes -= frame.byteSize
    return frame
  }

  /** Keeps a frame that no worker uses any more for the next run of its kernel. */
  give(frame: StagingFrame): void {
    const { memory } = this
    const { kernel, byteSize } = frame
    let frames = this.#idle.get(kernel)
    if (this.#isClosed || memory.idleBytes + byteSize > MOST_BYTES || (frames?.length ?? 0) >= MOST_FRAMES) {
      return frame.free()
    }
    if (frames === undefined) {
      frames = []
      this.#idle.set(kernel, frames)
    }
    frames.push(frame)
    memory.idleBytes += byteSize
  }

  /** Gives the memory of a kernel back that is not called any more. */
  forget(kernel: RemoteKernel): void {
    const frames = this.#idle.get(kernel)
    if (frames === undefined) return
    this.#idle.delete(kernel)
    for (const frame of frames) {
      this.memory.idleBytes -= frame.byteSize
      frame.free()
    }
  }

  /** Gives all memory back, and that of the runs that are left when they have ended. */
  close(): void {
    this.#isClosed = true
    for (const kernel of this.#idle.keys()) this.forget(kernel)
  }
}
