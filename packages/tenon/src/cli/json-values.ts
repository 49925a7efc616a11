import type { Element, Tensor } from '@tenon/core'

/** What JSON can hold of an element: it has neither integers of 64 bits nor infinities. */
type JsonElement = number | boolean | string | readonly JsonElement[]

/**
 * All elements of a tensor as nested arrays, a scalar as itself. Integers beyond 2^53 become text, and so do `NaN`,
 * `Infinity` and `-Infinity`; a complex number is [real, imaginary].
 */
export function jsonValues(source: Tensor): unknown {
  const values: unknown[] = source.toArray().map(jsonElement)
  if (source.shape.length === 0) return values[0]
  return source.shape
    .slice(1)
    .reduceRight<unknown[]>(
      (items, size) =>
        Array.from({ length: size === 0 ? 0 : items.length / size }, (_, index) =>
          items.slice(index * size, (index + 1) * size),
        ),
      values,
    )
}

function jsonElement(element: Element): JsonElement {
  if (Array.isArray(element)) return (element as readonly number[]).map(jsonElement)
  if (typeof element === 'bigint') return Number.isSafeInteger(Number(element)) ? Number(element) : String(element)
  return typeof element === 'number' && !Number.isFinite(element) ? String(element) : (element as number | boolean)
}
