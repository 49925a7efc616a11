import { describe } from '../errors/describe.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { isPlainObject } from '../errors/plain-object.ts'
import { didYouMean } from '@tenon/binary/internal'
import { AttributeReader, type ReadTyped } from './attribute-reader.ts'
import { exampleOf, typeName } from './attribute-type.ts'
import type { AttributeParameter, KernelSignature } from './kernel-signature.ts'

/**
 * Checks the attributes of a call against a signature. Each given value is read once.
 *
 * @param given a plain object, or undefined for none.
 * @param readTyped reads values that have types of their own.
 * @returns the values by name, with defaults for those that are not given. 64-bit integers are bigints, complex numbers are
 *   pairs, arrays are typed arrays, `bytes` are Uint8Arrays, element types are canonical names, and pointers and dictionaries
 *   without members are returned as they were given.
 * @throws {ArgumentError | ArgumentRangeError} with the attribute that is unknown, missing, of another type, or out of range.
 */
export function resolveAttributes(
  signature: Pick<KernelSignature, 'name' | 'attributes'>,
  given: unknown,
  readTyped?: ReadTyped,
): Readonly<Record<string, unknown>> {
  const { name, attributes } = signature
  const reader = new AttributeReader(name, readTyped)
  if (given !== undefined && !isPlainObject(given)) {
    const path = `the attributes of ${name}`
    const received = describe(given)
    throw new ArgumentError(`${path} must be an object, got ${received}`, {
      hint: `Pass ${exampleOf({ members: attributes })}.`,
      details: { path, expected: 'an object', received },
    })
  }
  return resolveMembers(reader, name, attributes, given ?? {}, '')
}

/** @param prefix the path of the dictionary, `config.`; empty for the attributes of the call. */
function resolveMembers(
  reader: AttributeReader,
  kernel: string,
  members: readonly AttributeParameter[],
  given: Readonly<Record<string, unknown>>,
  prefix: string,
): Readonly<Record<string, unknown>> {
  const values = new Map(Object.entries(given))
  for (const [name, value] of values) {
    if (value !== undefined && !members.some((member) => member.name === name)) {
      throw unknown(kernel, members, prefix, name)
    }
  }
  const resolved: [string, unknown][] = []
  for (const { name, type, isOptional, fallback } of members) {
    const value = values.get(name)
    const path = `${prefix}${name}`
    if (value === undefined && fallback === undefined && isOptional) continue
    if (value === undefined && fallback === undefined) throw missing(kernel, path, type)
    if (value === undefined) {
      resolved.push([name, reader.read(type, fallback, path)])
    } else if (typeof type === 'object' && 'members' in type) {
      if (!isPlainObject(value)) throw reader.wrong(path, type, value)
      resolved.push([name, resolveMembers(reader, kernel, type.members, value, `${path}.`)])
    } else {
      resolved.push([name, reader.read(type, value, path)])
    }
  }
  return Object.fromEntries(resolved)
}

function missing(kernel: string, path: string, type: AttributeParameter['type']): ArgumentError {
  const expected = typeName(type)
  return new ArgumentError(`${path} of ${kernel} must be ${expected}, got no value`, {
    hint: `Pass ${path}, for example ${exampleOf(type)}.`,
    details: { path: `${path} of ${kernel}`, expected, received: undefined },
  })
}

function unknown(
  kernel: string,
  members: readonly AttributeParameter[],
  prefix: string,
  received: string,
): ArgumentError {
  const expected = members.map(({ name }) => name)
  const owner = prefix === '' ? kernel : `${prefix.slice(0, -1)} of ${kernel}`
  const names =
    expected.length === 0
      ? `Omit ${received}, because ${owner} does not have attributes.`
      : `The attributes are ${expected.join(', ')}.`
  return new ArgumentError(`${owner} does not have an attribute named ${received}`, {
    hint: didYouMean(received.slice(0, 255), expected) ?? names,
    details: { path: `the attributes of ${owner}`, expected, received },
  })
}
