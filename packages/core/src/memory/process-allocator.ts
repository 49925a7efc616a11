import { checkAlignment, checkSize } from '../errors/check.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { AllocationError } from '../errors/kinds.ts'
import { coreFunctions, lastError } from '../native/core-library.ts'
import { addressOf, bufferOver } from '../native/driver.ts'
import { Block } from './block.ts'
import { ARRAY_BUFFER_ALIGNMENT } from './gc-allocator.ts'
import { globalGate } from './global-lifetime.ts'
import type { NativeAllocator } from './native-allocator.ts'
import { Segment } from './segment.ts'

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
