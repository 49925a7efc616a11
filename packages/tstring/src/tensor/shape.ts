import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkSize } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'

/** The most elements of a tensor: the largest length of a JavaScript array. */
export const COUNT_MAXIMUM: number = 2 ** 32 - 1

/** Returns the number of elements, 1 for the scalar shape `[]`. @throws {ArgumentError | ArgumentRangeError} */
export function elementCount(shape: readonly number[]): number {
  if (!Array.isArray(shape)) throw argumentError('shape', 'an array of numbers', shape)
  let count = 1
  shape.forEach((size: unknown, axis) => {
    count *= checkSize(size, `shape[${axis}]`, 'elements')
  })
  if (count <= COUNT_MAXIMUM) return count
  throw new ArgumentRangeError(`shape must have fewer than 2^32 elements, got [${shape.join(', ')}]`, {
    details: { name: 'shape', expected: 'fewer than 2^32 elements', received: shape },
  })
}

/** Returns the shape of `count` elements, by default one axis. @throws {ArgumentError} if the shape has another count. */
export function checkShape(shape: readonly number[] | undefined, count: number): readonly number[] {
  if (shape === undefined) return Object.freeze([count])
  const shaped = elementCount(shape)
  if (shaped === count) return Object.freeze([...shape])
  throw new ArgumentError(`the element count of shape must be ${count}, got ${shaped} for [${shape.join(', ')}]`, {
    details: { name: 'shape', expected: count, received: shaped },
  })
}
