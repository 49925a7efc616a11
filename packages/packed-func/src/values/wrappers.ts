import { ArgumentError, Tensor } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { NativeObject } from '../objects/native-object.ts'

/** An object that its receiver may take: made by {@link rvalue}. */
export class RValue {
  /** @internal */
  readonly object: NativeObject
  /** @internal */
  constructor(object: NativeObject) {
    this.object = object
  }
}

/**
 * Passes an object so that the function may take it over: if it does, the object is disposed of here. A function that
 * changes containers need not copy one that it got this way. Until the call ends, the object can't be used here.
 *
 * @throws {ArgumentError} if it is no native object.
 * @example
 * take.call(rvalue(list))
 * list.isAlive // false
 */
export function rvalue(object: NativeObject): RValue {
  if (!(object instanceof NativeObject))
    throw new ArgumentError(`object must be a native object, got ${describe(object)}`)
  return new RValue(object)
}

/** A tensor that is only lent to a call: made by {@link tensorView}. */
export class TensorView {
  /** @internal */
  readonly tensor: Tensor
  /** @internal */
  constructor(tensor: Tensor) {
    this.tensor = tensor
  }
}

/**
 * Passes a tensor as a plain `DLTensor*`, which the function can't keep. Functions that ask for an owned tensor refuse it.
 *
 * @throws {ArgumentError} if it is no tensor.
 */
export function tensorView(tensor: Tensor): TensorView {
  if (!(tensor instanceof Tensor)) throw new ArgumentError(`tensor must be a tensor, got ${describe(tensor)}`)
  return new TensorView(tensor)
}
