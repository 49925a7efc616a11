import type { Segment } from '@tenon/core'
import { allocateFrom, type AllocatingLayout, Block } from '@tenon/core/internal'
import { counters } from '../diagnostics/stats.ts'
import { checkRequest, type Layout } from '../layout/memory-layout.ts'
import { type MemorySegment, newSegment } from '../segment/memory-segment.ts'
import { isInstrumented } from '../diagnostics/debug.ts'
import { CHUNK_ALIGNMENT, fittingSize, LARGEST_FIRST, nextSize, SMALLEST_CHUNK } from './chunk-pool.ts'
import type { Chunk } from './chunk.ts'
import { ManagedScope, type ScopeOptions } from './managed-scope.ts'
import type { Slot } from './slot.ts'

/** The memory from which an arena allocates: a slot at first, and then chunks. */
export type Loan = Chunk | Slot

/** A chunk of an arena that the next one has replaced. */
interface FullChunk {
  readonly chunk: Loan
  readonly block: Block
  /** The number of bytes that the arena allocated from it. */
  readonly used: number
}

/** The limit of an arena that has no chunk or is closed. No allocation fits below it. */
export const NOTHING = -1

/** A scope that is also an allocator. It allocates consecutive parts of larger chunks. */
export abstract class ArenaScope extends ManagedScope {
  /** @internal The current chunk. */
  declare chunk: Loan | undefined
  /** @internal The block of the current chunk. */
  declare block: Block | undefined
  /** @internal The offset of the first free byte of the current chunk. */
  declare offset: number
  /** @internal The end of the current chunk, or NOTHING, which sends allocate() to its slow path. */
  declare limit: number
  /** @internal The chunks before the current one. */
  declare full: FullChunk[] | undefined
  /** @internal The arena itself. An object that inherits from it must not get an `offset` of its own. */
  declare readonly self: this

  /** @internal */
  constructor(options: ScopeOptions | undefined) {
    super(options)
    this.chunk = undefined
    this.block = undefined
    this.offset = 0
    this.limit = NOTHING
    this.full = undefined
    this.self = this
  }

  /**
   * Allocates zeroed memory that lives as long as this scope.
   *
   * @param byteSize the size in bytes. If it is 0, the segment is empty and has a distinct address.
   * @param byteAlignment the alignment of the address in bytes: a power of two up to 2^30.
   * @throws {ArgumentError} if a number is not valid. @throws {ScopeClosedError} once closing has begun.
   * @throws {AllocationError} if there is not enough memory. The scope stays usable.
   */
  allocate(byteSize: number, byteAlignment?: number): MemorySegment
  /** Allocates zeroed memory for one value of a layout. */
  allocate(layout: Layout<unknown, number>): MemorySegment
  allocate(byteSize: number | Layout<unknown, number>, byteAlignment: number = 16): MemorySegment {
    if (typeof byteSize === 'number' && typeof byteAlignment === 'number') {
      if (this.self !== this) return this.self.allocate(byteSize, byteAlignment)
      // Read before the limit, which does not allow an allocation without a block.
      const { block } = this
      const start = (this.offset + byteAlignment - 1) & -byteAlignment
      const end = start + byteSize
      if (
        end <= this.limit &&
        byteSize > 0 &&
        byteSize >>> 0 === byteSize &&
        byteAlignment > 0 &&
        byteAlignment <= CHUNK_ALIGNMENT &&
        (byteAlignment & -byteAlignment) === byteAlignment
      ) {
        this.offset = end
        return newSegment(block!, start, byteSize, 0)
      }
    }
    return this.allocateSlowly(byteSize, byteAlignment)
  }

  /**
   * Allocates memory for values of a layout, and writes the values.
   *
   * @throws the errors of {@link allocate}. @throws {ArgumentError} if a value does not fit the layout.
   * @example
   * const numbers = scope.allocateFrom(MemoryLayout.float64, 1, 2.5, 3)
   */
  allocateFrom<Value, Made extends Segment>(
    layout: AllocatingLayout<Value, Made>,
    ...values: readonly NoInfer<Value>[]
  ): Made {
    return allocateFrom(this, layout, values)
  }

