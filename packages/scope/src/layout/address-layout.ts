import { ArgumentError } from '@tenon/core'
import { addressIn, checkAddress, checkUsable, wrongType } from '@tenon/core/internal'
import { allocateValues } from '../allocator/allocate-values.ts'
import type { AllocatorLike } from '../allocator/check-allocator.ts'
import { scalars } from '../generated/scalars.ts'
import { type ByteOrder, checkOrder, nativeOrder } from '../segment/byte-order.ts'
import { checkAligned, checkPlace } from '../segment/locate.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkLayout, Layout, sizeOf } from './memory-layout.ts'

const POINTER_SIZE = 8

/** The layout of a pointer. Reading a pointer returns a segment with the size of the target, or 0 without a target. */
export class AddressLayout extends Layout<MemorySegment, number> {
  readonly order: ByteOrder
  readonly target: Layout | undefined

  /** @internal */
  constructor(order: ByteOrder = nativeOrder, byteAlignment: number = POINTER_SIZE, name?: string, target?: Layout) {
    super(POINTER_SIZE, byteAlignment, name)
    this.order = order
    this.target = target
  }

  /**
   * Returns the layout of a pointer to values of `target`. Segments that are read have the size of the target, and their
   * alignment is checked. Unsafe, because the pointer itself cannot be checked.
   */
  withTargetLayout(target: Layout): AddressLayout {
    return new AddressLayout(this.order, this.byteAlignment, this.name, checkLayout(target, 'target'))
  }

  /** The same layout with another byte order. */
  withOrder(order: ByteOrder): AddressLayout {
    return new AddressLayout(checkOrder(order), this.byteAlignment, this.name, this.target)
  }

  override allocateIn(allocator: AllocatorLike, values: readonly MemorySegment[]): MemorySegment {
    return allocateValues(this, allocator, values)
  }

  override read(segment: MemorySegment, byteOffset: number): MemorySegment {
    const isAligned = this.#checkPlace(segment, byteOffset)
    const read = isAligned ? scalars.uint64.read : scalars.uint64.readUnaligned
    return this.pointTo(read(segment, byteOffset, this.order === 'little'))
  }

  /** The segment at an address from native code. @throws {AlignmentError} if the address does not fit the target. */
  pointTo(address: number | bigint): MemorySegment {
    const pointer = MemorySegment.ofAddress(address)
    // The null pointer, and pointers such as (void *)-1, have no target.
    if (this.target === undefined || pointer.block.address + pointer.base <= 0) return pointer
    checkAligned(pointer.block.address + pointer.base, this.target.byteAlignment)
    return pointer.reinterpret(sizeOf(this.target))
  }

  /** Writes the address of a segment, which the user of the pointer must keep alive. @throws {ArgumentError} */
  override write(segment: MemorySegment, byteOffset: number, value: MemorySegment): void {
    if (!(value instanceof MemorySegment)) {
      throw wrongType('an address', 'a MemorySegment', value, 'Use MemorySegment.NULL for the null pointer.')
    }
    checkUsable(value.block)
    if (value.isHeap) {
      throw new ArgumentError('an address must be memory of a scope, got memory of a JavaScript buffer', {
        hint: 'Copy it into memory of a scope, because nothing would keep the address of a buffer valid.',
      })
    }
    const write = this.#checkPlace(segment, byteOffset) ? scalars.uint64.write : scalars.uint64.writeUnaligned
    write(segment, byteOffset, BigInt(checkAddress(addressIn(value.block, value.base))), this.order === 'little')
  }

  /** Returns whether the access is aligned. @throws {BoundsError | AlignmentError} */
  #checkPlace(segment: MemorySegment, byteOffset: number): boolean {
    const { byteAlignment } = this
    if (byteAlignment !== 1 && byteAlignment !== POINTER_SIZE) checkPlace(segment, byteOffset, this)
    return byteAlignment >= POINTER_SIZE
  }

  protected override copy(name: string | undefined, byteAlignment: number): this {
    return new AddressLayout(this.order, byteAlignment, name, this.target) as this
  }

  protected override describeShape(): string {
    return `:address${this.order === 'little' ? '<' : '>'}${this.target === undefined ? '' : `->${this.target}`}`
  }
}
