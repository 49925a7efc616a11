import { inspectAsText } from '@tenon/core/internal'
import { allocateFrom, type AllocatorLike } from '../allocator/check-allocator.ts'
import { checkFunction } from '../check.ts'
import { MemoryLayout } from '../layout/layouts.ts'
import { checkSegment, MemorySegment } from '../segment/memory-segment.ts'
import { toInt64, toUint64 } from '../segment/value-range.ts'
import { GENERAL_END, SLOT, VaCursor, vaKind, vaListSize, VECTOR_END } from './va-cursor.ts'

/** Collects the arguments of a `va_list`, in order. */
export class VaListBuilder {
  /** @internal */
  readonly writes: ((slot: MemorySegment) => void)[] = []

  int32(value: number): this {
    return this.#add((slot) => slot.setInt32(0, value))
  }
  uint32(value: number): this {
    return this.#add((slot) => slot.setUint32(0, value))
  }
  int64(value: number | bigint): this {
    const wide = toInt64(value)
    return this.#add((slot) => slot.setInt64(0, wide))
  }
  uint64(value: number | bigint): this {
    const wide = toUint64(value)
    return this.#add((slot) => slot.setUint64(0, wide))
  }
  float64(value: number): this {
    return this.#add((slot) => slot.setFloat64(0, value))
  }
  /** Adds a pointer. The segment must stay alive while the list is used, and must not be over a JavaScript buffer. */
  pointer(value: MemorySegment | null): this {
    return this.#add((slot) => MemoryLayout.address.write(slot, 0, value === null ? MemorySegment.NULL : value))
  }

  #add(write: (slot: MemorySegment) => void): this {
    this.writes.push(write)
    return this
  }

  toString(): string {
    return `VaListBuilder with ${this.writes.length} arguments`
  }

  static {
    inspectAsText(VaListBuilder)
  }
}

/**
 * The arguments of a function such as `vsnprintf`, in memory from an allocator.
 *
 * @example
 * const list = VaList.ofArguments(scope, (builder) => builder.int32(42).float64(1.5))
 * vsnprintf(buffer, 100, toCString('%d %g', scope), list.segment)
 */
export class VaList {
  readonly #list: MemorySegment

  private constructor(list: MemorySegment) {
    this.#list = list
  }

  /** Creates a list. @throws {ArgumentError} if a value does not have its type. @throws the errors of the allocator. */
  static ofArguments(allocator: AllocatorLike, build: (builder: VaListBuilder) => unknown): VaList {
    checkFunction(build, 'build')
    const builder = new VaListBuilder()
    build(builder)
    const { writes } = builder
    const slots = allocateFrom(allocator, Math.max(writes.length, 1) * SLOT, 16)
    writes.forEach((write, i) => write(slots.asSlice(i * SLOT, SLOT)))
    const list = allocateFrom(allocator, vaListSize[vaKind], 8).fill(0)
    // All arguments are in the slots, as if the registers were used up.
    if (vaKind === 'sysv-x64') {
      list.setUint32(0, GENERAL_END)
      list.setUint32(4, VECTOR_END)
    }
    list.setUint64(vaKind === 'sysv-x64' ? 8 : 0, slots.address)
    return new VaList(list)
  }

  /** Returns the list that native code passed to a callback as a `pointer`. Unsafe, because the address is not checked. */
  static ofPointer(pointer: MemorySegment): VaList {
    checkSegment(pointer, 'pointer')
    if (vaKind !== 'slots') return new VaList(pointer.reinterpret(vaListSize[vaKind]))
    const list = MemorySegment.allocateNative(SLOT, SLOT)
    list.setUint64(0, pointer.address)
    return new VaList(list)
  }

  /** The `pointer` argument for a function with a `va_list` parameter. The call consumes the list. See {@link copy}. */
  get segment(): MemorySegment {
    return vaKind === 'slots' ? MemorySegment.ofAddress(this.#list.getUint64(0)) : this.#list
  }

  /** Returns a second list at the same position. Reading one list does not affect the other. */
  copy(allocator: AllocatorLike): VaList {
    return new VaList(allocateFrom(allocator, this.#list.byteSize, 8).copyFrom(this.#list))
  }

  /** Reads the arguments in order, from the next one on. */
  arguments(): VaCursor {
    return new VaCursor(this.#list)
  }

  toString(): string {
    return `VaList in ${this.#list}`
  }

  static {
    inspectAsText(VaList)
  }
}
