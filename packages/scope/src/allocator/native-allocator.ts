import { AllocationError, type Segment } from '@tenon/core'
import {
  allocateFrom,
  type AllocatingLayout,
  inspectAsText,
  type ValueAllocator,
  wrongType,
} from '@tenon/core/internal'
import { checkFunction } from '../check.ts'
import { checkLayout, checkRequest, type Layout } from '../layout/memory-layout.ts'
import { printAs } from '../print-as.ts'
import type { ResourceScope } from '../scope/check-scope.ts'
import { checkWritable, describeSegment } from '../segment/locate.ts'
import { checkSegment, MemorySegment } from '../segment/memory-segment.ts'
import { allocateFor, allocateValues } from './allocate-values.ts'
import type { AllocatorLike } from './check-allocator.ts'

/** An allocator whose segments have typed access. */
export interface SegmentAllocator extends ValueAllocator {
  allocate(byteSize: number, byteAlignment?: number): MemorySegment
  /** Allocates memory for one value of a layout. */
  allocate(layout: Layout<unknown, number>): MemorySegment
}

/** The functions of {@link NativeAllocator}. */
export interface NativeAllocators {
  /**
   * Allocates each segment as a separate block, in the scope that `scopeFactory` returns for it.
   *
   * @example
   * const scope = ResourceScope.ofConfined()
   * const allocator = NativeAllocator.ofMalloc(() => scope)
   */
  ofMalloc(scopeFactory: () => ResourceScope): SegmentAllocator
  /**
   * Allocates consecutive slices of a segment, without zeroing them. A request that does not fit throws an
   * {@link AllocationError}, but a smaller request may still succeed.
   */
  ofSlices(segment: MemorySegment): SegmentAllocator
  /** Allocates the first bytes of a segment for every request, without zeroing them. Each request invalidates the last. */
  ofPrefix(segment: MemorySegment): SegmentAllocator
  /** Allocates memory for one value of a layout, or for `count` values, from any allocator. */
  allocate(allocator: AllocatorLike, layout: Layout, count?: number): MemorySegment
  /** Allocates memory for values of a layout, and writes the values. */
  allocateFrom<Value>(allocator: AllocatorLike, layout: Layout<Value>, ...values: readonly Value[]): MemorySegment
}

class SlicingAllocator implements SegmentAllocator {
  readonly #segment: MemorySegment
  readonly #isPrefix: boolean
  #offset = 0

  constructor(segment: MemorySegment, isPrefix: boolean) {
    checkWritable(checkSegment(segment, 'segment'))
    this.#segment = segment
    this.#isPrefix = isPrefix
  }

  allocate(request: number | Layout<unknown, number>, byteAlignment: number = 16): MemorySegment {
    const [size, alignment] = checkRequest(request, byteAlignment)
    const segment = this.#segment
    segment.block.gate.owner.checkAlive()
    const rest = this.#isPrefix ? 0 : (segment.block.address + segment.base + this.#offset) % alignment
    const offset = rest === 0 ? this.#offset : this.#offset + alignment - rest
    if (offset + size > segment.byteSize) throw fullError(segment, size, alignment, this.#offset)
    if (!this.#isPrefix) this.#offset = offset + size
    return segment.asSlice(offset, size, alignment)
  }

  allocateFrom<Value, Made extends Segment>(
    layout: AllocatingLayout<Value, Made>,
    ...values: readonly NoInfer<Value>[]
  ): Made {
    return allocateFrom(this, layout, values)
  }

  toString(): string {
    const { byteSize } = this.#segment
    return this.#isPrefix
      ? `NativeAllocator of the first bytes of ${byteSize}`
      : `NativeAllocator with ${byteSize - this.#offset} of ${byteSize} bytes left`
  }

  static {
    inspectAsText(SlicingAllocator)
  }
}

function fullError(segment: MemorySegment, byteSize: number, byteAlignment: number, used: number): AllocationError {
  return new AllocationError(
    `${byteSize} bytes aligned to ${byteAlignment} must fit the rest of the segment ${describeSegment(segment)}`,
    {
      hint: 'Allocate less, or use a larger segment for the allocator.',
      details: { byteSize, byteAlignment, available: segment.byteSize - used },
    },
  )
}

/**
 * Creates allocators, and allocates memory for layouts from any allocator. An allocator is an object with a method
 * `allocate(byteSize, byteAlignment)`. Both arguments are in bytes. The memory belongs to the allocator's scope.
 * A `NativeScope` and a `SharedMemory` are allocators, too. Every other scope is one that makes a separate block for each request.
 *
 * @throws {AllocationError} from the allocators, if there is not enough memory.
 */
export const NativeAllocator: NativeAllocators = printAs('NativeAllocator', {
  ofMalloc(scopeFactory) {
    checkFunction(
      scopeFactory,
      'scopeFactory',
      'Pass the function itself: NativeAllocator.ofMalloc(ResourceScope.ofConfined).',
    )
    const allocator: SegmentAllocator = printAs<SegmentAllocator>('NativeAllocator of separate segments', {
      allocate(request: number | Layout<unknown, number>, byteAlignment = 16) {
        // The numbers are checked before the factory opens a scope that nobody would close.
        const [size, alignment] = checkRequest(request, byteAlignment)
        const scope = scopeFactory()
        if (scope === undefined) throw wrongType('the result of scopeFactory', 'a scope', scope)
        return MemorySegment.allocateNative(size, alignment, scope)
      },
      allocateFrom: (layout, ...values) => allocateFrom(allocator, layout, values),
    })
    return allocator
  },
  ofSlices: (segment) => new SlicingAllocator(segment, false),
  ofPrefix: (segment) => new SlicingAllocator(segment, true),
  allocate: (allocator, layout, count = 1) => allocateFor(checkLayout(layout), allocator, count),
  allocateFrom: (allocator, layout, ...values) => allocateValues(checkLayout(layout), allocator, values),
})
