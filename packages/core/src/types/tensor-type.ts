import { checkSize, wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { describe } from '../errors/describe.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { dtypeInfo, type DType } from './dtype.ts'
import type { Canonical, DTypeName } from './element-types.ts'
import { Cleaner } from '../memory/cleaner.ts'

/** The layout of a tensor that is not row-major, or whose elements share bytes. */
export interface TensorTypeOptions {
  /** The steps between neighbours along each axis, in elements, not negative. The default is row-major. */
  readonly strides?: readonly number[]
  /** The layout of elements of less than a byte: one byte each (`element`, as in XLA) or packed (as in DLPack). */
  readonly packing?: Packing
}

/** The layout of elements of less than a byte. */
export type Packing = 'element' | 'packed'

/**
 * The element type, shape and layout of a tensor. Types are interned, so equal types are the same object and can be compared
 * with `===`. {@link tensorType} returns a type.
 */
export class TensorType<out D extends DType = DType> {
  readonly dtype: D
  readonly shape: readonly number[]
  /** The strides in elements; undefined for row-major. */
  readonly strides: readonly number[] | undefined
  readonly packing: Packing
  /** The number of elements, which is 1 for a scalar. */
  readonly elementCount: number
  /** The bytes from the first element to the end of the last. */
  readonly byteSize: number
  /** @internal the type with reversed axes, once it is known */
  transposed: TensorType<D> | undefined
  /** @internal the type with the same shape and row-major strides, once it is known */
  rowMajor: TensorType<D> | undefined

  /** @internal */
  constructor(dtype: D, shape: readonly number[], strides: readonly number[] | undefined, packing: Packing) {
    this.dtype = dtype
    this.shape = Object.freeze(shape)
    this.strides = strides && Object.freeze(strides)
    this.packing = packing
    this.elementCount = product(shape)
    const { bits } = dtypeInfo(dtype)
    const spanned = strides?.reduce((sum, stride, axis) => sum + stride * (shape[axis]! - 1), 1) ?? this.elementCount
    const byteSize = packing === 'packed' ? Math.ceil((spanned * bits) / 8) : spanned * Math.max(bits / 8, 1)
    this.byteSize = checkSize(byteSize, 'the size of the tensor')
    this.transposed = undefined
    this.rowMajor = strides === undefined ? this : undefined
  }

  static {
    inspectAsText(this)
  }

  /** The type as messages show it, and as the command line accepts it: `float32[2, 4]`. */
  toString(): string {
    return `${this.dtype}[${this.shape.join(', ')}]`
  }
}

const interned = new Map<string, WeakRef<TensorType>>()
const collected = new Cleaner<string>((key) => {
  if (interned.get(key)?.deref() === undefined) interned.delete(key)
})

/**
 * Returns the type of tensors with these elements and this shape.
 *
 * @param dtype canonical name or alias of the element type.
 * @param shape the size along each axis; empty for a scalar.
 * @throws {ArgumentError | ArgumentRangeError} if a part is not valid, or the size exceeds 2^53 - 1 bytes.
 * @example
 * tensorType('f32', [2, 4]) === tensorType('float32', [2, 4]) // true
 * tensorType('f32', [2, 4]).byteSize // 32
 */
export function tensorType<Name extends DTypeName | (string & {})>(
  dtype: Name,
  shape: readonly number[],
  options?: TensorTypeOptions,
): TensorType<Canonical<Name>> {
  return typeWith(dtype, shape, checkOptions(options, ['strides', 'packing']))
}

/** As {@link tensorType}, with options that were checked. */
export function typeWith<Name extends string>(
  dtype: Name,
  shape: readonly number[],
  options: TensorTypeOptions,
): TensorType<Canonical<Name>> {
  const { name, bits } = dtypeInfo(dtype)
  const sizes = checkShape(shape)
  const strides = checkStrides(options.strides, sizes)
  const packing = bits < 8 ? checkPacking(options.packing) : 'element'
  if (strides !== undefined && packing === 'packed') {
    throw new ArgumentError('packed elements must be row-major, got strides as well')
  }
  const key = `${name}[${sizes.join()}]${strides === undefined ? '' : `/${strides.join()}`}${packing}`
  const known = interned.get(key)?.deref()
  if (known !== undefined) return known as TensorType<Canonical<Name>>
  const type = new TensorType(name as Canonical<Name>, sizes, strides, packing)
  interned.set(key, new WeakRef(type))
  collected.watch(type, key)
  return type
}

/** The row-major strides of a shape, in elements. */
export function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = Array.from(shape, () => 1)
  for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = strides[axis + 1]! * shape[axis + 1]!
  return strides
}

/** A copy of the shape. Each size is read once, so the checked sizes are those that the type gets. */
function checkShape(shape: readonly number[]): readonly number[] {
  if (!Array.isArray(shape)) throw wrongType('shape', 'an array of numbers', shape)
  const sizes = Array.from(shape, checkAxisSize)
  if (product(sizes) > Number.MAX_SAFE_INTEGER) {
    throw new ArgumentRangeError(`shape must have at most 2^53 - 1 elements, got [${sizes.join(', ')}]`)
  }
  return sizes
}

/** @throws {ArgumentError | ArgumentRangeError} if it is not the size of an axis. */
export function checkAxisSize(size: unknown, axis: number): number {
  if (typeof size === 'bigint') throw wrongType(`shape[${axis}]`, 'a number', size)
  return checkSize(size, `shape[${axis}]`, 'elements')
}

function checkStrides(strides: readonly number[] | undefined, shape: readonly number[]): readonly number[] | undefined {
  if (strides === undefined) return undefined
  if (!Array.isArray(strides) || strides.length !== shape.length) {
    throw new ArgumentError(`strides must have one number for each of ${shape.length} axes, got ${describe(strides)}`)
  }
  const steps = Array.from(strides, (stride: unknown, axis) => checkSize(stride, `strides[${axis}]`, 'elements'))
  return isRowMajor(shape, steps) ? undefined : steps
}

/** The stride of an axis with one element has no effect, nor have the strides of an empty tensor. */
export function isRowMajor(shape: readonly number[], strides: readonly number[]): boolean {
  if (shape.includes(0)) return true
  const rowMajor = rowMajorStrides(shape)
  return strides.every((stride, axis) => shape[axis] === 1 || stride === rowMajor[axis])
}

/** The type with the same shape and row-major strides, which a type keeps. */
export function rowMajorType<D extends DType>(type: TensorType<D>): TensorType<D> {
  return (type.rowMajor ??= typeWith(type.dtype, type.shape, {}) as TensorType<D>)
}

function checkPacking(packing: Packing = 'element'): Packing {
  if (packing === 'element' || packing === 'packed') return packing
  throw wrongType('packing', "'element' or 'packed'", packing)
}

function product(values: readonly number[]): number {
  // The product of the other values could be infinite, and 0 times that is NaN.
  return values.includes(0) ? 0 : values.reduce((total, value) => total * value, 1)
}
