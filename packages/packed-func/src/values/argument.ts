import type { Device, StringTensorLike, Tensor, TensorLike } from '@tenon/core'
import type { NativeObject } from '../objects/native-object.ts'
import type { DataType, FloatValue, IntValue, OpaquePointer } from './scalars.ts'
import type { ReadOnlyTensor, RValue, TensorView } from './wrappers.ts'

/** A TypeScript function that native code can call. */
export type PackedCallback = (...values: never[]) => unknown

/** The values that a packed function returns. Integers are numbers if they are safe, else bigints; None is null. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | OpaquePointer
  | DataType
  | Device
  | Tensor
  | StringTensorLike
  | NativeObject
  | Error

/**
 * The values that can be passed to a packed function:
 *
 * | JavaScript | native |
 * | --- | --- |
 * | `null`, `undefined` | None |
 * | `true`, `false` | Bool |
 * | a whole number below 2^53, not -0 | Int |
 * | any other number | Float |
 * | a bigint of int64 | Int |
 * | a string, a `Uint8Array` | String, Bytes |
 * | `dataType()`, `device()` | DataType, Device |
 * | a tensor of `@tenon/core` | Tensor; with `readOnly(x)` also one over read-only memory |
 * | a `TensorLike`: a tensor of another library | Tensor over the same memory; a `Uint8Array` is Bytes |
 * | a `StringTensor` | Tensor of the bytes of a copy; a function in TypeScript gets a `StringTensor` |
 * | an array, a Map | Array, Map |
 * | a function, a `PackedFunc` | Function |
 * | an Error | Error |
 */
export type Argument =
  | Value
  | undefined
  | FloatValue
  | IntValue
  | TensorView
  | ReadOnlyTensor
  | RValue
  | PackedCallback
  | TensorLike
  | readonly Argument[]
  | ReadonlyMap<Argument, Argument>
