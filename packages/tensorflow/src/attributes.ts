import { ArgumentError, Tensor } from '@tenon/core'
import { AttributeReader, describe, didYouMean, isPlainObject } from '@tenon/core/internal'
import { bindOperands, type OperandTypes } from './bind-operands.ts'
import { ELEMENT_TYPES, typeNamed, type ElementType } from './element-types.ts'
import { limitOf } from './limits.ts'
import type {
  AttributeDefinition,
  AttributeKind,
  AttributeScalar,
  AttributeValue,
  OperationDefinition,
} from './operation.ts'

/**
 * Checks the attributes of a call, and determines those that the operands determine. Each value is read once.
 *
 * @param operands the element types of the tensors for each operand, without quantised types
 * @param given a plain object, or undefined for none
 * @returns the values of all attributes by name. Texts are bytes of UTF-8.
 * @throws {ArgumentError | ArgumentRangeError} with the operand or the attribute, and what it must be
 */
export function resolveAttributes(
  operation: OperationDefinition,
  operands: readonly OperandTypes[],
  given: unknown,
): ReadonlyMap<string, AttributeValue> {
  const values = readGiven(operation, given)
  bindOperands(operation, operands, values)
  for (const attribute of operation.attributes) {
    const { name, fallback } = attribute
    if (!values.has(name)) {
      if (fallback === undefined) throw wrong(operation, name, expectedOf(attribute), 'no value', `Pass ${name}.`)
      values.set(name, readValue(operation, attribute, fallback))
    }
    const limit = limitOf(attribute, values.get(name)!)
    if (limit !== undefined) throw wrong(operation, name, limit, shown(values.get(name)!))
  }
  return values
}

function readGiven(operation: OperationDefinition, given: unknown): Map<string, AttributeValue> {
  const values = new Map<string, AttributeValue>()
  if (given === undefined) return values
  if (!isPlainObject(given)) throw wrong(operation, 'the attributes', 'an object', describe(given))
  const known = new Map(operation.attributes.map((attribute) => [attribute.name, attribute]))
  for (const [name, value] of Object.entries(given)) {
    const attribute = known.get(name)
    if (attribute === undefined) {
      if (value === undefined) continue
      throw unknown(operation, name, [...known.keys()])
    }
    // The shape of an unknown rank is undefined.
    if (value === undefined && (attribute.kind !== 'shape' || attribute.isList)) continue
    values.set(name, readValue(operation, attribute, value))
  }
  return values
}

function unknown({ name: kernel }: OperationDefinition, received: string, expected: readonly string[]): ArgumentError {
  return new ArgumentError(`${kernel} does not have an attribute named ${received}`, {
    hint:
      didYouMean(received.slice(0, 255), expected) ??
      (expected.length === 0 ? `Omit ${received}.` : `The attributes are ${expected.join(', ')}.`),
    details: { path: `the attributes of ${kernel}`, expected, received },
  })
}

/** The types of Tenon's attributes that are read as those of TensorFlow. Their lists are arrays. */
const READ_AS = { string: 'bytes', int: 's64', float: 'f32', bool: 'pred' } as const

function readValue(operation: OperationDefinition, attribute: AttributeDefinition, value: unknown): AttributeValue {
  const { name, kind, isList } = attribute
  if (!isList) return readScalar(operation, kind, value, name)
  if ((kind === 'int' || kind === 'float') && ArrayBuffer.isView(value)) {
    const elements = new AttributeReader(operation.name, undefined).read(`${READ_AS[kind]}[]`, value, name)
    return [...(elements as Iterable<number | bigint>)]
  }
  if (!Array.isArray(value)) throw wrong(operation, name, expectedOf(attribute), describe(value))
  return Array.from(value as unknown[], (element, i) => readScalar(operation, kind, element, `${name}[${i}]`))
}

function readScalar(
  operation: OperationDefinition,
  kind: AttributeKind,
  value: unknown,
  path: string,
): AttributeScalar {
  if (kind === 'type') {
    const type = typeof value === 'string' ? typeNamed(value) : ELEMENT_TYPES.find((one) => one === value)
    if (type !== undefined) return type
    const names = new Set(ELEMENT_TYPES.flatMap(({ name, dtype }) => [name, dtype ?? name]))
    throw wrong(
      operation,
      path,
      EXPECTED.type,
      describe(value),
      typeof value === 'string' ? didYouMean(value, names) : undefined,
    )
  }
  if (kind === 'shape') {
    if (value === undefined || value === null) return null
    const sizes: unknown[] | undefined = Array.isArray(value) ? Array.from(value as unknown[]) : undefined
    if (sizes?.every((size) => Number.isSafeInteger(size) && (size as number) >= -1)) return sizes as number[]
    throw wrong(operation, path, EXPECTED.shape, describe(value))
  }
  if (kind === 'tensor' || kind === 'func') {
    if (typeof value === 'object' && value !== null && Tensor.isGenuine(value)) return value
    throw wrong(operation, path, EXPECTED[kind], describe(value))
  }
  return new AttributeReader(operation.name, undefined).read(READ_AS[kind], value, path) as AttributeScalar
}

const EXPECTED: Readonly<Record<AttributeKind, string>> = {
  string: 'text or bytes',
  int: 'a whole number',
  float: 'a number',
  bool: 'true or false',
  type: 'the name of an element type of TensorFlow',
  shape: 'an array of sizes, with -1 for an unknown one, or undefined for an unknown rank',
  tensor: 'a tensor',
  func: 'a function of TensorFlow',
}

const expectedOf = ({ kind, isList }: AttributeDefinition): string =>
  isList ? `an array, each element of which is ${EXPECTED[kind]}` : EXPECTED[kind]

function shown(value: AttributeValue): string {
  if (value instanceof Uint8Array) return describe(Buffer.from(value).toString())
  return isElementType(value) ? value.name : describe(value)
}

const isElementType = (value: AttributeValue): value is ElementType => ELEMENT_TYPES.some((type) => type === value)

function wrong(
  operation: OperationDefinition,
  name: string,
  expected: string,
  received: string,
  hint?: string,
): ArgumentError {
  const path = `${name} of ${operation.name}`
  return new ArgumentError(`${path} must be ${expected}, got ${received}`, {
    hint,
    details: { path, expected, received },
  })
}
