import { checkSize } from '../errors/check.ts'
import { describe } from '../errors/describe.ts'
import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { dtypeInfo, type DType } from './dtype.ts'
import { Cleaner } from '../memory/cleaner.ts'

/** The layout of a tensor, where it is not row-major with a byte at least for each element. */
export interface TensorTypeOptions {
  /** Steps between neighbours along each axis, in elements, not negative; row-major without it. */
  readonly strides?: readonly number[]
  /** For elements of less than a byte: a byte for each (`element`, as XLA has them) or packed (as DLPack has them). */
  readonly packing?: Packing
}

/** How elements of less than a byte lie in memory. */
export type Packing = 'element' | 'packed'

/**
 * Element type, shape and layout of a tensor. Types are interned: equal types are one object, compared by identity.
 * Made by {@link tensorType}.
 */
export class TensorType {
  readonly dtype: DType
  readonly shape: readonly number[]
  /** In elements; undefined for row-major. */
  readonly strides: readonly number[] | undefined
  readonly packing: Packing
  /** The number of elements: 1 for a scalar. */
  readonly elementCount: number
  /** The bytes from the first element to the end of the last. */
  readonly byteSize: number

  /** @internal */
  constructor(dtype: DType, shape: readonly number[], strides: readonly number[] | undefined, packing: Packing) {
    this.dtype = dtype
    this.shape = Object.freeze([...shape])
    this.strides = strides === undefined ? undefined : Object.freeze([...strides])
    this.packing = packing
    this.elementCount = product(shape)
    this.byteSize = checkSize(sizeOf(dtype, this.elementCount, shape, strides, packing), 'the size of the tensor')
  }

  /** As it is written on the command line: `float32[2,4]`. */
  toString(): string {
    return `${this.dtype}[${this.shape.join(',')}]`
  }
}

const interned = new Map<string, WeakRef<TensorType>>()
const collected = new Cleaner<string>((key) => {
  if (interned.get(key)?.deref() === undefined) interned.delete(key)
})

/**
 * The type of tensors with these elements and this shape.
 *
 * @param dtype canonical name or alias of the element type.
 * @param shape the size along each axis; empty for a scalar.
 * @throws {ArgumentError | ArgumentRangeError} if a part is not valid, or the bytes are more than 2^53 - 1.
 * @example
 * tensorType('f32', [2, 4]) === tensorType('float32', [2, 4]) // true
 * tensorType('f32', [2, 4]).byteSize // 32
 */
export function tensorType(dtype: string, shape: readonly number[], options: TensorTypeOptions = {}): TensorType {
  const { name, bits } = dtypeInfo(dtype)
  const sizes = checkShape(shape)
  const strides = checkStrides(options.strides, sizes)
  const packing = bits < 8 ? checkPacking(options.packing) : 'element'
  if (strides !== undefined && packing === 'packed') {
    throw new ArgumentError('packed elements must lie row-major, got strides as well')
  }
  const key = `${name}[${sizes.join()}]${strides === undefined ? '' : `/${strides.join()}`}${packing}`
  const known = interned.get(key)?.deref()
  if (known !== undefined) return known
  const type = new TensorType(name, sizes, strides, packing)
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

/** A copy, each size read once: what was checked is what the type has. */
function checkShape(shape: readonly number[]): readonly number[] {
  if (!Array.isArray(shape)) throw new ArgumentError(`shape must be an array of numbers, got ${describe(shape)}`)
  const sizes = Array.from(shape, (size: unknown, axis) => {
    if (typeof size === 'bigint') throw new ArgumentError(`shape[${axis}] must be a number, got ${describe(size)}`)
    return checkSize(size, `shape[${axis}]`, 'elements')
  })
  if (product(sizes) > Number.MAX_SAFE_INTEGER) {
    throw new ArgumentRangeError(`shape must have at most 2^53 - 1 elements, got [${sizes.join(', ')}]`)
  }
  return sizes
}

function checkStrides(strides: readonly number[] | undefined, shape: readonly number[]): readonly number[] | undefined {
  if (strides === undefined) return undefined
  if (!Array.isArray(strides) || strides.length !== shape.length) {
    throw new ArgumentError(`strides must have one number for each of ${shape.length} axes, got ${describe(strides)}`)
  }
  const steps = Array.from(strides, (stride: unknown, axis) => checkSize(stride, `strides[${axis}]`, 'elements'))
  const rowMajor = rowMajorStrides(shape)
  // The stride of an axis with one element, and all strides of an empty tensor, say nothing.
  const same = shape.includes(0) || steps.every((step, axis) => shape[axis] === 1 || step === rowMajor[axis])
  return same ? undefined : steps
}

function checkPacking(packing: Packing = 'element'): Packing {
  if (packing === 'element' || packing === 'packed') return packing
  throw new ArgumentError(`packing must be 'element' or 'packed', got ${describe(packing)}`)
}

function sizeOf(
  dtype: DType,
  elementCount: number,
  shape: readonly number[],
  strides: readonly number[] | undefined,
  packing: Packing,
): number {
  const { bits } = dtypeInfo(dtype)
  if (packing === 'packed') return Math.ceil((elementCount * bits) / 8)
  const spanned =
    strides === undefined
      ? elementCount
      : 1 + strides.reduce((sum, stride, axis) => sum + stride * (shape[axis]! - 1), 0)
  return spanned * Math.max(bits / 8, 1)
}

function product(values: readonly number[]): number {
  return values.reduce((total, value) => total * value, 1)
}
