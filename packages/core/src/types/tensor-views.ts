import { wrongType, wrongValue } from '../errors/check-arguments.ts'
import { ArgumentError, BoundsError } from '../errors/kinds.ts'
import { dtypeInfo, type DType } from './dtype.ts'
import { stepsOf } from './tensor-elements.ts'
import { readAll } from './tensor-literals.ts'
import { checkAxisSize, isRowMajor, rowMajorStrides, typeWith, type TensorType } from './tensor-type.ts'

/**
 * The part of one axis that {@link Tensor.slice} keeps: an index, which drops the axis; a start, an end and a step; or null for the
 * whole axis. Indices below 0 count from the end.
 */
export type SliceSpec =
  | number
  | readonly [start?: number | null | undefined, end?: number | null | undefined, step?: number | undefined]
  | null

/** The type of a view, and the position of its first element, in elements. */
export interface View<D extends DType> {
  readonly type: TensorType<D>
  readonly offset: number
}

/** The type of a view with this shape and these strides. @throws {ArgumentError} if elements are packed and would not be adjacent. */
function viewType<D extends DType>(type: TensorType<D>, shape: number[], strides: number[]): TensorType<D> {
  const { dtype, packing } = type
  if (packing === 'element') return typeWith(dtype, shape, { strides }) as TensorType<D>
  if (!isRowMajor(shape, strides)) {
    throw new ArgumentError(`a view of packed elements must be row-major, got strides [${strides.join(', ')}]`, {
      hint: 'Copy the elements into a tensor with a byte for each: tensor(x.dtype, x.shape, x.toArray()).',
    })
  }
  return typeWith(dtype, shape, { packing }) as TensorType<D>
}

/**
 * The type of the same memory with another shape. One size may be -1.
 *
 * @throws {ArgumentError} if the number of elements differs, or the strides allow no such view.
 */
export function reshaped<D extends DType>(type: TensorType<D>, shape: unknown): TensorType<D> {
  const sizes = wantedShape(type, shape)
  const strides = type.strides === undefined ? rowMajorStrides(sizes) : splitStrides(type.shape, type.strides, sizes)
  if (strides !== undefined) return viewType(type, sizes, strides)
  throw new ArgumentError(
    `${layoutText(type)} must be row-major to be reshaped to [${sizes.join(', ')}] without a copy`,
    {
      hint: `Copy it: contiguous().reshape([${sizes.join(', ')}]).`,
    },
  )
}

function wantedShape(type: TensorType, shape: unknown): number[] {
  if (!Array.isArray(shape)) throw wrongType('shape', 'an array of numbers', shape)
  const sizes = readAll(shape, (size, axis) => (size === -1 ? -1 : checkAxisSize(size, axis)))
  const free = sizes.indexOf(-1)
  const rest = sizes.reduce((total, size) => (size === -1 ? total : total * size), 1)
  const { elementCount } = type
  if (sizes.lastIndexOf(-1) === free && (free === -1 ? rest === elementCount : rest > 0 && elementCount % rest === 0)) {
    return sizes.map((size) => (size === -1 ? elementCount / rest : size))
  }
  throw new ArgumentError(`shape must have the ${elementCount} elements of ${type}, got [${sizes.join(', ')}]`, {
    hint: 'At most one size may be -1, if the others determine it.',
    details: { expected: elementCount, received: sizes },
  })
}

/**
 * The strides of the new shape over strided memory, or undefined if no strides describe it. Consecutive old axes and new axes with
 * the same number of elements form a group, and the old axes of each group must be row-major among themselves.
 */
function splitStrides(
  shape: readonly number[],
  strides: readonly number[],
  wanted: readonly number[],
): number[] | undefined {
  // An axis of one element has no stride.
  const axes = shape.flatMap((size, axis) => (size === 1 ? [] : axis))
  const result: number[] = []
  let [to, from] = [0, 0]
  while (from < axes.length) {
    const [firstTo, firstFrom] = [to, from]
    let [wantedCount, count] = [wanted[to++]!, shape[axes[from++]!]!]
    while (wantedCount !== count) {
      if (wantedCount < count) wantedCount *= wanted[to++]!
      else count *= shape[axes[from++]!]!
    }
    for (let i = firstFrom; i < from - 1; i++) {
      if (strides[axes[i]!] !== strides[axes[i + 1]!]! * shape[axes[i + 1]!]!) return undefined
    }
    let stride = strides[axes[from - 1]!]!
    for (let axis = to - 1; axis >= firstTo; axis--) {
      result[axis] = stride
      stride *= wanted[axis]!
    }
  }
  // The remaining axes have one element each.
  for (; to < wanted.length; to++) result[to] = 1
  return result
}

