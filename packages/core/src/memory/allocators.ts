import { checkAlignment, checkSize } from '../errors/check-arguments.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { AllocationError } from '../errors/kinds.ts'
import { coreFunctions, lastError } from '../native/core-library.ts'
import { bufferOver } from '../native/call/buffer-over.ts'
import { addressOf } from '../native/driver.ts'
import { Block } from './block.ts'
import { globalGate } from './global-lifetime.ts'
import { Segment } from './segment.ts'

/**
 * An allocator of native memory. Every package that needs memory accepts one.
 *
 * The memory is zeroed unless the allocator documents otherwise. `byteAlignment` is a power of two; the default is 16.
 */
export interface NativeAllocator {
  /** @throws {AllocationError} if memory is exhausted. @throws {ArgumentError} if a number is not valid. */
  allocate(byteSize: number, byteAlignment?: number): Segment
}

/** The alignment in bytes that the engine gives the memory of every ArrayBuffer. */
export const ARRAY_BUFFER_ALIGNMENT = 16

/**
 * The default allocator. Each segment has a zeroed ArrayBuffer of its own, which the garbage collector frees with the last
 * segment or view over it, so you do not need to close anything.
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

/** The buffer has at least one byte, so that its address is unique. @throws {AllocationError} */
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

/**
 * An allocator of zeroed memory that is never freed, for data that native code keeps as long as the process runs.
 *
 * @example
 * const table = processAllocator.allocate(4096, 64)
 */
export const processAllocator: NativeAllocator & { toString(): string } = {
  allocate(byteSize: number, byteAlignment: number = ARRAY_BUFFER_ALIGNMENT): Segment {
    const size = checkSize(byteSize, 'byteSize')
    const alignment = checkAlignment(byteAlignment)
    const out = new BigUint64Array(1)
    if (coreFunctions().tn_memory_allocate(size, alignment, addressOf(out)) !== 0) {
      throw new AllocationError(`${size} bytes could not be allocated: ${lastError()}`, { details: { byteSize: size } })
    }
    const address = Number(out[0])
    const buffer = bufferOver(address, Math.max(size, 1))
    return new Segment(new Block(globalGate, new DataView(buffer), Buffer.from(buffer), address), 0, size, 0)
  },
  toString: () => 'processAllocator',
}
inspectAsText({ prototype: processAllocator })
