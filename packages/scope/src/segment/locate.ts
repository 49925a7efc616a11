import { AlignmentError, BoundsError, ReadOnlyError, type Segment } from '@tenon/core'
import { type Block, checkSize, checkUsable, hex } from '@tenon/core/internal'

/**
 * Checks one read in full and returns its offset in the block. The accessors call this function when their own short test
 * fails: to throw, or for an offset beyond 4 GiB.
 *
 * Here and below, `block` is what the caller has read from the segment and will use. A segment may be a proxy, whose
 * properties can have other values at each reading and can close scopes, so the lifetime is checked after the last reading.
 *
 * @param byteSize the size of the access in bytes. @param byteAlignment the alignment that its address must have.
 * @throws {BoundsError}, then {@link AlignmentError}, then the errors of the lifetime.
 */
export function locate(
  segment: Segment,
  block: Block,
  byteOffset: unknown,
  byteSize: number,
  byteAlignment: number,
): number {
  const { base } = segment
  const offset = checkOffset(segment, byteOffset, byteSize)
  checkAligned(block.address + base + offset, byteAlignment)
  block.gate.owner.checkAlive()
  return base + offset
}

/** {@link locate} for a write. @throws {ReadOnlyError} before all others. */
export function locateForWrite(
  segment: Segment,
  block: Block,
  byteOffset: unknown,
  byteSize: number,
  byteAlignment: number,
): number {
  checkWritable(segment)
  return locate(segment, block, byteOffset, byteSize, byteAlignment)
}

/** Checks a range that is read as a whole and returns its offset in the block. A range of 0 bytes must be alive too. */
export function rangeForRead(segment: Segment, block: Block, byteOffset: unknown, byteSize: number): number {
  const start = segment.base + checkOffset(segment, byteOffset, byteSize)
  checkUsable(block)
  return start
}

/** {@link rangeForRead} for a write. @throws {ReadOnlyError} before all others. */
export function rangeForWrite(segment: Segment, block: Block, byteOffset: unknown, byteSize: number): number {
  checkWritable(segment)
  return rangeForRead(segment, block, byteOffset, byteSize)
}

/** @throws {ReadOnlyError} if the segment is read-only. */
export function checkWritable(segment: Segment): void {
  if (!segment.readOnly) return
  throw new ReadOnlyError(`the segment ${describeSegment(segment)} is read-only`, {
    hint: 'Write to the segment that asReadOnly() was called on, or to a copy.',
  })
}

/** Checks that `byteSize` bytes follow an offset. @throws {BoundsError} @throws {ArgumentError} if it is not a number. */
export function checkOffset(segment: Segment, byteOffset: unknown, byteSize: number): number {
  const last = segment.byteSize - byteSize
  if (typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset <= last) return byteOffset
  const isInteger = (typeof byteOffset === 'number' && Number.isInteger(byteOffset)) || typeof byteOffset === 'bigint'
  if (isInteger && (byteOffset as number) < 0) throw outside(segment, byteOffset as number, byteSize)
  const offset = checkSize(byteOffset, 'byteOffset')
  if (offset > last) throw outside(segment, offset, byteSize)
  return offset
}

/** @throws {AlignmentError} if the address is not a multiple of the alignment. */
export function checkAligned(address: number, byteAlignment: number): void {
  if (address % byteAlignment === 0) return
  throw new AlignmentError(`the address must be a multiple of ${byteAlignment}, got ${hex(address)}`, {
    hint: 'Allocate with that alignment, or use the unaligned accessor.',
    details: { expected: byteAlignment, received: hex(address) },
  })
}

function outside(segment: Segment, byteOffset: number | bigint, byteSize: number): BoundsError {
  return new BoundsError(
    `${byteSize} bytes at offset ${byteOffset} must lie inside the segment ${describeSegment(segment)}`,
    { details: { byteOffset: Number(byteOffset), byteSize, available: segment.byteSize } },
  )
}

export function describeSegment(segment: Segment): string {
  return `of ${segment.byteSize} bytes at ${hex(segment.address)}`
}

/** Returns what an access throws whose view has failed: its buffer was transferred, or else the error of the engine. */
export function accessFailure(block: Block, error: unknown): unknown {
  checkUsable(block)
  return error
}