/** The type with the axes in another order. @throws {ArgumentError} if `axes` does not name each axis once. */
export function permuted<D extends DType>(type: TensorType<D>, axes: unknown, name = 'axes'): TensorType<D> {
  const order = checkOrder(type, axes, name)
  const steps = stepsOf(type)
  return viewType(
    type,
    order.map((axis) => type.shape[axis]!),
    order.map((axis) => steps[axis]!),
  )
}

/** The axes of an order, each once. @throws {ArgumentError} */
function checkOrder({ shape }: TensorType, order: unknown, name: string): number[] {
  const rank = shape.length
  if (!Array.isArray(order)) throw wrongType(name, `an array with each of the ${rank} axes`, order)
  const axes = readAll(order, (axis, i) => checkAxis(axis, rank, `${name}[${i}]`))
  if (axes.length === rank && new Set(axes).size === rank) return axes
  throw new ArgumentError(`${name} must contain each of the ${rank} axes once, got [${axes.join(', ')}]`)
}

/** The type with reversed axes, which a type keeps. */
export function transposed<D extends DType>(type: TensorType<D>): TensorType<D> {
  return (type.transposed ??= permuted(type, [...type.shape.keys()].toReversed()))
}

export function squeezed<D extends DType>(type: TensorType<D>, axis: unknown): TensorType<D> {
  const { shape } = type
  const only = axis === undefined ? undefined : checkAxis(axis, shape.length, 'axis')
  if (only !== undefined && shape[only] !== 1) {
    throw new ArgumentError(`axis ${only} must have one element to be dropped, ${type} has ${shape[only]}`)
  }
  const kept = [...shape.keys()].filter((index) => (only === undefined ? shape[index] !== 1 : index !== only))
  const steps = stepsOf(type)
  return viewType(
    type,
    kept.map((index) => shape[index]!),
    kept.map((index) => steps[index]!),
  )
}

export function unsqueezed<D extends DType>(type: TensorType<D>, axis: unknown): TensorType<D> {
  const { shape } = type
  const at = checkAxis(axis, shape.length + 1, 'axis')
  const steps = stepsOf(type)
  return viewType(type, shape.toSpliced(at, 0, 1), steps.toSpliced(at, 0, (steps[at] ?? 1) * (shape[at] ?? 1)))
}

/** An axis, of which negative ones count from the end. @throws {ArgumentError | BoundsError} */
function checkAxis(axis: unknown, rank: number, name: string): number {
  const index = checkInteger(axis, name)
  if (index >= -rank && index < rank) return index < 0 ? index + rank : index
  throw new BoundsError(`${name} must be an axis from ${-rank} to ${rank - 1}, got ${index}`, {
    details: { name, received: index, rank },
  })
}

/** The position of an index along an axis. Negative ones count from the end. @throws {ArgumentError | BoundsError} */
function checkIndex(value: unknown, size: number, axis: number): number {
  const index = checkInteger(value, `the index of axis ${axis}`)
  if (index >= -size && index < size) return index < 0 ? index + size : index
  throw new BoundsError(`the index of axis ${axis} must be from ${-size} to ${size - 1}, got ${index}`, {
    details: { axis, size, received: index },
  })
}

/** The position of the element with these indices, in elements. @throws {ArgumentError | BoundsError} */
export function offsetAt(type: TensorType, index: readonly unknown[]): number {
  const { shape } = type
  if (index.length !== shape.length) {
    throw new ArgumentError(`at() takes an index for each of the ${shape.length} axes of ${type}, got ${index.length}`)
  }
  const steps = stepsOf(type)
  let offset = 0
  for (let axis = 0; axis < shape.length; axis++) offset += checkIndex(index[axis], shape[axis]!, axis) * steps[axis]!
  return offset
}

