import { AlignmentError, BoundsError, ReadOnlyError, type Segment } from '@tenon/core'
import {
  ADDRESS_SPACE_END,
  addressIn,
  type Block,
  checkSize,
  checkUsable,
  hex,
  isPointer,
  NULL_PAGE,
  remotePlaceOf,
} from '@tenon/core/internal'
import { isInWindow, showPointed } from './pointers.ts'

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

/**
 * {@link locate} for a read that may go through a pointer of unknown size. The bytes at the pointer are then in the view of the block.
 */
export function locateForRead(
  segment: Segment,
  block: Block,
  byteOffset: unknown,
  byteSize: number,
  byteAlignment: number,
): number {
  if (!isPointer(block)) return locate(segment, block, byteOffset, byteSize, byteAlignment)
  const { base } = segment
  const offset = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset ? byteOffset : -1
  const at = base + offset
  const isShown = offset !== -1 && isInWindow(block, at, byteSize) && (at & (byteAlignment - 1)) === 0
  if (isShown && block.gate.alive) return at
  const address = addressIn(block, base)!
  // No memory is there, and the check of the bounds says so.
  const isMemory =
    typeof address === 'number' && address >= NULL_PAGE && address + offset + byteSize <= ADDRESS_SPACE_END
  if (!isMemory || offset === -1) return locate(segment, block, byteOffset, byteSize, byteAlignment)
  checkAligned(address + offset, byteAlignment)
  if (!block.gate.alive) block.gate.owner.checkAlive()
  return showPointed(block, at, byteSize)
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
  // The block of a pointer has no bytes.
  return isPointer(block) ? 0 : start
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

/** Checks the place of a value whose layout has another alignment than its type. @throws {BoundsError | AlignmentError} */
export function checkPlace(
  segment: Segment,
  byteOffset: number,
  { byteSize, byteAlignment }: { readonly byteSize: number; readonly byteAlignment: number },
): void {
  checkAligned(segment.block.address + segment.base + checkOffset(segment, byteOffset, byteSize), byteAlignment)
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
    {
      ...(isPointer(segment.block) ? { hint: 'Set the size of a pointer from native code with reinterpret().' } : {}),
      details: { byteOffset: Number(byteOffset), byteSize, available: segment.byteSize },
    },
  )
}

export function describeSegment(segment: Segment): string {
  const place = remotePlaceOf(segment.block)
  return `of ${segment.byteSize} bytes at ${hex(segment.address)}${place === undefined ? '' : ` of process ${place.worker.process}`}`
}

/** Returns what an access throws whose view has failed: its buffer was transferred, or else the error of the engine. */
export function accessFailure(block: Block, error: unknown): unknown {
  checkUsable(block)
  return error
}
