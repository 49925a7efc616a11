import type { ScalarKind } from '../generated/scalars.ts'
import { type ByteOrder, nativeOrder } from '../segment/byte-order.ts'
import { Layout } from './memory-layout.ts'

/** The base class of `ValueLayout`: the facts that segments need to copy values. */
export abstract class OrderedLayout<Value = unknown> extends Layout<Value, number> {
  readonly kind: ScalarKind
  readonly order: ByteOrder

  /** @internal */
  constructor(
    kind: ScalarKind,
    byteSize: number,
    order: ByteOrder = nativeOrder,
    byteAlignment: number = byteSize,
    name?: string,
  ) {
    super(byteSize, byteAlignment, name)
    this.kind = kind
    this.order = order
  }
}
