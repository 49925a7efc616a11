import { tensorType, type Canonical, type DType, type TensorType } from '@tenon/core'
import { scalar, SCALARS, type Attribute } from './attribute.ts'

/**
 * A function named after an element type. A call with a value returns a scalar attribute, and a call with a shape returns
 * a tensor type.
 *
 * @example
 * f32(1e-5) // an attribute
 * f32([2, 4]) // the type of a tensor
 */
export interface TypeHelper<Value extends number | bigint | boolean, D extends DType = DType> {
  /** Makes a scalar attribute. @throws {ArgumentError | ArgumentRangeError} if the value does not have the type. */
  (value: Value): Attribute
  /** Makes the type of tensors of a shape, which is empty for scalars. @throws {ArgumentError | ArgumentRangeError} */
  (shape: readonly number[]): TensorType<D>
}

/** The number of attributes that a helper keeps. */
const MOST_KEPT = 64

function helper<Helper>(name: string): Helper {
  const dtype = SCALARS[name]!
  const isComplex = dtype.startsWith('complex')
  const made = new Map<number, Attribute>()

  const make = (first: number | readonly number[], im?: number): Attribute | TensorType => {
    if (typeof first === 'object') return tensorType(dtype, first)
    if (isComplex) return scalar(dtype, [first, im!])
    // A map takes 0 for -0.
    if (typeof first !== 'number' || first === 0) return scalar(dtype, first)
    return made.get(first) ?? add(first)
  }

  /** Attributes are immutable, so equal ones can be one object, which calls recognize without comparing bytes. */
  const add = (value: number): Attribute => {
    const attribute = scalar(dtype, value)
    if (made.size === MOST_KEPT) made.clear()
    made.set(value, attribute)
    return attribute
  }
  return Object.defineProperty(make, 'name', { value: name }) as Helper
}

/** 32-bit floats. Values are rounded to the nearest float. Values that are too large are refused. */
export const f32: TypeHelper<number, Canonical<'f32'>> = helper('f32')
/** 64-bit floats. */
export const f64: TypeHelper<number, Canonical<'f64'>> = helper('f64')
/** 8-bit signed integers. */
export const s8: TypeHelper<number | bigint, Canonical<'s8'>> = helper('s8')
/** 16-bit signed integers. */
export const s16: TypeHelper<number | bigint, Canonical<'s16'>> = helper('s16')
/** 32-bit signed integers. */
export const s32: TypeHelper<number | bigint, Canonical<'s32'>> = helper('s32')
/** 64-bit signed integers. Numbers must be safe integers; larger values are bigints. */
export const s64: TypeHelper<number | bigint, Canonical<'s64'>> = helper('s64')
/** 8-bit unsigned integers. */
export const u8: TypeHelper<number | bigint, Canonical<'u8'>> = helper('u8')
/** 16-bit unsigned integers. */
export const u16: TypeHelper<number | bigint, Canonical<'u16'>> = helper('u16')
/** 32-bit unsigned integers. */
export const u32: TypeHelper<number | bigint, Canonical<'u32'>> = helper('u32')
/** 64-bit unsigned integers. Numbers must be safe integers; larger values are bigints. */
export const u64: TypeHelper<number | bigint, Canonical<'u64'>> = helper('u64')
/** Booleans, which take one byte each. */
export const pred: TypeHelper<boolean, Canonical<'pred'>> = helper('pred')

/**
 * A function named after a complex type. A call with two parts returns a scalar attribute, and a call with a shape returns
 * a tensor type.
 *
 * @example
 * c64(1, -2) // an attribute: 1 - 2i
 * c64([2, 4]) // the type of a tensor
 */
export interface ComplexHelper<D extends DType = DType> {
  /** Makes a scalar attribute. @throws {ArgumentError | ArgumentRangeError} if a part is not a number. */
  (re: number, im: number): Attribute
  /** Makes the type of tensors of a shape, which is empty for scalars. @throws {ArgumentError | ArgumentRangeError} */
  (shape: readonly number[]): TensorType<D>
}

/** Complex numbers of two 32-bit floats. */
export const c64: ComplexHelper<Canonical<'c64'>> = helper('c64')
/** Complex numbers of two 64-bit floats. */
export const c128: ComplexHelper<Canonical<'c128'>> = helper('c128')
