import { didYouMean } from '@tenon/build/internal'

import { AnnotationsError } from './annotations-error.ts'
import type { Schema } from './schema.ts'

type Definitions = Readonly<Record<string, Schema>>

/** @throws {AnnotationsError} if a value does not have the form of a schema, with the nearest name for one that does not exist. */
export function checkSchema(
  value: unknown,
  schema: Schema,
  definitions: Definitions,
  path: readonly string[] = [],
): void {
  const problem = problemIn(value, schema, definitions, path)
  if (problem) throw problem
}

function problemIn(
  value: unknown,
  { $ref, anyOf, ...schema }: Schema,
  definitions: Definitions,
  path: readonly string[],
): AnnotationsError | undefined {
  if ($ref !== undefined) return problemIn(value, definitions[$ref.slice('#/$defs/'.length)]!, definitions, path)
  if (anyOf !== undefined) return problemOfAll(value, anyOf, definitions, path)
  if (schema.const !== undefined && value !== schema.const)
    return new AnnotationsError(path, `must be ${JSON.stringify(schema.const)}, got ${JSON.stringify(value)}`)
  if (schema.type !== undefined && typeNameOf(value) !== schema.type)
    return new AnnotationsError(path, `must be ${nounOf(schema)}, got ${JSON.stringify(value)}`)
  if (typeof value === 'string') return problemOfText(value, schema, path)
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const problem = problemIn(item, schema.items!, definitions, [...path, String(index)])
      if (problem) return problem
    }
  } else if (typeof value === 'object' && value !== null) return problemOfObject(value, schema, definitions, path)
  return undefined
}

/** A value fits one of several schemas. The error is that of the schema of its type. */
function problemOfAll(
  value: unknown,
  schemas: readonly Schema[],
  definitions: Definitions,
  path: readonly string[],
): AnnotationsError | undefined {
  const problems = schemas.map((schema) => problemIn(value, schema, definitions, path))
  if (problems.includes(undefined)) return undefined
  const sameType = schemas.flatMap((schema, index) => (schema.type === typeNameOf(value) ? [index] : []))
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const nearest = sameType.find((index) => keys.some((key) => schemas[index]!.properties?.[key] !== undefined))
  // An object with no known key gets the names of all.
  if (nearest === undefined && keys.length > 0 && sameType.length > 1) {
    const properties = Object.assign({}, ...sameType.map((index) => schemas[index]!.properties)) as Schema['properties']
    return problemOfObject(value as object, { properties: properties!, additionalProperties: false }, definitions, path)
  }
  const index = nearest ?? sameType[0]
  if (index !== undefined) return problems[index]
  return new AnnotationsError(path, `must be ${schemas.map(nounOf).join(' or ')}, got ${JSON.stringify(value)}`)
}

function problemOfText(value: string, schema: Schema, path: readonly string[]): AnnotationsError | undefined {
  const { pattern, examples = schema.enum ?? [] } = schema
  const fits = pattern === undefined ? (schema.enum?.includes(value) ?? true) : new RegExp(pattern).test(value)
  if (fits) return undefined
  return new AnnotationsError(
    path,
    `must be one of ${examples.join(', ')}, got ${JSON.stringify(value)}`,
    didYouMean(value, examples),
  )
}

function problemOfObject(
  value: object,
  { properties = {}, additionalProperties, required = [] }: Schema,
  definitions: Definitions,
  path: readonly string[],
): AnnotationsError | undefined {
  for (const key of required)
    if (!Object.hasOwn(value, key))
      return new AnnotationsError(path, `must have ${key}: ${JSON.stringify(properties[key]?.const)}`)
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    const schema = Object.hasOwn(properties, key) ? properties[key]! : additionalProperties
    if (schema === undefined) continue
    if (schema === false)
      return new AnnotationsError(
        path,
        `must not have ${JSON.stringify(key)}, which does not exist`,
        didYouMean(key, Object.keys(properties)) ?? `It can have ${Object.keys(properties).join(', ')}.`,
      )
    const problem = problemIn(member, schema, definitions, [...path, key])
    if (problem) return problem
  }
  return undefined
}

function typeNameOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (Number.isInteger(value)) return 'integer'
  return value === null ? 'null' : typeof value
}

function nounOf({ type, const: only }: Schema): string {
  if (only !== undefined) return JSON.stringify(only)
  return type === 'array' || type === 'object' || type === 'integer' ? `an ${type}` : `a ${type}`
}
