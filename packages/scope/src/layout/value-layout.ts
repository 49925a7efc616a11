import { allocateValues } from '../allocator/allocate-values.ts'
import type { AllocatorLike } from '../allocator/check-allocator.ts'
import type { AlignedAccess } from '../generated/aligned-access.ts'
import { type Scalar, scalars, type ScalarKind } from '../generated/scalars.ts'
import { type ByteOrder, checkOrder } from '../segment/byte-order.ts'
import { checkPlace } from '../segment/locate.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { OrderedLayout } from './ordered-layout.ts'

/** The layout of one value: a number, a bigint or a boolean. */
export class ValueLayout<Value = unknown> extends OrderedLayout<Value> {
  readonly #scalar: Scalar<Value>
  readonly #isLittle: boolean
  readonly #isAligned: boolean
  /** Whether the alignment is neither that of an aligned access nor that of an unaligned one. */
  readonly #isOther: boolean

  /** @internal */
  constructor(kind: ScalarKind, order?: ByteOrder, byteAlignment?: number, name?: string) {
    const scalar = scalars[kind] as unknown as Scalar<Value>
    super(kind, scalar.byteSize, order, byteAlignment, name)
    this.#scalar = scalar
    this.#isLittle = this.order === 'little'
    this.#isAligned = this.byteAlignment >= scalar.byteSize
    this.#isOther = this.byteAlignment !== 1 && this.byteAlignment !== scalar.byteSize
  }

  /** The same layout with another byte order. */
  withOrder(order: ByteOrder): ValueLayout<Value> {
    return new ValueLayout(this.kind, checkOrder(order), this.byteAlignment, this.name)
  }

  override allocateIn(allocator: AllocatorLike, values: readonly Value[]): MemorySegment {
    return allocateValues(this, allocator, values)
  }

  override read(segment: AlignedAccess, byteOffset: number): Value {
    if (this.#isOther) checkPlace(segment, byteOffset, this)
    return this.#isAligned
      ? this.#scalar.read(segment, byteOffset, this.#isLittle)
      : this.#scalar.readUnaligned(segment, byteOffset, this.#isLittle)
  }

  override write(segment: AlignedAccess, byteOffset: number, value: Value): void {
    if (this.#isOther) checkPlace(segment, byteOffset, this)
    if (this.#isAligned) this.#scalar.write(segment, byteOffset, value, this.#isLittle)
    else this.#scalar.writeUnaligned(segment, byteOffset, value, this.#isLittle)
  }

  protected override copy(name: string | undefined, byteAlignment: number): this {
    return new ValueLayout<Value>(this.kind, this.order, byteAlignment, name) as this
  }

  protected override describeShape(): string {
    return `:${this.kind}${this.order === 'little' ? '<' : '>'}`
  }
}
