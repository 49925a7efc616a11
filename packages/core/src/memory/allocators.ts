import { checkAlignment, checkSize } from '../errors/check-arguments.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { AllocationError } from '../errors/kinds.ts'
import { coreFunctions, lastError } from '../native/core-library.ts'
import { bufferOrFree } from '../native/call/buffer-over.ts'
import { addressOf } from '../native/native-memory.ts'
import { blockOver, newCollected } from './collected-memory.ts'
import { allocateFrom, type ValueAllocator } from './native-allocator.ts'
import { Segment } from './segment.ts'

/** The alignment in bytes that an allocator uses if it is not asked for another. */
export const DEFAULT_ALIGNMENT = 16

/**
 * The default allocator. The memory is zeroed, and the garbage collector frees it with the last segment or view over it, so you
 * do not need to close anything. Small segments share a buffer until you take a raw view of one, which then gets a buffer of
 * exactly its bytes. `postMessage()` copies such a buffer and cannot transfer it.
 *
 * @example
 * const segment = gcAllocator.allocate(1024, 64)
 * segment.address % 64n // 0n
 */
export const gcAllocator: ValueAllocator & { toString(): string } = {
  allocate(byteSize: number, byteAlignment: number = DEFAULT_ALIGNMENT): Segment {
    return newCollected(checkSize(byteSize, 'byteSize'), checkAlignment(byteAlignment))
  },
  allocateFrom: (layout, ...values) => allocateFrom(gcAllocator, layout, values),
  toString: () => 'gcAllocator',
}
inspectAsText({ prototype: gcAllocator })

/**
 * An allocator of zeroed memory that is never freed, for data that native code keeps as long as the process runs.
 *
 * @example
 * const table = processAllocator.allocate(4096, 64)
 */
export const processAllocator: ValueAllocator & { toString(): string } = {
  allocate(byteSize: number, byteAlignment: number = DEFAULT_ALIGNMENT): Segment {
    const size = checkSize(byteSize, 'byteSize')
    const alignment = checkAlignment(byteAlignment)
    const out = new BigUint64Array(1)
    if (coreFunctions().tn_memory_allocate(size, alignment, addressOf(out)) !== 0) {
      throw new AllocationError(`${size} bytes could not be allocated: ${lastError()}`, { details: { byteSize: size } })
    }
    const address = Number(out[0])
    const buffer = bufferOrFree(address, size === 0 ? 1 : size, (at) => coreFunctions().tn_memory_free(at))
    return new Segment(blockOver(buffer, address), 0, size, 0)
  },
  allocateFrom: (layout, ...values) => allocateFrom(processAllocator, layout, values),
  toString: () => 'processAllocator',
}
inspectAsText({ prototype: processAllocator })
