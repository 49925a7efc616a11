import { checkAlignment, checkSize } from '../errors/check.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { AllocationError } from '../errors/kinds.ts'
import { addressOf } from '../native/driver.ts'
import { Block } from './block.ts'
import { globalGate } from './global-lifetime.ts'
import type { NativeAllocator } from './native-allocator.ts'
import { Segment } from './segment.ts'

/** The alignment in bytes that the engine gives the memory of every ArrayBuffer. */
export const ARRAY_BUFFER_ALIGNMENT = 16

/**
 * The default allocator. Each segment has a zeroed ArrayBuffer of its own, which the garbage collector frees with the last
 * segment or view over it, so nothing has to be closed.
 *
 * @example
 * const segment = gcAllocator.allocate(1024, 64)
 * segment.address % 64n // 0n
 */
export const gcAllocator: NativeAllocator & { toString(): string } = {
  allocate(byteSize: number, byteAlignment: number = ARRAY_BUFFER_ALIGNMENT): Segment {
    const size = checkSize(byteSize, 'byteSize')
    const alignment = checkAlignment(byteAlignment)
    const buffer = newArrayBuffer(size, alignment)
    const address = addressOf(buffer)
    const base = (alignment - (address % alignment)) % alignment
    return new Segment(new Block(globalGate, new DataView(buffer), Buffer.from(buffer), address), base, size, 0)
  },
  toString: () => 'gcAllocator',
}
inspectAsText({ prototype: gcAllocator })

/**
 * A zeroed ArrayBuffer with room for `byteSize` bytes at a multiple of `byteAlignment`. It has at least one byte, so that
 * it has an address of its own.
 *
 * @throws {AllocationError} if the engine cannot allocate it.
 */
export function newArrayBuffer(byteSize: number, byteAlignment: number): ArrayBuffer {
  const room = Math.max(byteSize, 1) + Math.max(byteAlignment - ARRAY_BUFFER_ALIGNMENT, 0)
  try {
    return new ArrayBuffer(room)
  } catch (cause) {
    throw new AllocationError(`${byteSize} bytes aligned to ${byteAlignment} could not be allocated`, {
      hint: 'Allocate less, or free memory that is no longer needed.',
      details: { byteSize, byteAlignment },
      cause,
    })
  }
}
