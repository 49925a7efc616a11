import { inspectAsText, MEMORY, wrongType } from '@tenon/core/internal'
import { allocateFrom, type AllocatorLike } from '../allocator/check-allocator.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import type { Pointer } from './pointer.ts'

/** The static side of a class of structs. */
export interface StructClass<Instance> {
  new (segment: MemorySegment): Instance
  readonly byteSize: number
  readonly byteAlignment: number
}

/**
 * A struct or union of C in memory. `tenon bind` writes a subclass for each, with an accessor for each member.
 *
 * | made by           | memory                                        | valid until                         |
 * | ----------------- | --------------------------------------------- | ----------------------------------- |
 * | `allocate(scope)` | new and zero                                  | the scope closes                    |
 * | `at(segment)`     | the bytes of a segment, which are checked     | the scope of the segment closes     |
 * | `of(pointer)`     | native memory at an address, which cannot be  | native code frees it; not checked   |
 *
 * An object is accepted where C takes a pointer to the struct, and where it takes the struct by value.
 */
export abstract class Struct<Name extends string = string> {
  static readonly byteSize: number
  static readonly byteAlignment: number
  /** The bytes of the struct. */
  readonly segment: Pointer<Name>

  /** @internal */
  constructor(segment: MemorySegment) {
    this.segment = segment
  }

  /** Allocates a struct whose members are all zero. @throws the errors of the allocator */
  static allocate<Instance>(this: StructClass<Instance>, allocator: AllocatorLike): Instance {
    return new this(allocateFrom(allocator, this.byteSize, this.byteAlignment).fill(0))
  }

  /** The struct in a segment. @throws {BoundsError} if the segment ends before the struct */
  static at<Instance>(this: StructClass<Instance>, segment: MemorySegment, byteOffset = 0): Instance {
    return new this(checkMemory(segment).asSlice(byteOffset, this.byteSize))
  }

  /**
   * The struct at a pointer from native code. Nothing checks that the pointer is valid: reading through a wrong one is undefined behaviour,
   * as in C.
   */
  static of<Instance>(this: StructClass<Instance>, pointer: MemorySegment): Instance {
    return new this(checkMemory(pointer).reinterpret(this.byteSize))
  }

  /** The structs of an array, in order. @throws {BoundsError} if the segment ends within a struct */
  static array<Instance>(this: StructClass<Instance>, segment: MemorySegment): Instance[] {
    const count = Math.ceil(checkMemory(segment).byteSize / this.byteSize)
    return Array.from({ length: count }, (_, index) => new this(segment.asSlice(index * this.byteSize, this.byteSize)))
  }

  toString(): string {
    return `${this.constructor.name} in ${this.segment}`
  }

  static {
    inspectAsText(Struct)
    // A struct is accepted wherever its memory is.
    Object.defineProperty(Struct.prototype, MEMORY, {
      get(this: Struct) {
        return this.segment
      },
    })
  }
}

function checkMemory(value: unknown): MemorySegment {
  if (value instanceof MemorySegment) return value
  throw wrongType('the memory of a struct', 'a MemorySegment', value)
}
