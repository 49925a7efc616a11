import { ArgumentError } from '@tenon/core'
import { checkUsable, describe } from '@tenon/core/internal'
import { type ByteOrder, nativeOrder } from '../segment/byte-order.ts'
import { checkAddress, ofAddress, reinterpret } from '../segment/factories.ts'
import { checkAligned } from '../segment/locate.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { type Changes, checkLayout, Layout, sizeOf } from './memory-layout.ts'
import { scalars } from './scalars.ts'

const POINTER_SIZE = 8

/** A pointer. It is read as a segment without memory, or of the target's size if it says what it points at. */
export class AddressLayout extends Layout<MemorySegment> {
  declare readonly byteSize: number
  readonly order: ByteOrder
  readonly target: Layout | undefined

  /** @internal */
  constructor(order: ByteOrder = nativeOrder, byteAlignment: number = POINTER_SIZE, name?: string, target?: Layout) {
    super(POINTER_SIZE, byteAlignment, name)
    this.order = order
    this.target = target
  }

  /**
   * A pointer to such values: what is read has their size, and their alignment is checked. Only for pointers that are
   * known
   * to be valid: nobody can check that.
   */
  withTargetLayout(target: Layout): AddressLayout {
    return new AddressLayout(this.order, this.byteAlignment, this.name, checkLayout(target, 'target'))
  }

  withOrder(order: ByteOrder): AddressLayout {
    if (order !== 'little' && order !== 'big')
      throw new ArgumentError(`order must be little or big, got ${describe(order)}`)
    return new AddressLayout(order, this.byteAlignment, this.name, this.target)
  }

  override read(segment: MemorySegment, byteOffset: number): MemorySegment {
    const isAligned = this.byteAlignment >= POINTER_SIZE
    const read = isAligned ? scalars.uint64.read : scalars.uint64.readUnaligned
    return this.pointTo(read(segment, byteOffset, this.order === 'little'))
  }

  /** The segment at an address that native code gave. @throws {AlignmentError} if it does not fit the target. */
  pointTo(address: number | bigint): MemorySegment {
    const pointer = ofAddress(address)
    if (this.target === undefined || pointer.block.address === 0) return pointer
    checkAligned(pointer.block.address, this.target.byteAlignment)
    return reinterpret(pointer, sizeOf(this.target), undefined, undefined)
  }

  /**
   * Writes the address of a segment, which must be kept alive by whoever reads it. @throws {ArgumentError} if it is
   * none
   */
  override write(segment: MemorySegment, byteOffset: number, value: MemorySegment): void {
    if (!(value instanceof MemorySegment)) {
      throw new ArgumentError(`an address must be a MemorySegment, got ${describe(value)}`, {
        hint: 'MemorySegment.NULL is the null pointer.',
      })
    }
    checkUsable(value.block)
    if (value.isHeap) {
      throw new ArgumentError(
        'the address of memory in a buffer of JavaScript must not be stored: nothing keeps it valid',
        {
          hint: 'copy it into memory of a scope.',
        },
      )
    }
    const write = this.byteAlignment >= POINTER_SIZE ? scalars.uint64.write : scalars.uint64.writeUnaligned
    write(segment, byteOffset, BigInt(checkAddress(value.block.address + value.base)), this.order === 'little')
  }

  protected override copy({ name = this.name, byteAlignment = this.byteAlignment }: Changes): this {
    return new AddressLayout(this.order, byteAlignment, name, this.target) as this
  }

  protected override describeShape(): string {
    return `:address${this.order === 'little' ? '<' : '>'}${this.target === undefined ? '' : `->${this.target}`}`
  }
}
