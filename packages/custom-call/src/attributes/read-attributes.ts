import type { AttributeParameter, AttributeType } from '@tenon/core'
import { resolveAttributes } from '@tenon/core/internal'
import { Attribute, type ReadAttributes } from './attribute.ts'
import { encodeValues } from './encode-values.ts'
import { refused } from '../errors/xla-error-classes.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @throws {InvalidArgumentError} with all problems, in the words of typed handlers. */
export function readAttributes(
  parameters: readonly AttributeParameter[],
  given: ReadAttributes,
  target: string,
): Readonly<Record<string, unknown>> {
  const wrong: string[] = []
  const attributes = readAll(parameters, given, '', wrong)
  if (wrong.length === 0) return attributes
  const text = `[execute] Failed to decode all FFI handler operands (bad attributes: ${wrong.length})\nDiagnostics:\n${wrong.join('\n')}`
  throw refused('INVALID_ARGUMENT', target, text)
}

function readAll(
  parameters: readonly AttributeParameter[],
  given: ReadAttributes,
  path: string,
  wrong: string[],
): Readonly<Record<string, unknown>> {
  const known = new Set(parameters.map(({ name }) => name))
  for (const name of Object.keys(given)) if (!known.has(name)) wrong.push(`Unexpected attribute: ${path}${name}`)
  return Object.fromEntries(
    parameters.map((parameter) => {
      const { name, type, isOptional, fallback } = parameter
      if (Object.hasOwn(given, name)) return [name, readOne(type, given[name]!, path + name, wrong)]
      if (!isOptional) wrong.push(`Missing attribute: ${path}${name}`)
      return [name, fallback === undefined ? undefined : fallbackOf(parameter, path + name, wrong)]
    }),
  )
}

function fallbackOf(parameter: AttributeParameter, path: string, wrong: string[]): unknown {
  const attributes = [parameter]
  const encoded = encodeValues(attributes, resolveAttributes({ name: path, attributes }, undefined))
  return readOne(parameter.type, encoded[parameter.name] as Attribute | ReadAttributes, path, wrong)
}

function readOne(type: AttributeType, value: Attribute | ReadAttributes, path: string, wrong: string[]): unknown {
  const expected = kindOf(type)
  const actual = value instanceof Attribute ? value.kind : 'dictionary'
  if (expected !== actual) {
    wrong.push(`Wrong attribute type: expected ${expected} but got ${actual} (attribute ${path})`)
    return undefined
  }
  if (!(value instanceof Attribute)) {
    return typeof type === 'object' && 'members' in type ? readAll(type.members, value, `${path}.`, wrong) : value
  }
  if (value.typeName !== canonicalType(type)) {
    const [wanted, got] = [canonicalType(type), value.typeName].map((name) => name.replace('[]', '').toUpperCase())
    wrong.push(`Wrong ${actual} data type: expected ${wanted} but got ${got} (attribute ${path})`)
    return undefined
  }
  if (type !== 'string' && typeof type === 'string') return value.value
  return readText(type, value, path, wrong)
}

function readText(type: AttributeType, { bytes }: Attribute, path: string, wrong: string[]): string | undefined {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    wrong.push(`Wrong attribute type: expected UTF-8 text but got other bytes (attribute ${path})`)
    return undefined
  }
  if (typeof type === 'object' && 'enum' in type && !type.enum.includes(text)) {
    wrong.push(`Wrong attribute value: expected one of ${type.enum.join(', ')} but got ${text} (attribute ${path})`)
  }
  return text
}

function kindOf(type: AttributeType): Attribute['kind'] | 'dictionary' {
  if (typeof type === 'object') return 'members' in type ? 'dictionary' : 'string'
  if (type === 'dictionary') return 'dictionary'
  return type === 'string' || type === 'bytes' ? 'string' : type.endsWith('[]') ? 'array' : 'scalar'
}

/** Returns the type of the ABI for the type of an attribute: text is a string of bytes, a pointer is an s64. */
function canonicalType(type: AttributeType): string {
  if (typeof type === 'object' || type === 'string') return 'bytes'
  return type === 'pointer' ? 's64' : type === 'dtype' ? 's32' : type
}
