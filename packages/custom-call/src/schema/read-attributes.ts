import { Attribute } from '../attributes/attribute.ts'
import { InvalidArgumentError } from '../errors/xla-error-classes.ts'
import { Maybe, type AttributeSchema, type AttributeSpec, type ReadAttributes } from './attribute-types.ts'
import { canonicalType, typeNameOf, writeAttributes } from './write-attributes.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** How many attributes there can be. */
export function attributeCount(schema: AttributeSchema): number {
  return Object.keys(schema).length
}

/**
 * What a TypeScript function gets for attributes that native code passes.
 *
 * @throws {InvalidArgumentError} with all that is wrong, in the words of typed handlers.
 */
export function readAttributes(schema: AttributeSchema, given: ReadAttributes, target: string): object {
  const wrong: string[] = []
  const attributes = readAll(schema, given, '', wrong)
  if (wrong.length === 0) return attributes
  throw new InvalidArgumentError({
    xlaCode: 3,
    text: `[execute] Failed to decode all FFI handler operands (bad attributes: ${wrong.length})\nDiagnostics:\n${wrong.join('\n')}`,
    target,
    stage: 'execute',
    refused: true,
  })
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

/** A fallback as it would have come. */
function fallbackOf({ spec, fallback }: Maybe, path: string, wrong: string[]): unknown {
  if (fallback === undefined) return undefined
  const { value } = writeAttributes({ value: spec as AttributeSpec }, { value: fallback }, path)
  return readOne(spec as AttributeSpec, value as Attribute | ReadAttributes, path, wrong)
}

function readOne(spec: AttributeSpec, value: Attribute | ReadAttributes, path: string, wrong: string[]): unknown {
  if (spec instanceof Maybe) return readOne(spec.spec as AttributeSpec, value, path, wrong)
  if (typeof spec !== 'string' || spec === 'dictionary') {
    if (value instanceof Attribute) {
      wrong.push(`Wrong attribute type: expected dictionary but got ${value.kind} (attribute ${path})`)
      return undefined
    }
    return spec === 'dictionary' ? value : readAll(spec, value, `${path}.`, wrong)
  }
  if (!(value instanceof Attribute)) {
    wrong.push(`Wrong attribute type: expected ${kindOf(spec)} but got dictionary (attribute ${path})`)
    return undefined
  }
  if (typeNameOf(value) !== canonicalType(spec)) {
    wrong.push(mismatch(spec, value, path))
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

function kindOf(type: string): Attribute['kind'] {
  return type === 'string' || type === 'bytes' ? 'string' : type.endsWith('[]') ? 'array' : 'scalar'
}

function mismatch(type: string, attribute: Attribute, path: string): string {
  const { kind } = attribute
  if (kind !== kindOf(type)) return `Wrong attribute type: expected ${kindOf(type)} but got ${kind} (attribute ${path})`
  const [expected, actual] = [canonicalType(type), typeNameOf(attribute)].map((name) =>
    name.replace('[]', '').toUpperCase(),
  )
  return `Wrong ${kind} data type: expected ${expected} but got ${actual} (attribute ${path})`
}
