import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkSize } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'

/** The most elements of a tensor: the largest length of a JavaScript array. */
export const COUNT_MAXIMUM: number = 2 ** 32 - 1

/** A shape that was read once, and its number of elements. */
export interface Shaped {
  readonly shape: readonly number[]
  readonly count: number
}

/** Reads a shape, whose number of elements is 1 for the scalar shape `[]`. @throws {ArgumentError | ArgumentRangeError} */
export function readShape(given: readonly number[]): Shaped {
  if (!Array.isArray(given)) throw argumentError('shape', 'an array of numbers', given)
  const { length } = given
  const sizes: number[] = []
  let count = 1
  for (let axis = 0; axis < length; axis++) {
    const size = checkSize(given[axis], `shape[${axis}]`, 'elements')
    sizes.push(size)
    count *= size
  }
  if (count <= COUNT_MAXIMUM) return { shape: Object.freeze(sizes), count }
  throw new ArgumentRangeError(`shape must have fewer than 2^32 elements, got [${sizes.join(', ')}]`, {
    details: { name: 'shape', expected: 'fewer than 2^32 elements', received: sizes },
  })
}

/** The shapes of one axis with few elements, which tensors share. */
const axes: (readonly number[])[] = []

const axisOf = (count: number): readonly number[] =>
  count < 64 ? (axes[count] ??= Object.freeze([count])) : Object.freeze([count])

/** Returns the shape of `count` elements, by default one axis. @throws {ArgumentError} if the shape has another count. */
export function checkShape(given: readonly number[] | undefined, count: number): readonly number[] {
  if (given === undefined) return axisOf(count)
  const { shape, count: shaped } = readShape(given)
  if (shaped === count) return shape
  throw new ArgumentError(`the element count of shape must be ${count}, got ${shaped} for [${shape.join(', ')}]`, {
    details: { name: 'shape', expected: count, received: shaped },
  })
}