function checkInteger(value: unknown, name: string): number {
  if (Number.isSafeInteger(value)) return (value as number) + 0
  throw typeof value === 'number' ? wrongValue(name, 'a whole number', value) : wrongType(name, 'a number', value)
}

/** The part of each axis that a view keeps. @throws {ArgumentError | BoundsError} */
export function sliced<D extends DType>(type: TensorType<D>, specs: readonly unknown[]): View<D> {
  const { shape, dtype, packing } = type
  if (specs.length > shape.length) {
    throw new ArgumentError(`slice() takes at most one part for each of ${shape.length} axes, got ${specs.length}`)
  }
  const steps = stepsOf(type)
  const [sizes, strides]: [number[], number[]] = [[], []]
  let offset = 0
  shape.forEach((size, axis) => {
    const spec = specs[axis] ?? null
    const stride = steps[axis]!
    if (typeof spec === 'number') {
      offset += checkIndex(spec, size, axis) * stride
      return
    }
    const [start, count, step] = spec === null ? [0, size, 1] : rangeOf(spec, size, axis)
    if (count > 0) offset += start * stride
    sizes.push(count)
    strides.push(count > 1 ? stride * step : stride)
  })
  const view = { type: viewType(type, sizes, strides), offset }
  if (packing === 'packed' && (offset * dtypeInfo(dtype).bits) % 8 !== 0) {
    throw new ArgumentError(`a slice of packed elements must start at a whole byte, got element ${offset} of ${type}`, {
      hint: 'Start at an element whose bits begin a byte, or copy the elements: tensor(x.dtype, x.shape, x.toArray()).',
    })
  }
  return view.type.elementCount === 0 ? { type: view.type, offset: 0 } : view
}

/** The start, the number of elements and the step of `[start, end, step]`, which is read once. */
function rangeOf(spec: unknown, size: number, axis: number): [start: number, count: number, step: number] {
  const name = `the slice of axis ${axis}`
  if (!Array.isArray(spec)) throw wrongType(name, 'an index, null or [start, end, step]', spec)
  const parts = readAll(spec, (part, i) => {
    if (i < 3) return part
    throw wrongType(name, '[start, end, step]', spec)
  })
  const [start = null, end = null, step = 1] = parts
  if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 1) {
    throw wrongValue(
      `the step of axis ${axis}`,
      'a whole number from 1',
      step,
      'Strides are never negative. To reverse an axis, copy() the slice and set() the elements of the copy in reverse order.',
    )
  }
  const from = start === null ? 0 : clampIndex(start, size, `the start of axis ${axis}`)
  const to = end === null ? size : clampIndex(end, size, `the end of axis ${axis}`)
  return [from, Math.max(0, Math.ceil((to - from) / step)), step]
}

/** As in `Array.prototype.slice`, but fractions and NaN are refused. */
function clampIndex(value: unknown, size: number, name: string): number {
  if (typeof value !== 'number') throw wrongType(name, 'a number, null or undefined', value)
  if (!Number.isInteger(value) && Math.abs(value) !== Infinity) throw wrongValue(name, 'a whole number', value)
  return value < 0 ? Math.max(value + size, 0) : Math.min(value, size)
}

/**
 * The type with the axes stored in this order, from major to minor.
 *
 * @param order the axes, or `cm` for column-major: the last two axes are exchanged.
 * @throws {ArgumentError} if it does not name each axis once, or `cm` meets fewer than two axes.
 */
export function withLayout<D extends DType>(type: TensorType<D>, order: unknown): TensorType<D> {
  const { shape } = type
  const axes = order === 'cm' ? columnMajor(type) : checkOrder(type, order, 'order')
  const strides = shape.map(() => 1)
  let stride = 1
  for (const axis of axes.toReversed()) {
    strides[axis] = stride
    stride *= shape[axis]!
  }
  return viewType(type, [...shape], strides)
}

function columnMajor(type: TensorType): number[] {
  const axes = [...type.shape.keys()]
  if (axes.length < 2) throw new ArgumentError(`a column-major tensor must have at least 2 axes, got ${type}`)
  return [...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!]
}

/** The type with its strides, for messages. */
export function layoutText(type: TensorType): string {
  const strides = type.strides === undefined ? '' : ` with strides [${type.strides.join(', ')}]`
  return `${type}${strides}${type.packing === 'packed' ? ', packed' : ''}`
}
