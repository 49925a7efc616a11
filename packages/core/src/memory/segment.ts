import { checkSize } from '../errors/check.ts'
import { ArgumentError, BoundsError } from '../errors/kinds.ts'
import { checkUsable, expose, type Block } from './block.ts'
import type { Lifetime } from './lifetime.ts'

/** The flag bit of a segment that refuses writes. */
export const READ_ONLY = 1

/** The flag bit of a segment whose memory is a device's: the Host can't read or write it. */
export const DEVICE_MEMORY = 2

/**
 * A window over memory that owns nothing: its lifetime does. Slices, address and size can be had from a dead segment;
 * reading and writing can't.
 *
 * @example
 * const segment = gcAllocator.allocate(64, 16)
 * segment.view().setFloat32(0, 1.5, true)
 * segment.asSlice(16, 8).byteSize // 8
 */
export class Segment {
  // `declare`: a class field of a base class makes construction of its subclasses three times slower.
  /** @internal */
  declare readonly block: Block
  /** @internal bytes from the start of the block */
  declare readonly base: number
  declare readonly byteSize: number
  /** @internal */
  declare readonly flags: number

  /** @internal */
  constructor(block: Block, base: number, byteSize: number, flags: number) {
    this.block = block
    this.base = base
    this.byteSize = byteSize
    this.flags = flags
  }

  get readOnly(): boolean {
    return (this.flags & READ_ONLY) !== 0
  }

  get lifetime(): Lifetime {
    return this.block.gate.owner
  }

  /** The address of the first byte. An address outlives its memory: pass segments to calls, never addresses. */
  get address(): bigint {
    return BigInt(this.block.address) + BigInt(this.base)
  }

  /**
   * A raw view of exactly this segment's bytes. It is not checked again, except that closing the lifetime detaches it:
   * then a DataView throws. A read-only segment gives a copy.
   *
   * @throws {ScopeClosedError | WrongThreadError} if the segment is dead, or its buffer was transferred away.
   * @throws {ArgumentError} if it is memory of a device.
   */
  view(): DataView {
    const { block, base, byteSize } = this
    checkUsable(block)
    if ((this.flags & DEVICE_MEMORY) !== 0) {
      throw new ArgumentError("memory of a device can't be read or written from the Host", {
        hint: 'copy it to memory of the Host first.',
      })
    }
    if (this.readOnly) return new DataView(copyOf(block.bytes, base, byteSize))
    expose(block)
    return new DataView(block.view.buffer, block.view.byteOffset + base, byteSize)
  }

  /**
   * A part of this segment, with its lifetime and rights.
   *
   * @param byteOffset where it starts, in bytes from this segment's start; equal to the size is legal.
   * @param byteSize its size in bytes; the rest without it.
   * @throws {BoundsError} if it reaches outside.
   */
  asSlice(byteOffset: number, byteSize?: number): Segment {
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    return new Segment(this.block, this.base + offset, size, this.flags)
  }
}

/**
 * Checks a slice of `available` bytes and returns its offset and size in bytes.
 *
 * @throws {BoundsError} if it reaches outside. @throws {ArgumentError | ArgumentRangeError} if a number is none.
 */
export function checkSlice(available: number, byteOffset: unknown, byteSize: unknown): [offset: number, size: number] {
  const offset = checkSize(byteOffset, 'byteOffset')
  const size = byteSize === undefined ? available - offset : checkSize(byteSize, 'byteSize')
  if (offset > available || size > available - offset) {
    throw new BoundsError(
      `the slice must lie inside the segment's ${available} bytes, got byteOffset ${offset}` +
        (byteSize === undefined ? '' : ` and byteSize ${size}`),
      { details: { byteOffset: offset, byteSize: size, available } },
    )
  }
  return [offset, size]
}

function copyOf(bytes: Buffer, base: number, byteSize: number): ArrayBuffer {
  const copy = new Uint8Array(byteSize)
  copy.set(bytes.subarray(base, base + byteSize))
  return copy.buffer
}
