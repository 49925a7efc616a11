import type { NativeAllocator, Segment } from '@tenon/core'
import { Block, checkUsable, DEFAULT_ALIGNMENT, globalGate } from '@tenon/core/internal'
import { allocateFrom } from './open.ts'
import type { Regions } from './regions.ts'
import { copyBytes } from './typed-arrays.ts'

const FIRST_CHUNK = 4096
const LARGEST_CHUNK = 1 << 20

const nothing = new Block(globalGate, new DataView(new ArrayBuffer(0)), Buffer.alloc(0), 0)

/** The largest string, in bytes, that shares a chunk. Larger strings get a segment of their own. */
export const QUARTER: number = LARGEST_CHUNK / 4

/**
 * The memory for the bytes of long strings, one behind the other: chunks of an allocator that double up to 1 MiB. Strings of
 * more than a quarter of that get a chunk of their own. The memory ends with the allocator's lifetime.
 */
export class Arena {
  readonly regions: Regions
  readonly #allocator: NativeAllocator
  #next = FIRST_CHUNK
  /** The chunk being filled: its block and bytes, the offset of the next string, the end, and the address of `bytes[0]`. */
  block: Block = nothing
  bytes: Buffer = nothing.bytes
  at = 0
  end = 0
  address = 0

  constructor(allocator: NativeAllocator, regions: Regions) {
    this.#allocator = allocator
    this.regions = regions
  }

  /** Makes room for at most {@link QUARTER} more bytes at `at`. The allocator may run any code. @throws {AllocationError} */
  reserve(byteSize: number): void {
    if (this.end - this.at >= byteSize) return
    const segment = this.own(Math.max(this.#next, Math.min(4 * byteSize, LARGEST_CHUNK)))
    this.#next = Math.min(this.#next * 2, LARGEST_CHUNK)
    this.block = segment.block
    this.bytes = segment.block.bytes
    this.at = segment.base
    this.end = segment.base + segment.byteSize
    this.address = segment.block.address
  }

  /** Leaves all memory except one segment to the allocator. The next string begins a new chunk. */
  restart(kept: Segment | undefined): void {
    this.regions.keepOnly(kept)
    this.block = nothing
    this.bytes = nothing.bytes
    this.at = this.end = this.address = 0
  }

  own(byteSize: number): Segment {
    const segment = allocateFrom(this.#allocator, byteSize, DEFAULT_ALIGNMENT)
    this.regions.add(segment)
    return segment
  }

  /** Copies the `size` bytes of a string into the arena. Returns their address. @throws {AllocationError} */
  put(bytes: Uint8Array, size: number): number {
    if (size > QUARTER) {
      const segment = this.own(size)
      copyBytes(segment.block.bytes, segment.base, bytes, size)
      return segment.block.address + segment.base
    }
    this.reserve(size)
    checkUsable(this.block)
    const { at } = this
    copyBytes(this.bytes, at, bytes, size)
    this.at = at + size
    return this.address + at
  }
}
