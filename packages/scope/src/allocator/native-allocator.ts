import { AllocationError, ArgumentError, type NativeAllocator as Allocator } from '@tenon/core'
import { checkAlignment, checkSize, describe } from '@tenon/core/internal'
import { checkLayout, type Layout, sizeOf } from '../layout/memory-layout.ts'
import type { AnyScope } from '../scope/check-scope.ts'
import { checkWritable, describeSegment } from '../segment/locate.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkSegment } from '../segment/usable.ts'
import { allocateFrom, type AllocatorLike } from './check-allocator.ts'

/** An allocator that gives segments of this package. */
export interface SegmentAllocator extends Allocator {
  allocate(byteSize: number, byteAlignment?: number): MemorySegment
}

/** Makes allocators, and allocates by layout from any. */
interface NativeAllocators {
  /**
   * Memory of its own for each allocation, in the scope that `scopeFactory` gives: a new one each time, or always the
   * same.
   *
   * @example
   * const scope = ResourceScope.ofConfined()
   * const allocator = NativeAllocator.ofMalloc(() => scope)
   */
  ofMalloc(scopeFactory: () => AnyScope): SegmentAllocator
  /**
   * Hands out a segment from its front to its back. What it gives holds what was there: it is not zeroed. A request
   * that does
   * not fit throws {@link AllocationError}, and a smaller one may still fit.
   */
  slicing(segment: MemorySegment): SegmentAllocator
  /** Hands out the same start of a segment each time: for what is used up before the next one. Not zeroed. */
  prefix(segment: MemorySegment): SegmentAllocator
  /** Memory for a layout, or for `count` of them, from any allocator. */
  allocate(allocator: AllocatorLike, layout: Layout, count?: number): MemorySegment
  /** Memory for values of a layout, and the values in it. */
  allocateFrom<Value>(allocator: AllocatorLike, layout: Layout<Value>, ...values: readonly Value[]): MemorySegment
}

class MallocAllocator implements SegmentAllocator {
  readonly #scopeFactory: () => AnyScope

  constructor(scopeFactory: () => AnyScope) {
    if (typeof scopeFactory !== 'function') {
      throw new ArgumentError(`scopeFactory must be a function that gives a scope, got ${describe(scopeFactory)}`)
    }
    this.#scopeFactory = scopeFactory
  }

  allocate(byteSize: number, byteAlignment: number = 16): MemorySegment {
    // Numbers are checked before a scope is opened that nobody would close.
    const [size, alignment] = [checkSize(byteSize, 'byteSize'), checkAlignment(byteAlignment)]
    const scope = this.#scopeFactory()
    if (scope === undefined) throw new ArgumentError('scopeFactory must give a scope, it gave undefined')
    return MemorySegment.allocateNative(size, alignment, scope)
  }
}

class SlicingAllocator implements SegmentAllocator {
  readonly #segment: MemorySegment
  #offset = 0

  constructor(segment: MemorySegment) {
    checkWritable(checkSegment(segment, 'segment'))
    this.#segment = segment
  }

  allocate(byteSize: number, byteAlignment: number = 16): MemorySegment {
    const [size, alignment] = [checkSize(byteSize, 'byteSize'), checkAlignment(byteAlignment)]
    this.#segment.block.gate.owner.checkAlive()
    const start = this.#segment.block.address + this.#segment.base
    const rest = (start + this.#offset) % alignment
    const offset = rest === 0 ? this.#offset : this.#offset + alignment - rest
    if (offset + size > this.#segment.byteSize) throw full(this.#segment, size, alignment, this.#offset)
    this.#offset = offset + size
    return this.#segment.asSlice(offset, size)
  }
}

class PrefixAllocator implements SegmentAllocator {
  readonly #segment: MemorySegment

  constructor(segment: MemorySegment) {
    checkWritable(checkSegment(segment, 'segment'))
    this.#segment = segment
  }

  allocate(byteSize: number, byteAlignment: number = 16): MemorySegment {
    const [size, alignment] = [checkSize(byteSize, 'byteSize'), checkAlignment(byteAlignment)]
    this.#segment.block.gate.owner.checkAlive()
    if (size > this.#segment.byteSize) throw full(this.#segment, size, alignment, 0)
    return this.#segment.asSlice(0, size, alignment)
  }
}

function full(segment: MemorySegment, byteSize: number, byteAlignment: number, used: number): AllocationError {
  return new AllocationError(
    `${byteSize} bytes aligned to ${byteAlignment} must fit what is left of the segment ${describeSegment(segment)}`,
    {
      hint: 'ask for less, or give the allocator a larger segment.',
      details: { byteSize, byteAlignment, available: segment.byteSize - used },
    },
  )
}

/**
 * Makes allocators, and allocates by layout from any allocator. An allocator is an object with the one method
 * `allocate(byteSize, byteAlignment)`, sizes in bytes; the memory belongs to the scope behind it.
 *
 * @throws {AllocationError} what its allocators throw when there is no room.
 */
export const NativeAllocator: NativeAllocators = {
  ofMalloc: (scopeFactory) => new MallocAllocator(scopeFactory),
  slicing: (segment) => new SlicingAllocator(segment),
  prefix: (segment) => new PrefixAllocator(segment),
  allocate(allocator, layout, count = 1) {
    const size = sizeOf(checkLayout(layout))
    return allocateFrom(
      allocator,
      checkSize(checkSize(count, 'count', 'elements') * size, 'count * size'),
      layout.byteAlignment,
    )
  },
  allocateFrom(allocator, layout, ...values) {
    const segment = NativeAllocator.allocate(allocator, layout, values.length)
    values.forEach((value, i) => segment.setAtIndex(layout, i, value))
    return segment
  },
}
