import type { AttributeLiteral, AttributeParameter, AttributeType } from '@tenon/core'
import { isPlainObject, resolveAttributes, wrongType } from '@tenon/core/internal'
import { Attribute, SCALARS } from '../attributes/attribute.ts'
import { readTyped } from '../attributes/encode-values.ts'
import { Maybe } from './attribute-types.ts'

/** Returns the attributes of a definition as a signature has them. @throws {ArgumentError} with the path of the attribute. */
export function attributeParameters(schema: unknown, place: string): AttributeParameter[] {
  if (!isPlainObject(schema)) throw wrongType(place, 'an object of types', schema, "Write attrs: { eps: 'f32' }.")
  return Object.entries(schema as Record<string, unknown>).map(([name, spec]) => {
    const path = `${place}: ${name}`
    if (!(spec instanceof Maybe)) return { name, type: typeOf(spec, path), isOptional: false, fallback: undefined }
    const type = typeOf(spec.spec, path)
    return { name, type, isOptional: true, fallback: fallbackOf(name, type, spec.fallback) }
  })
}

function typeOf(spec: unknown, path: string): AttributeType {
  if (typeof spec !== 'string') return { members: attributeParameters(spec, path) }
  if (isTypeName(spec)) return spec as AttributeType
  const scalars = Object.keys(SCALARS).join(', ')
  const hint = `Use ${scalars}, an array such as f32[], string, bytes, pointer, dtype or dictionary.`
  throw wrongType(path, 'the type of an attribute', spec, hint)
}

function isTypeName(name: string): boolean {
  if (['string', 'bytes', 'pointer', 'dtype', 'dictionary'].includes(name) || Object.hasOwn(SCALARS, name)) return true
  return /^[suf]\d+\[\]$/.test(name) && Object.hasOwn(SCALARS, name.slice(0, -2))
}

/** Returns a default as a signature has it. An invalid default is reported now, not at the first call without the attribute. */
function fallbackOf(name: string, type: AttributeType, fallback: unknown): AttributeLiteral | undefined {
  if (fallback === undefined) return undefined
  if (typeof type === 'object' || type === 'dictionary') {
    throw wrongType(`the default of ${name}`, 'undefined for a dictionary', fallback, 'Give each member its default.')
  }
  const target = { name: 'the definition', attributes: [{ name, type, isOptional: false, fallback: undefined }] }
  const value = resolveAttributes(target, { [name]: fallback }, readTyped)[name]
  if (type === 'pointer' && typeof value !== 'bigint') {
    throw wrongType(`the default of ${name}`, 'an address', fallback, 'Pass the tensor or segment to each call.')
  }
  if (value instanceof Attribute) return value.value as AttributeLiteral
  // An array of numbers can be a default, a typed array cannot. Bytes stay as they are.
  if (ArrayBuffer.isView(value) && type !== 'bytes') return Array.from(value as unknown as ArrayLike<number>)
  return value as AttributeLiteral
}
