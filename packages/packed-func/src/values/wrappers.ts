import { Tensor } from '@tenon/core'
import { describe, inspectAsText, wrongType } from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import { NativeObject } from '../objects/native-object.ts'

/** An object that a function may take over: made by {@link rvalue}. */
export class RValue {
  /** @internal */
  readonly object: NativeObject
  /** @internal */
  constructor(object: NativeObject) {
    this.object = object
  }

  toString(): string {
    return `rvalue(${this.object})`
  }
}

/**
 * Passes an object so that the function may take it over, which closes it here. A function that changes containers need not
 * copy one that it takes over. Until the call ends, the object cannot be used here.
 *
 * @throws {ArgumentError} if `object` is not a native object.
 * @example
 * take.call(rvalue(list))
 * list.isAlive // false
 */
export function rvalue(object: NativeObject): RValue {
  if (!(object instanceof NativeObject)) throw wrongType('object', 'a native object', object)
  return new RValue(object)
}

/** A tensor that a call borrows: made by {@link tensorView}. */
export class TensorView {
  /** @internal */
  readonly tensor: Tensor
  /** @internal */
  constructor(tensor: Tensor) {
    this.tensor = tensor
  }

  toString(): string {
    return `tensorView(${this.tensor})`
  }
}

/**
 * Passes a tensor as a plain `DLTensor*`, which the function borrows and cannot keep. Functions that take an owned tensor
 * refuse it.
 *
 * @throws {ArgumentError} if `tensor` is not a tensor.
 */
export function tensorView(tensor: Tensor): TensorView {
  if (!(tensor instanceof Tensor)) throw wrongType('tensor', 'a tensor', tensor)
  return new TensorView(tensor)
}

/** Refuses results that only arguments can be. @throws {PackedFuncTypeError} */
export function refuseBorrowed(result: unknown): void {
  if (result instanceof RValue || result instanceof TensorView) {
    throw new PackedFuncTypeError('TypeError', `a function cannot return ${describe(result)}, which calls only borrow`)
  }
}

for (const Class of [RValue, TensorView]) inspectAsText(Class)