  /** @internal Handles allocations that are invalid, rare, or larger than the rest of the current chunk. */
  allocateSlowly(byteSize: number | Layout<unknown, number>, byteAlignment: number): MemorySegment {
    const [size, alignment] = checkRequest(byteSize, byteAlignment)
    this.checkOpen()
    if (this.self !== this) return this.self.allocate(size, alignment)
    if (isInstrumented) return newSegment(this.newBlock(size, alignment, true), 0, size, 0)
    if (size === 0 || alignment > CHUNK_ALIGNMENT) return this.allocateInside(size, alignment)
    if (size !== byteSize || alignment !== byteAlignment) return this.allocate(size, alignment)
    if (this.isUntouched() && size > SMALLEST_CHUNK && size <= LARGEST_FIRST / 4) {
      this.dropChunk()
      this.nextChunk(fittingSize(size))
      return this.allocate(size, alignment)
    }
    // A large allocation gets a block of its own, so that the rest of the current chunk is not wasted.
    const next = nextSize(this.chunk?.size ?? 0, Math.min(size, LARGEST_FIRST / 4))
    if (size > next / 4) return newSegment(this.newBlock(size, alignment, true), 0, size, 0)
    this.nextChunk(next)
    return this.allocate(size, alignment)
  }

  /** @internal Allocates inside a larger allocation: a byte for an empty segment, a gap for a large alignment. */
  allocateInside(size: number, alignment: number): MemorySegment {
    const gap = alignment > CHUNK_ALIGNMENT ? alignment - CHUNK_ALIGNMENT : 0
    const { block, base } = this.allocate((size === 0 ? 1 : size) + gap, gap === 0 ? alignment : CHUNK_ALIGNMENT)
    const rest = (block.address + base) % alignment
    return newSegment(block, rest === 0 ? base : base + alignment - rest, size, 0)
  }

  /** @internal Whether nothing was allocated yet. Such an arena takes what it needs, because many of its kind may be alive. */
  isUntouched(): boolean {
    return this.offset === 0 && this.full === undefined
  }

  /** @internal Gives the current chunk back, from which nothing was allocated. */
  dropChunk(): void {
    const { chunk, block } = this
    if (chunk === undefined) return
    this.limit = NOTHING
    this.chunk = undefined
    this.block = undefined
    this.anchor?.addBytes(-chunk.size)
    this.giveBack(chunk, block!, 0)
  }

  /** @internal Replaces the current chunk by one of `byteSize` bytes. */
  nextChunk(byteSize: number): void {
    const chunk = this.takeChunk(byteSize)
    if (this.chunk !== undefined) {
      this.full ??= []
      this.full.push({ chunk: this.chunk, block: this.block!, used: this.offset })
    }
    this.useChunk(chunk)
  }

  /** @internal */
  useChunk(chunk: Chunk): void {
    this.borrow(chunk, new Block(this.gate, chunk.view, chunk.bytes, chunk.address))
  }

  /** @internal */
  borrow(chunk: Loan, block: Block): void {
    this.chunk = chunk
    this.block = block
    this.offset = 0
    this.limit = chunk.size
    counters.liveBytes += chunk.size
    this.anchor?.addBytes(chunk.size)
  }

  /** @internal Gets a chunk of this size. */
  abstract takeChunk(byteSize: number): Chunk

  /** @internal Ends the loan of a chunk, of which the first `used` bytes were allocated. */
  abstract retire(chunk: Loan, block: Block, used: number): void

  protected override seal(): void {
    this.limit = NOTHING
  }

  override undrain(): void {
    this.limit = this.chunk === undefined ? NOTHING : this.chunk.size
  }

  protected override release(): void {
    super.release()
    if (this.full !== undefined) for (const { chunk, block, used } of this.full) this.giveBack(chunk, block, used)
    // The largest chunk last, so that the next arena begins with it.
    if (this.chunk !== undefined) this.giveBack(this.chunk, this.block!, this.offset)
    this.chunk = undefined
    this.block = undefined
    this.full = undefined
  }

  /** @internal */
  giveBack(chunk: Loan, block: Block, used: number): void {
    counters.liveBytes -= chunk.size
    this.retire(chunk, block, used)
  }
}
