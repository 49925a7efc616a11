import { tensorType, type DType, type TensorType } from '@tenon/core'
import { scalar, type Attribute } from './attribute.ts'

/**
 * A type by its short name: of a scalar attribute when it is given a value, of tensors when it is given a shape.
 *
 * @example
 * f32(1e-5) // an attribute
 * f32([2, 4]) // the type of a tensor
 */
export interface TypeHelper<Value extends number | bigint | boolean> {
  /** A scalar attribute. @throws {ArgumentError | ArgumentRangeError} if the value is not one of the type. */
  (value: Value): Attribute
  /** The type of tensors of this shape; empty for a scalar. @throws {ArgumentError | ArgumentRangeError} */
  (shape: readonly number[]): TensorType
}

function helper<Value extends number | bigint | boolean>(dtype: DType): TypeHelper<Value> {
  function make(value: Value): Attribute
  function make(shape: readonly number[]): TensorType
  function make(value: Value | readonly number[]): Attribute | TensorType {
    return typeof value === 'object' ? tensorType(dtype, value) : scalar(dtype, value)
  }
  return make
}

/** 32-bit floats. A value is rounded to the nearest one; one that is too large is refused. */
export const f32: TypeHelper<number> = helper('float32')
/** 64-bit floats. */
export const f64: TypeHelper<number> = helper('float64')
/** 8-bit signed integers. */
export const s8: TypeHelper<number | bigint> = helper('int8')
/** 16-bit signed integers. */
export const s16: TypeHelper<number | bigint> = helper('int16')
/** 32-bit signed integers. */
export const s32: TypeHelper<number | bigint> = helper('int32')
/** 64-bit signed integers. Numbers must be safe integers; larger values are bigints. */
export const s64: TypeHelper<number | bigint> = helper('int64')
/** 8-bit unsigned integers. */
export const u8: TypeHelper<number | bigint> = helper('uint8')
/** 16-bit unsigned integers. */
export const u16: TypeHelper<number | bigint> = helper('uint16')
/** 32-bit unsigned integers. */
export const u32: TypeHelper<number | bigint> = helper('uint32')
/** 64-bit unsigned integers. Numbers must be safe integers; larger values are bigints. */
export const u64: TypeHelper<number | bigint> = helper('uint64')
/** Booleans, a byte each. */
export const pred: TypeHelper<boolean> = helper('bool')

/**
 * A complex type by its short name: of a scalar attribute when it is given its two parts, of tensors when it is given a shape.
 *
 * @example
 * c64(1, -2) // an attribute: 1 - 2i
 * c64([2, 4]) // the type of a tensor
 */
export interface ComplexHelper {
  /** A scalar attribute. @throws {ArgumentError | ArgumentRangeError} if a part is no number. */
  (re: number, im: number): Attribute
  /** The type of tensors of this shape; empty for a scalar. @throws {ArgumentError | ArgumentRangeError} */
  (shape: readonly number[]): TensorType
}

function complexHelper(dtype: DType): ComplexHelper {
  function make(re: number, im: number): Attribute
  function make(shape: readonly number[]): TensorType
  function make(first: number | readonly number[], im?: number): Attribute | TensorType {
    return typeof first === 'object' ? tensorType(dtype, first) : scalar(dtype, [first, im!])
  }
  return make
}

/** Complex numbers of two 32-bit floats. */
export const c64: ComplexHelper = complexHelper('complex64')
/** Complex numbers of two 64-bit floats. */
export const c128: ComplexHelper = complexHelper('complex128')
