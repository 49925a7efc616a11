import { checkSize, wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { describe } from '../errors/describe.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { dtypeInfo, type DType, type DTypeInfo } from './dtype.ts'
import type { Canonical, DTypeName } from './element-types.ts'
import { Cleaner } from '../memory/cleaner.ts'
import { stringName, type StringLayout } from '../strings/string-layout.ts'

/** The layout of a tensor that is not row-major, or whose elements share bytes. */
export interface TensorTypeOptions {
  /** The steps between neighbours along each axis, in elements, not negative. The default is row-major. */
  readonly strides?: readonly number[]
  /** The layout of elements of less than a byte: one byte each (`element`, as in XLA) or packed (as in DLPack). */
  readonly packing?: Packing
}

/** The layout of elements of less than a byte. */
export type Packing = 'element' | 'packed'

/** The strings whose memory a tensor is. */
export interface StringElements {
  readonly layout: StringLayout
  readonly shape: readonly number[]
}

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
  /** @internal the strings in this memory; undefined for all other memory */
  readonly strings: StringElements | undefined
  /** @internal 32 bits that differ for most types */
  readonly hash: number
  /** @internal the type with reversed axes, once it is known */
  transposed: TensorType<D> | undefined
  /** @internal the type with the same shape and row-major strides, once it is known */
  rowMajor: TensorType<D> | undefined

  /** @internal */
  constructor(
    dtype: D,
    shape: readonly number[],
    strides: readonly number[] | undefined,
    packing: Packing,
    strings?: StringElements,
  ) {
    this.dtype = dtype
    this.shape = Object.freeze(shape)
    this.strides = strides && Object.freeze(strides)
    this.packing = packing
    this.elementCount = product(shape)
    if (this.elementCount > Number.MAX_SAFE_INTEGER) {
      throw new ArgumentRangeError(`shape must have at most 2^53 - 1 elements, got [${shape.join(', ')}]`)
    }
    // Without methods that a program can replace: the type is kept, and later tensors of its shape would get too little memory.
    const info = dtypeInfo(dtype)
    const { bits } = info
    const spanned = strides === undefined ? this.elementCount : spanOf(shape, strides)
    const byteSize = packing === 'packed' ? bytesOfBits(spanned * bits) : spanned * (bits < 8 ? 1 : bits / 8)
    this.byteSize = checkSize(byteSize, 'the size of the tensor')
    this.strings = strings
    this.hash = hashOf(info, shape, strides, packing)
    this.transposed = undefined
    this.rowMajor = strides === undefined ? this : undefined
  }

  static {
    inspectAsText(this)
  }

  /** The type as messages show it, and as the command line accepts it: `float32[2, 4]`. */
  toString(): string {
    const { strings } = this
    const { shape } = strings ?? this
    return `${strings === undefined ? this.dtype : stringName(strings.layout)}[${shape.join(', ')}]`
  }
}

/** The axes as a signature has them: those of the strings, if the elements are strings. */
export const axesOf = (type: TensorType): readonly number[] => (type.strings ?? type).shape

const OPTIONS = ['strides', 'packing'] as const

const interned = new Map<string, WeakRef<TensorType>>()
const collected = new Cleaner<string>((key) => {
  if (interned.get(key)?.deref() === undefined) interned.delete(key)
})

/** Types that were used recently, which are found without a text. A type is at its place or at the one beside it. */
const recent = new Array<TensorType | undefined>(1024).fill(undefined)

/** The most axes of a type among the recent ones, which are not collected. */
const MOST_AXES = 16

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
  return typeWith(dtype, shape, checkOptions(options, OPTIONS))
}

/** As {@link tensorType}, with options that were checked. */
export function typeWith<Name extends string>(
  dtype: Name,
  shape: readonly number[],
  options: TensorTypeOptions,
): TensorType<Canonical<Name>> {
  return typeOf(dtypeInfo(dtype), readShape(shape), options) as TensorType<Canonical<Name>>
}

/** As {@link typeWith}, with sizes that were checked. The type can keep their array. */
export function typeOf(info: DTypeInfo, sizes: readonly number[], options: TensorTypeOptions): TensorType {
  const strides = checkStrides(options.strides, sizes)
  const packing = info.bits < 8 ? checkPacking(options.packing) : 'element'
  if (strides !== undefined && packing === 'packed') {
    throw new ArgumentError('packed elements must be row-major, got strides as well')
  }
  return intern(info, sizes, strides, packing)
}

function intern(
  info: DTypeInfo,
  sizes: readonly number[],
  strides: readonly number[] | undefined,
  packing: Packing,
): TensorType {
  const place = hashOf(info, sizes, strides, packing) >>> 22
  const first = recent[place]
  if (first !== undefined && isType(first, info.name, sizes, strides, packing)) return first
  const second = recent[place ^ 1]
  if (second !== undefined && isType(second, info.name, sizes, strides, packing)) return second
  const type = find(info.name, sizes, strides, packing)
  if (sizes.length > MOST_AXES) return type
  recent[place ^ 1] = first
  recent[place] = type
  return type
}

