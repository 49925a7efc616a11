import type { Tensor, TensorLike } from '@tenon/core'
import { asTensor, describe, wrongType, type Gate } from '@tenon/core/internal'
import { own } from '../native/owned.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import { cellOf, NativeObject, openCell, release, restore, surrender } from '../objects/native-object.ts'
import { Marked } from './scalars.ts'

/** An object that a function may take over: made by {@link rvalue}. */
export class RValue extends Marked<NativeObject> {
  protected static override readonly maker = 'rvalue'
}

/**
 * Passes an object so that the function may take it over, which closes it here. A function that changes containers need not
 * copy one that it takes over. Until the call ends, the object cannot be used here.
 *
 * @throws {ArgumentError} if `object` is not a native object.
 * @example
 * take(rvalue(list))
 * list.isAlive // false
 */
export function rvalue(object: NativeObject): RValue {
  if (!(object instanceof NativeObject)) throw wrongType('object', 'a native object', object)
  return new RValue(object)
}

/**
 * Packs the address of a cell that holds the object's address. A function that moves the object leaves null in the cell. Until
 * the call ends the object cannot be used here, so that no second argument can use memory that the function may free.
 */
export function packRValue(stack: Stack, slot: number, object: NativeObject): void {
  const { handle, typeIndex } = openCell(object)
  const offset = stack.alignedTextOffset()
  stack.bytes.writeBigUInt64LE(BigInt(handle), offset)
  // An object that a call in progress borrows keeps a reference until this call ends. So do functions, which may be called.
  const isBorrowed = typeIndex === TypeIndex.Function || stack.isLent(slot, handle)
  if (isBorrowed) stack.host.tn_packed_retain(handle)
  const kept = isBorrowed ? own(handle) : 0
  stack.text += 8
  stack.setPointer(slot, TypeIndex.ObjectRValueRef, stack.address + offset)
  stack.undo.push({
    settle: () => {
      if (cellOf(object).handle === 0 && stack.bytes.readBigUInt64LE(offset) !== 0n) restore(object, handle)
      if (isBorrowed) release(stack, kept)
    },
  })
  surrender(object)
}

/** A tensor that a call borrows: made by {@link tensorView}. */
export class TensorView extends Marked<Tensor> {
  protected static override readonly maker = 'tensorView'
}

/**
 * Passes a tensor as a plain `DLTensor*`, which the function borrows and cannot keep. Functions that take an owned tensor
 * refuse it.
 *
 * @throws {ArgumentError} if `tensor` is not a tensor.
 */
export function tensorView(tensor: TensorLike): TensorView {
  return new TensorView(asTensor(tensor, 'tensor'))
}

/** A tensor that a function only reads: made by {@link readOnly}. */
export class ReadOnlyTensor extends Marked<Tensor | TensorView> {
  protected static override readonly maker = 'readOnly'

  /** @internal */
  readonly tensor: Tensor
  /** @internal The gate of the memory, in which a call is counted. It is a field, because a call ends also if the stack is full. */
  readonly gate: Gate

  /** @internal */
  constructor(value: Tensor | TensorView) {
    super(value)
    this.tensor = value instanceof TensorView ? value.value : value
    this.gate = this.tensor.gate
  }
}

/**
 * Declares that a function only reads a tensor, whose memory may then be read-only. Without it, a call refuses read-only tensors, because a
 * `DLTensor` does not say that its memory must not be written. The operands of a kernel with a signature are declared by it.
 *
 * @param tensor a tensor, or the view of {@link tensorView}.
 * @throws {ArgumentError} if `tensor` is neither.
 * @example
 * lib.get('add_one')(readOnly(x), y)
 * y.toArray() // [2, 3]
 */
export function readOnly(tensor: TensorLike | TensorView): ReadOnlyTensor {
  return new ReadOnlyTensor(tensor instanceof TensorView ? tensor : asTensor(tensor, 'tensor', EITHER))
}

const EITHER = 'a tensor, or the view of one'

/** @throws {PackedFuncTypeError} */
export function refuseBorrowed(result: unknown): void {
  if (result instanceof RValue || result instanceof TensorView) {
    throw new PackedFuncTypeError('TypeError', `a function cannot return ${describe(result)}, which calls only borrow`)
  }
}
