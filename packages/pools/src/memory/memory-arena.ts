import { type Hold, Segment } from '@tenon/core'
import {
  allocateFrom,
  type AllocatingLayout,
  Block,
  checkAlignment,
  checkSize,
  detachBuffer,
  type Gate,
  isDetached,
  ManagedLifetime,
  type PartSource,
  type SharedChunk,
  type ValueAllocator,
} from '@tenon/core/internal'
import type { ArenaWitness, ArenaWitnesses } from './arena-witness.ts'
import type { ChunkHeap } from './chunk-heap.ts'
import { roundUp, type Span, SPAN_UNIT } from './free-list.ts'
import type { Chunk } from './chunk.ts'
import { keepingBuffer } from './memory-range.ts'

/** A span of the memory from which an arena hands out parts. */
class ArenaBlock implements PartSource {
  readonly span: Span<Chunk>
  readonly views: WeakRef<ArrayBuffer>[] = []
  readonly #gate: Gate

  constructor(gate: Gate, span: Span<Chunk>) {
    this.#gate = gate
    this.span = span
  }

  get address(): number {
    return this.span.owner.address + this.span.offset
  }

  get start(): number {
    return this.span.offset
  }

  get buffer(): ArrayBufferLike {
    return this.span.owner.buffer
  }

  get shared(): SharedChunk {
    return this.span.owner
  }

  bufferOf(byteOffset: number, byteSize: number): ArrayBuffer {
    const buffer = keepingBuffer(this.address + byteOffset, byteSize, this.#gate, this.#gate)
    this.span.owner.isExposed = true
    this.views.push(new WeakRef(buffer))
    return buffer
  }
}

/**
 * An allocator that takes memory one range behind the other and frees all of it when it is closed. Made by
 * {@link SharedMemory.arena}. The arena holds its memory open.
 *
 * @example
 * using memory = SharedMemory.open()
 * {
 *   using arena = memory.arena()
 *   const x = tensor('f32', [256], undefined, { allocator: arena })
 * } // the bytes of x are free again
 */
export class MemoryArena extends ManagedLifetime implements ValueAllocator {
  readonly #heap: ChunkHeap
  readonly #witnesses: ArenaWitnesses
  /** Undefined once the arena is closed, because another arena has it then. */
  #witness: ArenaWitness | undefined
  readonly #blocks: ArenaBlock[] = []
  /** The bytes of the last block that are handed out. */
  #used = 0
  #nextSize: number

  /** @internal @param hold that of the memory, which the arena releases. @param byteSize the size of the first block. */
  constructor(heap: ChunkHeap, witnesses: ArenaWitnesses, hold: Hold, byteSize: number) {
    super()
    this.#heap = heap
    this.#nextSize = byteSize
    this.#witnesses = witnesses
    this.#witness = witnesses.take(hold)
  }

  /**
   * Takes zeroed memory, which is free again when the arena is closed.
   *
   * @param byteAlignment a power of two, by default and at least 64.
   * @throws {AllocationError} if the limit of the memory would be exceeded. @throws {ScopeClosedError}
   */
  allocate(byteSize: number, byteAlignment: number = SPAN_UNIT): Segment {
    const size = checkSize(byteSize, 'byteSize')
    // An empty block would look detached.
    const room = Math.max(size, 1)
    const alignment = Math.max(checkAlignment(byteAlignment), SPAN_UNIT)
    this.checkOpen()
    if (this.#heap.isGuarded) {
      const { block, offset } = this.#addBlock(alignment, room)
      return this.#lend(block, offset, room, size)
    }
    let block = this.#blocks.at(-1)
    let offset = block === undefined ? 0 : offsetIn(block, this.#used, alignment)
    if (block === undefined || offset + room > block.span.byteSize) {
      ;({ block, offset } = this.#addBlock(alignment, Math.max(this.#nextSize, room)))
      this.#nextSize = Math.min(block.span.byteSize * 2, LARGEST_BLOCK)
    }
    this.#used = offset + room
    return this.#lend(block, offset, room, size)
  }

  /**
   * Allocates memory for values of a layout of `@tenon/scope`, and writes the values.
   *
   * @throws the errors of {@link allocate}. @throws {ArgumentError} if a value does not fit the layout.
   */
  allocateFrom<Value, Made extends Segment>(
    layout: AllocatingLayout<Value, Made>,
    ...values: readonly NoInfer<Value>[]
  ): Made {
    return allocateFrom(this, layout, values)
  }

  /** Only what is lent is zeroed, because most arenas use a small part of their first block. */
  #lend(block: ArenaBlock, offset: number, room: number, size: number): Segment {
    this.#heap.zero(block.span, block.start + offset, room)
    return new Segment(Block.ofPart(this.gate, block, offset, room), 0, size, 0)
  }

  /** Adds a block, and returns the offset in it of its first allocation. */
  #addBlock(byteAlignment: number, byteSize: number): { block: ArenaBlock; offset: number } {
    const { span, offset } = this.#heap.take(byteSize, byteAlignment)
    this.#witness!.add(span)
    const block = new ArenaBlock(this.gate, span)
    this.#blocks.push(block)
    return { block, offset: offset - span.offset }
  }

  protected override get label(): string {
    return 'the arena of shared memory'
  }

  protected override release(): void {
    for (const { views } of this.#blocks) {
      for (const view of views) {
        const buffer = view.deref()
        if (buffer !== undefined && !isDetached(buffer)) detachBuffer(buffer)
      }
    }
    this.#witnesses.give(this.#witness!)
    this.#witness = undefined
  }

  override toString(): string {
    const taken = this.#blocks.reduce((sum, { span }) => sum + span.byteSize, 0)
    return `MemoryArena (${this.isAlive ? `${taken} bytes` : 'closed'})`
  }
}

/** The sizes of blocks double up to this one. */
const LARGEST_BLOCK = 2 ** 24

function offsetIn({ address }: ArenaBlock, used: number, byteAlignment: number): number {
  return roundUp(address + used, byteAlignment) - address
}