/** The hash of a type. The last multiplication lets the high bits of the sizes count. */
function hashOf(
  info: DTypeInfo,
  sizes: readonly number[],
  strides: readonly number[] | undefined,
  packing: Packing,
): number {
  let hash = packing === 'packed' ? -info.xla : info.xla
  for (let axis = 0; axis < sizes.length; axis++) hash = (Math.imul(hash, 31) + sizes[axis]!) | 0
  if (strides !== undefined) {
    for (let axis = 0; axis < strides.length; axis++) hash = (Math.imul(hash, 31) + strides[axis]!) | 0
  }
  return Math.imul(hash, 0x9e3779b1)
}

function isType(
  type: TensorType,
  dtype: DType,
  sizes: readonly number[],
  strides: readonly number[] | undefined,
  packing: Packing,
): boolean {
  if (type.dtype !== dtype || type.packing !== packing || !areEqual(type.shape, sizes)) return false
  if (strides === undefined || type.strides === undefined) return type.strides === strides
  return areEqual(type.strides, strides)
}

function areEqual(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

function find(
  dtype: DType,
  sizes: readonly number[],
  strides: readonly number[] | undefined,
  packing: Packing,
): TensorType {
  const key = `${dtype}[${sizes.join()}]${strides === undefined ? '' : `/${strides.join()}`}${packing}`
  const known = interned.get(key)?.deref()
  if (known !== undefined) return known
  const type = new TensorType(dtype, sizes, strides, packing)
  interned.set(key, new WeakRef(type))
  collected.watch(type, key)
  return type
}

/** The row-major strides of a shape, in elements. */
export function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1)
  for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = strides[axis + 1]! * shape[axis + 1]!
  return strides
}

/** A copy of the shape. Each size is read once, so the checked sizes are those that the type gets. */
function readShape(shape: unknown): readonly number[] {
  if (!Array.isArray(shape)) throw wrongType('shape', 'an array of numbers', shape)
  const { length } = shape
  // An array that grows has room for 17 numbers.
  if (length === 1) return [checkAxisSize(shape[0], 0)]
  if (length === 2) return [checkAxisSize(shape[0], 0), checkAxisSize(shape[1], 1)]
  if (length === 3) return [checkAxisSize(shape[0], 0), checkAxisSize(shape[1], 1), checkAxisSize(shape[2], 2)]
  const sizes: number[] = []
  for (let axis = 0; axis < length; axis++) sizes.push(checkAxisSize(shape[axis], axis))
  return sizes
}

/** @throws {ArgumentError | ArgumentRangeError} if it is not the size of an axis. */
export function checkAxisSize(size: unknown, axis: number): number {
  if (isSize(size)) return size + 0 // no negative zero
  if (typeof size === 'bigint') throw wrongType(`shape[${axis}]`, 'a number', size)
  return checkSize(size, `shape[${axis}]`, 'elements')
}

/** Whether a value is a number that {@link checkSize} accepts. Its name in messages is then not needed. */
export function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function checkStrides(strides: readonly number[] | undefined, shape: readonly number[]): readonly number[] | undefined {
  if (strides === undefined) return undefined
  const { length } = shape
  if (!Array.isArray(strides) || strides.length !== length) {
    throw new ArgumentError(`strides must have one number for each of ${length} axes, got ${describe(strides)}`)
  }
  const steps: number[] = []
  for (let axis = 0; axis < length; axis++) {
    const stride: unknown = strides[axis]
    steps.push(isSize(stride) ? stride + 0 : checkSize(stride, `strides[${axis}]`, 'elements'))
  }
  return isRowMajor(shape, steps) ? undefined : steps
}

/** The stride of an axis with one element has no effect, nor have the strides of an empty tensor. */
export function isRowMajor(shape: readonly number[], strides: readonly number[]): boolean {
  let isIt = true
  let expected = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = shape[axis]!
    if (size === 0) return true
    if (size !== 1 && strides[axis] !== expected) isIt = false
    expected *= size
  }
  return isIt
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
  let total = 1
  for (let i = 0; i < values.length; i++) {
    // The product of the other values could be infinite, and 0 times that is NaN.
    if (values[i] === 0) return 0
    total *= values[i]!
  }
  return total
}

function bytesOfBits(bits: number): number {
  const rest = bits % 8
  return (bits - rest) / 8 + (rest === 0 ? 0 : 1)
}

/** The number of elements from the first to the last. */
function spanOf(shape: readonly number[], strides: readonly number[]): number {
  let span = 1
  for (let axis = 0; axis < strides.length; axis++) span += strides[axis]! * (shape[axis]! - 1)
  return span
}
