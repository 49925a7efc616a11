import { checkAlignment, checkSlice } from '@tenon/core/internal'
import { AlignedAccess } from './aligned-access.ts'
import { checkAligned } from './locate.ts'

/**
 * A window over memory with typed access: native memory of a scope, or memory of JavaScript. It owns nothing; what it can be
 * used for ends with its scope. Slices, address and size can be had from a dead segment; reading and writing can't.
 *
 * @example
 * const scope = NativeScope.ofConfined()
 * const segment = scope.allocate(16, 8)
 * segment.setFloat64(8, 1.5)
 * segment.getFloat64(8) // 1.5
 * scope.close()
 */
export class MemorySegment extends AlignedAccess {
  /**
   * A part of this segment, with its scope and rights.
   *
   * @param byteOffset where it starts, in bytes from this segment's start; equal to the size is legal.
   * @param byteSize its size in bytes; the rest without it.
   * @param byteAlignment that its address must have.
   * @throws {BoundsError} if it reaches outside. @throws {AlignmentError} if its address has another alignment.
   */
  override asSlice(byteOffset: number, byteSize?: number, byteAlignment?: number): MemorySegment {
    const [offset, size] = checkSlice(this.byteSize, byteOffset, byteSize)
    const slice = new MemorySegment(this.block, this.base + offset, size, this.flags)
    if (byteAlignment !== undefined) checkAligned(this.block.address + slice.base, checkAlignment(byteAlignment))
    return slice
  }
}
