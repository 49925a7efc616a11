import { ArgumentError, type Element, type TypedArray } from '@tenon/core'
import { didYouMean, wrongType } from '@tenon/core/internal'
import { array, Attribute, ptr, scalar, SCALARS, str } from '../attributes/attribute.ts'
import { isDictionary, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { Maybe, type AttributeSchema, type AttributeSpec } from './attribute-types.ts'

/** Checks the attribute types of a declaration. @throws {ArgumentError} with the path of the attribute. */
export function checkAttributeSchema(schema: unknown, place: string): asserts schema is AttributeSchema {
  if (!isDictionary(schema)) throw wrongType(place, 'an object of types', schema, "Write attrs: { eps: 'f32' }.")
  for (const [name, spec] of Object.entries(schema as Record<string, unknown>)) checkSpec(spec, `${place}: ${name}`)
}

function checkSpec(spec: unknown, place: string): void {
  if (spec instanceof Maybe) {
    checkSpec(spec.spec, place)
    // An invalid default is reported now, not at the first call without the attribute.
    if (spec.fallback !== undefined) writeValue(spec.spec as AttributeSpec, spec.fallback, place)
  } else if (typeof spec !== 'string') {
    checkAttributeSchema(spec, place)
  } else if (!isTypeName(spec)) {
    const scalars = Object.keys(SCALARS).join(', ')
    const hint = `Use ${scalars}, an array such as f32[], string, bytes, pointer or dictionary.`
    throw wrongType(place, 'the type of an attribute', spec, hint)
  }
}

function isTypeName(name: string): boolean {
  if (['string', 'bytes', 'pointer', 'dictionary'].includes(name) || Object.hasOwn(SCALARS, name)) return true
  return /^[suf]\d+\[\]$/.test(name) && Object.hasOwn(SCALARS, name.slice(0, -2))
}

/** @throws {ArgumentError} with the attribute that is missing, not declared, or of another type. */
export function writeAttributes(schema: AttributeSchema, values: unknown, place: string): AttributeDictionary {
  const given = values === undefined ? {} : values
  if (!isDictionary(given)) throw wrongType(place, 'an object', values)
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(schema, name))
  if (unknown !== undefined) {
    const names = Object.keys(schema)
    throw new ArgumentError(`${place} must not have the attribute ${unknown}, which is not declared`, {
      hint: didYouMean(unknown, names) ?? `The declared attributes are ${names.join(', ') || 'none'}.`,
      details: { path: place, expected: names, received: unknown },
    })
  }
  const entries = Object.entries(schema).flatMap(([name, spec]): [string, AttributeDictionary[string]][] => {
    const own: unknown = Object.hasOwn(given, name) ? given[name] : undefined
    const value = own === undefined && spec instanceof Maybe ? spec.fallback : own
    if (value !== undefined) return [[name, writeValue(spec, value, `${place}: ${name}`)]]
    if (spec instanceof Maybe) return []
    throw new ArgumentError(`${place}: ${name} must be given, it is ${describeSpec(spec)}`, {
      details: { path: `${place}: ${name}`, expected: describeSpec(spec) },
    })
  })
  return Object.fromEntries(entries)
}

function writeValue(spec: AttributeSpec, value: unknown, place: string): AttributeDictionary[string] {
  if (spec instanceof Maybe) return writeValue(spec.spec as AttributeSpec, value, place)
  if (typeof spec !== 'string') return writeAttributes(spec, value, place)
  if (spec === 'dictionary') {
    if (isDictionary(value)) return value
    throw wrongType(place, 'a dictionary', value)
  }
  try {
    return value instanceof Attribute ? checkAttribute(spec, value) : makeAttribute(spec, value)
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    throw new ArgumentError(`${place} is ${describeSpec(spec)}: ${error.sentence}`, {
      details: { ...error.details, path: place },
    })
  }
}

function makeAttribute(type: string, value: unknown): Attribute {
  if (type === 'string' && typeof value !== 'string') throw wrongType('it', 'text', value)
  if (type === 'string' || type === 'bytes') return str(value as string | Uint8Array)
  if (type === 'pointer') return ptr(value as bigint)
  if (type.endsWith('[]')) return array(SCALARS[type.slice(0, -2)]!, value as readonly number[] | TypedArray)
  return scalar(SCALARS[type]!, value as Element)
}

function checkAttribute(type: string, attribute: Attribute): Attribute {
  if (attribute.typeName === canonicalType(type)) return attribute
  throw new ArgumentError(`it must be ${canonicalType(type)}, got ${attribute.typeName}`, {
    details: { expected: canonicalType(type), received: attribute.typeName },
  })
}

/** Returns the type of the ABI for a declared type: text is a string of bytes, a pointer is an s64. */
export function canonicalType(type: string): string {
  return type === 'string' ? 'bytes' : type === 'pointer' ? 's64' : type
}

function describeSpec(spec: AttributeSpec): string {
  return typeof spec === 'string' ? spec : 'a dictionary'
}
