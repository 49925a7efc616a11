import type { Element, Tensor } from '@tenon/core'
import { checkNestable } from '@tenon/core/internal'

/** An element in JSON, which lacks 64-bit integers and infinities. */
type JsonElement = number | boolean | string | readonly JsonElement[]

/**
 * The elements of a tensor as nested arrays; a scalar is a single value. Integers above 2^53, `NaN`, `Infinity` and
 * `-Infinity` become strings. A complex number is [real, imaginary].
 *
 * @throws {ArgumentRangeError} if the arrays would be nested too deep, or too many for a tensor without elements
 */
export function jsonValues(source: Tensor): unknown {
  checkNestable(source.type)
  return nest(source.toArray().map(jsonElement), source.shape, 0)
}

function nest(elements: readonly JsonElement[], shape: readonly number[], start: number): unknown {
  const [size, ...inner] = shape
  if (size === undefined) return elements[start]
  const step = inner.reduce((product, length) => product * length, 1)
  return Array.from({ length: size }, (_, index) => nest(elements, inner, start + index * step))
}

function jsonElement(element: Element): JsonElement {
  if (Array.isArray(element)) return (element as readonly number[]).map(jsonElement)
  if (typeof element === 'bigint') return Number.isSafeInteger(Number(element)) ? Number(element) : String(element)
  return typeof element === 'number' && !Number.isFinite(element) ? String(element) : (element as number | boolean)
}
