import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'

/** The most elements of a tensor: what a JavaScript array holds. */
export const COUNT_MAXIMUM: number = 2 ** 32 - 1

/**
 * Checks a shape and counts its elements: 1 for the scalar shape `[]`.
 *
 * @throws {ArgumentError | ArgumentRangeError} if it is no array of sizes, or has 2^32 elements or more.
 */
export function elementCount(shape: readonly number[]): number {
  if (!Array.isArray(shape)) throw new ArgumentError(`shape must be an array of numbers, got ${describe(shape)}`)
  let count = 1
  shape.forEach((size: unknown, axis) => {
    count *= checkSize(size, `shape[${axis}]`, 'elements')
  })
  if (count <= COUNT_MAXIMUM) return count
  throw new ArgumentRangeError(`shape must have fewer than 2^32 elements, got [${shape.join(', ')}]`)
}

/** The shape of `count` elements: the one given, or one axis. @throws {ArgumentError} if it has another count. */
export function checkShape(shape: readonly number[] | undefined, count: number): readonly number[] {
  if (shape === undefined) return Object.freeze([count])
  if (elementCount(shape) === count) return Object.freeze([...shape])
  throw new ArgumentError(
    `the shape [${shape.join(', ')}] has ${elementCount(shape)} elements, there are ${count} strings`,
  )
}
