import type { Element, Tensor } from '@tenon/core'
import { nest, rowMajorType } from '@tenon/core/internal'

/** An element in the JSON of the command, in which integers up to 2^53 are numbers. */
type JsonElement = number | boolean | string | readonly JsonElement[]

/**
 * The elements of a tensor as nested arrays; a scalar is a single value. Integers above 2^53, `NaN`, `Infinity` and
 * `-Infinity` become strings. A complex number is [real, imaginary].
 *
 * @throws {ArgumentRangeError} if the arrays would be nested too deep, or too many for a tensor without elements
 */
export function jsonValues(source: Tensor): unknown {
  const elements = source.toArray()
  return nest(rowMajorType(source.type), (index) => jsonElement(elements[index]!))
}

function jsonElement(element: Element): JsonElement {
  if (Array.isArray(element)) return (element as readonly number[]).map(jsonElement)
  if (typeof element === 'bigint') return Number.isSafeInteger(Number(element)) ? Number(element) : String(element)
  return typeof element === 'number' && !Number.isFinite(element) ? String(element) : (element as number | boolean)
}
