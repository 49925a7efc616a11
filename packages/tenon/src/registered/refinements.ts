import { readFileSync } from 'node:fs'
import { didYouMean } from '@tenon/core/internal'
import { typeSchemaOf, type TypeSchema } from '@tenon/packed-func/internal'
import { InputError } from '../cli/input-error.ts'
import type { Registered } from './registered.ts'

/** Schemas of results by the name of the function, such as `x.Grammar.fork`, which replace those of the library. */
export type Refinements = ReadonlyMap<string, TypeSchema>

/**
 * Reads a file of refinements: JSON with a type key or a schema for each method, field or function.
 *
 * @throws {InputError} if the file is not such JSON, or names what the library does not register
 */
export function readRefinements(path: string, registered: Registered): Refinements {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw new InputError(`${path} is not JSON: ${error.message}`)
    throw error
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InputError(`${path} must be a JSON object, got ${JSON.stringify(value)}`, EXAMPLE)
  }
  const places = placesOf(registered)
  return new Map(
    Object.entries(value).map(([place, given]) => {
      if (!places.has(place)) {
        throw new InputError(
          `${path} refines ${place}, which the library does not register`,
          didYouMean(place, [...places]) ?? EXAMPLE,
        )
      }
      const schema = typeSchemaOf(typeof given === 'string' ? { type: given } : given)
      if (schema === undefined) {
        throw new InputError(
          `${path}: the type of ${place} must be a type key or a schema, got ${JSON.stringify(given)}`,
          EXAMPLE,
        )
      }
      return [place, schema]
    }),
  )
}

const EXAMPLE =
  'Write { "key.method": "key of the result" } or { "key.method": { "type": "ffi.Array", "args": [...] } }.'

function placesOf({ types, functions }: Registered): Set<string> {
  const members = types.flatMap(({ key, fields, methods }) =>
    [...fields, ...methods].map(({ name }) => `${key}.${name}`),
  )
  return new Set([...members, ...functions.map(({ name }) => name)])
}
