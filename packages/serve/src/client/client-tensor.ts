import type { ArrayOf, Canonical, DType, DTypeName, InputOf, Nested, TensorLike } from '@tenon/core'
import type { StringTensor } from 'tenon/tstring'
import type { OperandTypes, ResultTypes } from '../model/signature-types.ts'

/**
 * A tensor of an answer: its element type, the sizes of its axes, and its elements in row-major order. `tensor(y.dtype, y.shape, y.data)` of
 * `tenon` makes a tensor for kernels of it.
 */
export interface ClientTensor<D extends DType = DType> {
  readonly dtype: D
  readonly shape: readonly number[]
  /** The elements. Floats of 16 bits are their raw bits, and booleans are 0 or 1. */
  readonly data: ArrayOf<D>
}

/** A tensor of strings of an answer. */
export interface ClientStrings {
  readonly dtype: 'string'
  readonly shape: readonly number[]
  /** The strings. @throws {ProtocolError} when it is read, if one of them is not UTF-8. */
  readonly data: readonly string[]
  /** The bytes of each string. */
  readonly bytes: readonly Uint8Array[]
}

/**
 * An input of a request: a tensor, also of another library, nested arrays, one TypedArray for a single axis, or elements in row-major order
 * with a shape.
 */
export type ClientInput<D extends DType = DType> =
  | TensorLike<D>
  | ArrayOf<D>
  | readonly Nested<InputOf<D>>[]
  | { readonly shape: readonly number[]; readonly data: ArrayOf<D> | readonly InputOf<D>[] }

/** An input of strings: the strings themselves, or their bytes. */
export type ClientStringInput =
  | StringTensor
  | readonly Nested<string | Uint8Array>[]
  | { readonly shape: readonly number[]; readonly data: readonly (string | Uint8Array)[] }

type InputOfType<Type> = Type extends 'string'
  ? ClientStringInput
  : Type extends DTypeName
    ? ClientInput<Canonical<Type>>
    : ClientInput | ClientStringInput

type OutputOfType<Type> = Type extends 'string'
  ? ClientStrings
  : Type extends DTypeName
    ? ClientTensor<Canonical<Type>>
    : ClientTensor | ClientStrings

/** The inputs of a model with a signature, by name. */
export type ClientInputs<Signature extends string> = {
  readonly [Name in keyof OperandTypes<Signature>]: InputOfType<OperandTypes<Signature>[Name]>
}

/** The outputs of a model with a signature, by name. */
export type ClientOutputs<Signature extends string> = {
  readonly [Name in keyof ResultTypes<Signature>]: OutputOfType<ResultTypes<Signature>[Name]>
}
