import { ArgumentError, type Element, type TypedArray } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { array, Attribute, ptr, scalar, str } from '../attributes/attribute.ts'
import { isDictionary, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { Maybe, SCALARS, type AttributeSchema, type AttributeSpec } from './attribute-types.ts'

/** Checks the types of attributes when a target is defined. @throws {ArgumentError} naming the attribute by its path */
export function checkAttributeSchema(schema: unknown, place: string): asserts schema is AttributeSchema {
  if (!isDictionary(schema)) {
    throw new ArgumentError(`${place} must be an object of types, got ${describe(schema)}`, {
      hint: "write attrs: { eps: 'f32' }.",
    })
  }
  for (const [name, spec] of Object.entries(schema as Record<string, unknown>)) checkSpec(spec, `${place}: ${name}`)
}

function checkSpec(spec: unknown, place: string): void {
  if (spec instanceof Maybe) {
    checkSpec(spec.spec, place)
    // A fallback that is none is told now, not at the first call without the attribute.
    if (spec.fallback !== undefined) writeValue(spec.spec as AttributeSpec, spec.fallback, place)
    return
  }
  if (typeof spec === 'string') {
    if (isTypeName(spec)) return
    throw new ArgumentError(`${place} must be the type of an attribute, got ${describe(spec)}`, {
      hint: `known are ${Object.keys(SCALARS).join(', ')}, arrays such as f32[], string, bytes, pointer and dictionary.`,
    })
  }
  checkAttributeSchema(spec, place)
}

function isTypeName(name: string): boolean {
  if (['string', 'bytes', 'pointer', 'dictionary'].includes(name) || Object.hasOwn(SCALARS, name)) return true
  return /^[suf]\d+\[\]$/.test(name) && Object.hasOwn(SCALARS, name.slice(0, -2))
}

/**
 * Gives attributes the types that a schema declares.
 *
 * @throws {ArgumentError} naming the attribute that is missing, too many, or of another type.
 */
export function writeAttributes(schema: AttributeSchema, values: unknown, place: string): AttributeDictionary {
  const given = values === undefined ? {} : values
  if (!isDictionary(given)) throw new ArgumentError(`${place} must be an object, got ${describe(values)}`)
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(schema, name))
  if (unknown !== undefined) {
    throw new ArgumentError(`${place}: there is no attribute ${unknown}`, {
      hint: `declared are ${Object.keys(schema).join(', ') || 'none'}.`,
    })
  }
  const entries = Object.entries(schema).flatMap(([name, spec]): [string, AttributeDictionary[string]][] => {
    const value: unknown = Object.hasOwn(given, name) ? given[name] : undefined
    if (value !== undefined) return [[name, writeValue(spec, value, `${place}: ${name}`)]]
    if (!(spec instanceof Maybe)) {
      throw new ArgumentError(`${place}: ${name} must be given, it is ${describeSpec(spec)}`)
    }
    return spec.fallback === undefined
      ? []
      : [[name, writeValue(spec.spec as AttributeSpec, spec.fallback, `${place}: ${name}`)]]
  })
  return Object.fromEntries(entries)
}

function writeValue(spec: AttributeSpec, value: unknown, place: string): AttributeDictionary[string] {
  if (spec instanceof Maybe) return writeValue(spec.spec as AttributeSpec, value, place)
  if (typeof spec !== 'string') return writeAttributes(spec, value, place)
  if (spec === 'dictionary') {
    if (isDictionary(value)) return value
    throw new ArgumentError(`${place} is a dictionary, got ${describe(value)}`)
  }
  try {
    return value instanceof Attribute ? checkAttribute(spec, value) : makeAttribute(spec, value)
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    throw new ArgumentError(`${place} is ${describeSpec(spec)}: ${error.sentence}`)
  }
}

function makeAttribute(type: string, value: unknown): Attribute {
  if (type === 'string' || type === 'bytes') {
    if (type === 'string' && typeof value !== 'string')
      throw new ArgumentError(`it must be text, got ${describe(value)}`)
    return str(value as string | Uint8Array)
  }
  if (type === 'pointer') return ptr(value as bigint)
  if (type.endsWith('[]')) {
    return array(SCALARS[type.slice(0, -2) as keyof typeof SCALARS], value as readonly number[] | TypedArray)
  }
  return scalar(SCALARS[type as keyof typeof SCALARS], value as Element)
}

/** An attribute that says its own type must say the declared one. */
function checkAttribute(type: string, attribute: Attribute): Attribute {
  const actual = typeNameOf(attribute)
  if (actual === canonicalType(type)) return attribute
  throw new ArgumentError(`it must be ${canonicalType(type)}, got ${actual}`)
}

/** The name of an attribute's type, as schemas have it; any string is `bytes`. */
export function typeNameOf({ kind, dtype }: Attribute): string {
  const found = Object.entries(SCALARS).find(([, name]) => name === dtype)?.[0]
  return kind === 'string' ? 'bytes' : `${found ?? dtype}${kind === 'array' ? '[]' : ''}`
}

/** What the ABI makes of a declared type: text is a string of bytes, a pointer an s64. */
export function canonicalType(type: string): string {
  return type === 'string' ? 'bytes' : type === 'pointer' ? 's64' : type
}

function describeSpec(spec: AttributeSpec): string {
  return typeof spec === 'string' ? spec : 'a dictionary'
}
