import { Attribute } from '../attributes/attribute.ts'
import { refused } from '../errors/xla-error-classes.ts'
import { Maybe, type AttributeSchema, type AttributeSpec, type ReadAttributes } from './attribute-types.ts'
import { canonicalType, writeAttributes } from './write-attributes.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @throws {InvalidArgumentError} with all problems, in the words of typed handlers. */
export function readAttributes(schema: AttributeSchema, given: ReadAttributes, target: string): object {
  const wrong: string[] = []
  const attributes = readAll(schema, given, '', wrong)
  if (wrong.length === 0) return attributes
  const text = `[execute] Failed to decode all FFI handler operands (bad attributes: ${wrong.length})\nDiagnostics:\n${wrong.join('\n')}`
  throw refused('INVALID_ARGUMENT', target, text)
}

function readAll(schema: AttributeSchema, given: ReadAttributes, path: string, wrong: string[]): object {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(schema, name)) wrong.push(`Unexpected attribute: ${path}${name}`)
  }
  return Object.fromEntries(
    Object.entries(schema).map(([name, spec]) => {
      if (Object.hasOwn(given, name)) return [name, readOne(spec, given[name]!, path + name, wrong)]
      if (!(spec instanceof Maybe)) wrong.push(`Missing attribute: ${path}${name}`)
      return [name, spec instanceof Maybe ? fallbackOf(spec, path + name, wrong) : undefined]
    }),
  )
}

function fallbackOf({ spec, fallback }: Maybe, path: string, wrong: string[]): unknown {
  if (fallback === undefined) return undefined
  const { value } = writeAttributes({ value: spec as AttributeSpec }, { value: fallback }, path)
  return readOne(spec as AttributeSpec, value as Attribute | ReadAttributes, path, wrong)
}

function readOne(spec: AttributeSpec, value: Attribute | ReadAttributes, path: string, wrong: string[]): unknown {
  if (spec instanceof Maybe) return readOne(spec.spec as AttributeSpec, value, path, wrong)
  const expected = kindOf(spec)
  const actual = value instanceof Attribute ? value.kind : 'dictionary'
  if (expected !== actual) {
    wrong.push(`Wrong attribute type: expected ${expected} but got ${actual} (attribute ${path})`)
    return undefined
  }
  if (!(value instanceof Attribute)) {
    return typeof spec === 'string' ? value : readAll(spec, value, `${path}.`, wrong)
  }
  if (value.typeName !== canonicalType(spec as string)) {
    const [wanted, got] = [canonicalType(spec as string), value.typeName].map((name) =>
      name.replace('[]', '').toUpperCase(),
    )
    wrong.push(`Wrong ${actual} data type: expected ${wanted} but got ${got} (attribute ${path})`)
    return undefined
  }
  if (spec !== 'string') return value.value
  try {
    return utf8.decode(value.bytes)
  } catch {
    wrong.push(`Wrong attribute type: expected UTF-8 text but got other bytes (attribute ${path})`)
    return undefined
  }
}

function kindOf(spec: AttributeSpec): Attribute['kind'] | 'dictionary' {
  if (typeof spec !== 'string' || spec === 'dictionary') return 'dictionary'
  return spec === 'string' || spec === 'bytes' ? 'string' : spec.endsWith('[]') ? 'array' : 'scalar'
}
