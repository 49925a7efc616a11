/* oxlint-disable typescript/no-unsafe-declaration-merging */
import { checkSize } from '../errors/check-arguments.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { ArgumentError, BoundsError } from '../errors/kinds.ts'
import { markCopy } from '../errors/other-copy.ts'
import { describeMemory, offers, type OfferedMemory } from '../interchange/offer.ts'
import type { tensorSymbol, TensorDescription } from '../interchange/protocol.ts'
import { cpu } from '../types/device.ts'
import { newArrayBuffer } from './array-buffer.ts'
import { checkEnterable, checkUsable, expose, isPointer, type Block } from './block.ts'
import { Hold, type Lifetime } from './lifetime.ts'
import { addressIn, remotePlaceOf } from './pointer-address.ts'

export const READ_ONLY = 1

/** The flag bit of a segment of device memory, which the CPU cannot read or write. */
export const DEVICE_MEMORY = 2

/**
 * A window over memory that a lifetime owns. After the lifetime is closed, the segment still has a size, an address and
 * slices, but can no longer be read or written.
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
  /** @internal the offset from the start of the block, in bytes */
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

  static {
    inspectAsText(this)
    markCopy(this)
    offers(this, (segment) => describeMemory(segment, { segment, type: bytesIn(segment), device: cpu }))
  }

  toString(): string {
    return `Segment of ${this.byteSize} bytes at 0x${this.address.toString(16)}`
  }

  get readOnly(): boolean {
    return (this.flags & READ_ONLY) !== 0
  }

  get lifetime(): Lifetime {
    return this.block.gate.owner
  }

  /** The address of the first byte. Pass segments to calls instead, because an address outlives its memory. */
  get address(): bigint {
    return remotePlaceOf(this.block)?.address ?? BigInt(addressIn(this.block, this.base)!)
  }

  /**
   * Returns a raw view of exactly this segment's bytes, or a copy if the segment is read-only. Accesses through the view are
   * not checked, but closing the lifetime detaches the view's buffer, so that the view throws.
   *
   * @throws {ScopeClosedError | WrongThreadError} if the lifetime is closed, or the buffer was transferred.
   * @throws {ArgumentError} if the memory belongs to a device.
   */
  view(): DataView {
    const { block, base, byteSize, flags } = this
    checkUsable(block)
    if ((flags & DEVICE_MEMORY) !== 0) {
      throw new ArgumentError('device memory cannot be read or written by the CPU', {
        hint: 'Copy it to host memory first.',
      })
    }
    if (isPointer(block)) return new DataView(new ArrayBuffer(0))
    if ((flags & READ_ONLY) !== 0) return copyOf(block, base, byteSize)
    expose(block)
    return new DataView(block.view.buffer, block.view.byteOffset + base, byteSize)
  }

  /**
   * Keeps the memory for an asynchronous use by other code, such as another library that reads a view: until the pin is released,
   * closing the lifetime throws `ScopeHeldError`, `closeAsync()` waits, and the garbage collector does not free the memory.
   *
   * @throws {ScopeClosedError | WrongThreadError} if the lifetime is not open, or the buffer was transferred.
   * @example
   * const pin = segment.pin()
   * try {
   *   await crypto.subtle.digest('SHA-256', segment.view())
   * } finally {
   *   pin.release()
   * }
   */
  pin(): Hold {
    const { block } = this
    checkEnterable(block)
    return new Hold(block.gate, block)
  }

  /**
   * Returns a part of this segment, with the same lifetime and access rights.
   *
   * @param byteOffset the start of the slice, in bytes from this segment's start. It may equal the size.
   * @param byteSize the size of the slice in bytes. The default is the rest of the segment.
   * @throws {BoundsError} if the slice exceeds the segment.
   */
  asSlice(byteOffset: number, byteSize?: number): Segment {
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    return new Segment(this.block, this.base + offset, size, this.flags)
  }
}

export interface Segment {
  /** Offers the bytes to other libraries, as a tensor. @throws {ScopeClosedError} if the memory is closed. */
  readonly [tensorSymbol]: () => TensorDescription<'uint8'>
}

const bytesIn = ({ byteSize }: Segment): OfferedMemory['type'] => ({
  dtype: 'uint8',
  shape: [byteSize],
  strides: undefined,
  packing: 'element',
  byteSize,
})

/** @throws {AllocationError} if there is not enough memory. */
function copyOf({ bytes }: Block, base: number, byteSize: number): DataView {
  const copy = new DataView(newArrayBuffer(byteSize, 1), 0, byteSize)
  new Uint8Array(copy.buffer).set(bytes.subarray(base, base + byteSize))
  return copy
}

/** Returns the offset and size in bytes. @throws {BoundsError | ArgumentError | ArgumentRangeError} */
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
