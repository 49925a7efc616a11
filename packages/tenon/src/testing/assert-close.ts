import { AssertionError } from 'node:assert'
import { dtypeInfo, Tensor, type Complex, type Element, type Nested, type TypedArray } from '@tenon/core'
import { checkOptions, flatten, unravel, wrongType, wrongValue } from '@tenon/core/internal'

/** The options of {@link assertClose}. */
export interface ClosenessOptions {
  /** The tolerance relative to the expected element. The default is 1e-5. */
  readonly rtol?: number
  /** The absolute tolerance. The default is 1e-8. */
  readonly atol?: number
}

/** Elements to compare: a tensor, nested arrays of its shape, or a TypedArray with the elements in row-major order. */
export type CloseValues = Tensor | TypedArray | Nested<Element>

/** Elements in row-major order, and their shape if they have one. */
interface Values {
  readonly shape: readonly number[] | undefined
  readonly elements: ArrayLike<Element>
}

/**
 * Checks that all elements are close to the expected ones: `|actual - expected| <= atol + rtol * |expected|`, as NumPy does. Equal
 * infinities are close, and NaN is close to nothing. There is no broadcasting. The element types may differ.
 *
 * @throws {AssertionError} of `node:assert` if the shapes differ, or an element is not close. The message names the worst element.
 * @throws {ArgumentError} if a value is neither a tensor nor values, or a tolerance is not a number from 0.
 * @throws {ScopeClosedError} if the memory of a tensor is closed.
 * @example
 * assertClose(tensor([1, 2]), [1, 2.00001])
 * assertClose(tensor([1, 2]), tensor('f64', [2], [1, 2.001]), { rtol: 1e-3 })
 */
export function assertClose(actual: CloseValues, expected: CloseValues, options?: ClosenessOptions): void {
  const { rtol = 1e-5, atol = 1e-8 } = checkOptions(options, ['rtol', 'atol'])
  checkTolerance(rtol, 'rtol')
  checkTolerance(atol, 'atol')
  const isComplex = isComplexTensor(actual) || isComplexTensor(expected)
  const [ours, theirs] = [valuesOf(actual, 'actual', isComplex), valuesOf(expected, 'expected', isComplex)]
  const shape = commonShape(ours, theirs)
  let [worst, most, far] = [-1, 0, 0]
  for (let i = 0; i < theirs.elements.length; i++) {
    const excess = excessOf(ours.elements[i]!, theirs.elements[i]!, rtol, atol)
    if (excess > 0) far++
    if (excess > most) [worst, most] = [i, excess]
  }
  if (far === 0) return
  const [a, b] = [ours.elements[worst]!, theirs.elements[worst]!]
  const path = `actual${unravel(worst, shape)
    .map((index) => `[${index}]`)
    .join('')}`
  const message = `${path} must be ${text(b)} within ${atol + rtol * magnitudeOf(b)}, got ${text(a)}`
  const count = theirs.elements.length
  throw failure(
    count === 1 ? message : `${message}. It is the worst of ${far} elements that are not close, of ${count}`,
    a,
    b,
  )
}

function checkTolerance(value: unknown, name: string): void {
  if (typeof value !== 'number') throw wrongType(name, 'a number from 0', value)
  if (!(value >= 0 && value < Infinity)) throw wrongValue(name, 'a finite number from 0', value)
}

const isComplexTensor = (value: unknown): boolean =>
  value instanceof Tensor && dtypeInfo(value.dtype).kind === 'complex'

function valuesOf(source: unknown, name: string, isComplex: boolean): Values {
  if (source instanceof Tensor) return { shape: source.shape, elements: source.toArray() }
  if (ArrayBuffer.isView(source) && !(source instanceof DataView)) {
    return { shape: undefined, elements: source as TypedArray }
  }
  const { shape, elements } = flatten(source, isComplex)
  const odd = elements.findIndex((element) => !isElement(element))
  if (odd === -1) return { shape, elements: elements as Element[] }
  throw wrongType(name, 'a tensor, a TypedArray, or nested arrays of numbers', elements[odd])
}

const isElement = (value: unknown): boolean =>
  ['number', 'bigint', 'boolean'].includes(typeof value) || Array.isArray(value)

/** The shape of both values. A TypedArray has any shape with its number of elements. */
function commonShape(actual: Values, expected: Values): readonly number[] {
  const shape = actual.shape ?? expected.shape ?? [expected.elements.length]
  const hasShape = (values: Values): boolean =>
    values.shape === undefined
      ? values.elements.length === shape.reduce((total, size) => total * size, 1)
      : values.shape.length === shape.length && values.shape.every((size, axis) => size === shape[axis])
  if (hasShape(actual) && hasShape(expected)) return shape
  const [a, b] = [actual, expected].map((values) => `[${(values.shape ?? [values.elements.length]).join(', ')}]`)
  throw failure(`actual must have the shape ${b}, got ${a}`, a, b)
}

/** The least excess, so that it is not 0 where subnormal numbers are. */
const TINY = 2 ** -1000

/** By how much the distance exceeds the tolerance: 0 for close elements, infinite for NaN. */
function excessOf(actual: Element, expected: Element, rtol: number, atol: number): number {
  const tolerance = atol + rtol * magnitudeOf(expected)
  const distance = distanceOf(actual, expected)
  if (distance === 0 || (distance <= tolerance && tolerance < Infinity)) return 0
  return distance > tolerance ? Math.max(distance - tolerance, TINY) : Infinity
}

/** 0 for equal infinities. */
function distanceOf(a: Element, b: Element): number {
  if (typeof a === 'bigint' && typeof b === 'bigint') return Math.abs(Number(a - b))
  if (typeof a === 'object' || typeof b === 'object') {
    const [[ar, ai], [br, bi]] = [partsOf(a), partsOf(b)]
    return Math.hypot(distanceOf(ar, br), distanceOf(ai, bi))
  }
  const [x, y] = [Number(a), Number(b)]
  return x === y ? 0 : Math.abs(x - y)
}

const partsOf = (value: Element): Complex => (typeof value === 'object' ? value : [Number(value), 0])

const magnitudeOf = (value: Element): number => Math.hypot(...partsOf(value))

const text = (value: Element): string => (typeof value === 'object' ? `[${value.join(', ')}]` : String(value))

function failure(message: string, actual: unknown, expected: unknown): AssertionError {
  return new AssertionError({ message, actual, expected, operator: 'assertClose', stackStartFn: assertClose })
}
