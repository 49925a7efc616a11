import { AlignmentError, BoundsError, ReadOnlyError, type Segment } from '@tenon/core'
import { checkSize, hex } from '@tenon/core/internal'

/**
 * Checks one read in full and returns where it is in the block. The accessors come here when their own short test
 * fails:
 * to throw, or for an offset beyond 4 GiB.
 *
 * @param byteSize of the access, in bytes. @param byteAlignment that its address must have.
 * @throws {BoundsError}, then {@link AlignmentError}, then what the lifetime throws.
 */
export function locate(segment: Segment, byteOffset: unknown, byteSize: number, byteAlignment: number): number {
  const { block, base } = segment
  const offset = checkOffset(segment, byteOffset, byteSize)
  checkAligned(block.address + base + offset, byteAlignment)
  block.gate.owner.checkAlive()
  return base + offset
}

/** {@link locate} for a write. @throws {ReadOnlyError} before all others. */
export function locateForWrite(segment: Segment, byteOffset: unknown, byteSize: number, byteAlignment: number): number {
  checkWritable(segment)
  return locate(segment, byteOffset, byteSize, byteAlignment)
}

/** @throws {ReadOnlyError} if the segment can't be written. */
export function checkWritable(segment: Segment): void {
  if (!segment.readOnly) return
  throw new ReadOnlyError(`the segment ${describeSegment(segment)} is read-only`, {
    hint: 'write to the segment that asReadOnly() was called on, or to a copy.',
  })
}

/**
 * An offset in a segment at which `byteSize` bytes follow. @throws {BoundsError} @throws {ArgumentError} if it is no
 * number
 */
export function checkOffset(segment: Segment, byteOffset: unknown, byteSize: number): number {
  const last = segment.byteSize - byteSize
  if (typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset <= last) return byteOffset
  const isNegative = (typeof byteOffset === 'number' && Number.isInteger(byteOffset)) || typeof byteOffset === 'bigint'
  if (isNegative && (byteOffset as number) < 0) throw outside(segment, byteOffset as number, byteSize)
  const offset = checkSize(byteOffset, 'byteOffset')
  if (offset > last) throw outside(segment, offset, byteSize)
  return offset
}

/** @throws {AlignmentError} */
export function checkAligned(address: number, byteAlignment: number): void {
  if (address % byteAlignment === 0) return
  throw new AlignmentError(`the address must be a multiple of ${byteAlignment}, it is ${hex(address)}`, {
    hint: 'allocate with that alignment, or use the unaligned form.',
    details: { address: hex(address), byteAlignment },
  })
}

function outside(segment: Segment, byteOffset: number | bigint, byteSize: number): BoundsError {
  return new BoundsError(
    `${byteSize} bytes at offset ${byteOffset} must lie inside the segment ${describeSegment(segment)}`,
    { details: { byteOffset: Number(byteOffset), byteSize, available: segment.byteSize } },
  )
}

/** A segment as it should stand in an error message. */
export function describeSegment(segment: Segment): string {
  return `of ${segment.byteSize} bytes at ${hex(segment.block.address + segment.base)}`
}
