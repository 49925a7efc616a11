import type { NativeAllocator, Segment } from '@tenon/core'
import type { Regions } from './regions.ts'

const FIRST_CHUNK = 4096
const LARGEST_CHUNK = 1 << 20

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
  /** The chunk being filled: its bytes, the offset of the next string, the end, and the address of `bytes[0]`. */
  bytes: Buffer = Buffer.alloc(0)
  at = 0
  end = 0
  address = 0

  constructor(allocator: NativeAllocator, regions: Regions) {
    this.#allocator = allocator
    this.regions = regions
  }

  /** Makes room for at most {@link QUARTER} more bytes at `at`. @throws {AllocationError} */
  reserve(byteSize: number): void {
    if (this.end - this.at >= byteSize) return
    const segment = this.own(Math.max(this.#next, Math.min(4 * byteSize, LARGEST_CHUNK)))
    this.#next = Math.min(this.#next * 2, LARGEST_CHUNK)
    this.bytes = segment.block.bytes
    this.at = segment.base
    this.end = segment.base + segment.byteSize
    this.address = segment.block.address
  }

  /** Leaves all memory except one segment to the allocator. The next string begins a new chunk. */
  restart(kept: Segment | undefined): void {
    this.regions.keepOnly(kept)
    this.bytes = Buffer.alloc(0)
    this.at = this.end = this.address = 0
  }

  own(byteSize: number): Segment {
    const segment = this.#allocator.allocate(byteSize)
    this.regions.add(segment)
    return segment
  }

  /** Copies a string's bytes into the arena. Returns their address. @throws {AllocationError} */
  put(bytes: Uint8Array): number {
    if (bytes.length > QUARTER) {
      const segment = this.own(bytes.length)
      segment.block.bytes.set(bytes, segment.base)
      return segment.block.address + segment.base
    }
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.at)
    this.at += bytes.length
    return this.address + this.at - bytes.length
  }
}
