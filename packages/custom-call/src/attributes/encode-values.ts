import { dtypeInfo, type AttributeParameter, type TypedArray } from '@tenon/core'
import { array, Attribute, ptr, scalar, SCALARS, str } from './attribute.ts'
import type { AttributeDictionary, AttributeValue } from './encode-attributes.ts'

/** Reads an attribute that has a type of its own, for `resolveAttributes` of the core. */
export function readTyped(value: unknown): { readonly type: string; readonly value: unknown } | undefined {
  return value instanceof Attribute ? { type: value.typeName, value: value.value } : undefined
}

/**
 * Makes attributes of plain values.
 *
 * @param values the values that `resolveAttributes` of the core returned. Values that a call omits are absent.
 */
export function encodeValues(
  parameters: readonly AttributeParameter[],
  values: Readonly<Record<string, unknown>>,
): AttributeDictionary {
  return Object.fromEntries(
    parameters.flatMap(({ name, type }): [string, AttributeValue][] =>
      Object.hasOwn(values, name) ? [[name, encodeValue(type, values[name])]] : [],
    ),
  )
}

function encodeValue(type: AttributeParameter['type'], value: unknown): AttributeValue {
  // The attribute of a pointer or an element type, or a dictionary of attributes.
  if (value instanceof Attribute || type === 'dictionary') return value as AttributeValue
  if (typeof type === 'object') {
    if ('members' in type) return encodeValues(type.members, value as Readonly<Record<string, unknown>>)
    return str(value as string)
  }
  if (type === 'string' || type === 'bytes') return str(value as string | Uint8Array)
  if (type === 'pointer') return ptr(value as bigint)
  if (type === 'dtype') return scalar('int32', dtypeInfo(value as string).xla)
  if (type.endsWith('[]')) return array(SCALARS[type.slice(0, -2)]!, value as TypedArray)
  return scalar(SCALARS[type]!, value as number)
}
