import { wrongType } from '../errors/check-arguments.ts'
import { ArgumentError } from '../errors/kinds.ts'
import type { DType } from './dtype.ts'
import { MOST_NESTED } from './tensor-elements.ts'

/** Values in row-major order, and their shape. */
interface Flat {
  readonly shape: readonly number[]
  readonly elements: readonly unknown[]
}

/**
 * Flattens nested arrays, each of which is read once.
 *
 * In a literal of complex numbers, an array of numbers is an element. Without a known shape, numbers alone would be both, and
 * the shape of a literal would depend on the number of its values.
 *
 * @param shape the shape that the arrays must have; by default they determine it.
 * @throws {ArgumentError} if arrays of one level have different lengths, or an element is at another level than the first.
 */
export function flatten(source: unknown, isComplex: boolean, shape?: readonly number[]): Flat {
  const sizes: number[] = [...(shape ?? [])]
  const elements: unknown[] = []
  /** The indices of the current value, and those of the first array of each level. */
  const index: number[] = []
  const firsts: (readonly number[])[] = []
  let rank = shape?.length

  const refuse = (expected: string, value: unknown): never => {
    throw wrongType(
      pathOf(index),
      expected,
      value,
      'Write one array for each index of the axis before, all of one length.',
    )
  }

  const visitElement = (value: unknown): void => {
    rank ??= index.length
    if (index.length !== rank || sizes.length > rank) refuse(`an array of length ${sizes[index.length] ?? 0}`, value)
    elements.push(value)
  }

  const visitArray = (items: readonly unknown[]): void => {
    const depth = index.length
    if (depth === rank) refuse('an element', items)
    if (depth === MOST_NESTED) {
      throw new ArgumentError(`values must be nested at most ${MOST_NESTED} deep`, {
        hint: 'Look for an array that contains itself.',
      })
    }
    const first = firsts[depth]
    if (first === undefined) firsts[depth] = [...index]
    const size = (sizes[depth] ??= items.length)
    if (items.length !== size) {
      const reason = first === undefined ? `the tensor has ${size} there` : `${pathOf(first)} has ${size}`
      throw new ArgumentError(`${pathOf(index)} has ${count(items.length)}, ${reason}`, {
        hint: 'Give all arrays of one level the same length.',
        details: { path: pathOf(index), expected: size, received: items.length },
      })
    }
    for (let i = 0; i < size; i++) {
      index.push(i)
      visit(items[i])
      index.pop()
    }
  }

  const visit = (value: unknown): void => {
    if (!Array.isArray(value)) return visitElement(value)
    const items = readItems(value, index)
    if (!isComplex || !isNumbers(items) || (shape !== undefined && index.length < shape.length))
      return visitArray(items)
    if (items.length === 2) return visitElement(items)
    refuse('[real, imaginary], as an array of numbers is a complex number', items)
  }

  visit(source)
  return { shape: sizes, elements }
}

/** Converts each element, which is read once. A conversion that throws ends reading. */
export function readAll<Value>(values: readonly unknown[], convert: (value: unknown, index: number) => Value): Value[] {
  const { length } = values
  const read: Value[] = []
  for (let i = 0; i < length; i++) read.push(convert(values[i], i))
  return read
}

/** Reads an array of a literal. Holes and strings are refused at once, because an array can claim billions of them. */
export function readItems(values: readonly unknown[], indices?: readonly number[]): unknown[] {
  const { length } = values
  const items: unknown[] = []
  for (let i = 0; i < length; i++) {
    const value = values[i]
    const kind = typeof value
    if (kind !== 'number' && kind !== 'bigint' && kind !== 'boolean' && !Array.isArray(value)) {
      const path = pathOf([...(indices ?? []), i])
      throw wrongType(path, 'a number, a bigint or a boolean, or a nested array of them', value)
    }
    items.push(value)
  }
  return items
}

const isNumbers = (items: readonly unknown[]): boolean =>
  items.length > 0 && items.every((item) => typeof item === 'number')

const dtypeOfKind: Readonly<Record<'number' | 'bigint' | 'boolean', DType>> = {
  number: 'float32',
  bigint: 'int64',
  boolean: 'bool',
}

/** The element type of a literal without one. @throws {ArgumentError} if it is empty, or has elements of several kinds. */
export function dtypeOfElements({ elements, shape }: Flat): DType {
  if (elements.length === 0) {
    throw new ArgumentError('an empty array must have an element type, got no dtype', {
      hint: "Write the dtype first: tensor('float32', [0]).",
    })
  }
  const kind = typeof elements[0] as keyof typeof dtypeOfKind
  const odd = elements.findIndex((element) => typeof element !== kind)
  if (odd === -1) return dtypeOfKind[kind]
  const [path, first] = [pathOf(unravel(odd, shape)), pathOf(unravel(0, shape))]
  throw wrongType(path, `a ${kind} as ${first} is`, elements[odd], 'Write the dtype first, and values that it takes.')
}

/** The indices of an element along each axis, from its index in row-major order. */
export function unravel(index: number, shape: readonly number[]): number[] {
  const indices: number[] = []
  for (let axis = shape.length - 1, rest = index; axis >= 0; axis--) {
    indices.unshift(rest % shape[axis]!)
    rest = Math.floor(rest / shape[axis]!)
  }
  return indices
}

export function pathOf(indices: readonly number[]): string {
  return `values${indices.map((index) => `[${index}]`).join('')}`
}

const count = (length: number): string => `${length} ${length === 1 ? 'element' : 'elements'}`
