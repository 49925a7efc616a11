import type { Element, NestedArray } from './element-types.ts'
import { nest, type Axes, type Elements } from './tensor-elements.ts'

/**
 * An element of a tensor in JSON. JSON lacks 64-bit integers, NaN and infinities, which are their text: "-1", "NaN", "Infinity"
 * and "-Infinity". All integers of a 64-bit type are text, whatever their value. A complex number is [real, imaginary].
 */
export type JsonElement = boolean | number | string | readonly (number | string)[]

/** The elements as nested arrays for JSON. @throws as {@link nest} */
export function jsonOf(axes: Axes, { read }: Elements): NestedArray<JsonElement> {
  return nest(axes, (offset) => jsonElement(read(offset)))
}

function jsonElement(element: Element): JsonElement {
  if (typeof element === 'boolean') return element
  return typeof element === 'object' ? element.map(jsonNumber) : jsonNumber(element)
}

const jsonNumber = (value: number | bigint): number | string =>
  typeof value === 'number' && Number.isFinite(value) ? value : String(value)
