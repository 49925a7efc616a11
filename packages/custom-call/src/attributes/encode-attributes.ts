import { ArgumentError, dtypeInfo, Segment, Tensor, type TypedArray } from '@tenon/core'
import { type ByteWriter, CONSTANTS, describe, type Gated, isPlainObject, wrongType } from '@tenon/core/internal'
import { arrayOf, Attribute, isWellFormed, scalar, str } from './attribute.ts'

/**
 * The value of an attribute. It is an {@link Attribute}, or a value whose type is unambiguous. A string becomes a string
 * attribute, a boolean a pred, a bigint an s64, a typed array an array, and an object a dictionary. Plain numbers are
 * refused.
 */
export type AttributeValue = Attribute | string | boolean | bigint | TypedArray | AttributeDictionary

/** Attributes by name. */
export interface AttributeDictionary {
  readonly [name: string]: AttributeValue
}

/** The kinds of attributes, as the ABI numbers them. */
const KIND = {
  array: CONSTANTS.TN_XLA_ARRAY,
  dictionary: CONSTANTS.TN_XLA_DICTIONARY,
  scalar: CONSTANTS.TN_XLA_SCALAR,
  string: CONSTANTS.TN_XLA_STRING,
} as const

/** Sorts by the bytes of the names, as the ABI requires, and returns their number. @throws {ArgumentError} with the path. */
export function encodeAttributes(writer: ByteWriter, attributes: AttributeDictionary, path = '', depth = 0): number {
  if (!isPlainObject(attributes)) throw wrongType('attrs', 'an object of attributes', attributes)
  if (depth > CONSTANTS.TN_XLA_DEEPEST)
    throw new ArgumentError(`attributes can be nested ${CONSTANTS.TN_XLA_DEEPEST} deep, got more at ${path}`)
  const entries = Object.entries(attributes)
    .map(([name, value]) => ({ path: path + name, name: nameBytes(name, path + name), value }))
    .toSorted((a, b) => Buffer.compare(a.name, b.name))
  for (const entry of entries) encodeAttribute(writer, entry.name, entry.value, entry.path, depth)
  return entries.length
}

function nameBytes(name: string, path: string): Buffer {
  if (name !== '' && isWellFormed(name)) return Buffer.from(name)
  throw wrongType('the name of an attribute', 'well-formed text that is not empty', path)
}

function encodeAttribute(
  writer: ByteWriter,
  name: Uint8Array,
  value: AttributeValue,
  path: string,
  depth: number,
): void {
  const attribute = isPlainObject(value) ? undefined : toAttribute(value, path)
  writer.u32(attribute === undefined ? KIND.dictionary : KIND[attribute.kind])
  writer.u32(name.length)
  writer.bytes(name)
  if (attribute === undefined) {
    const count = writer.reserve(8)
    writer.patchU32(count, encodeAttributes(writer, value as AttributeDictionary, `${path}.`, depth + 1))
    return
  }
  if (attribute.dtype !== undefined) {
    writer.u32(dtypeInfo(attribute.dtype).xla)
    writer.u32(attribute.kind === 'scalar' ? attribute.bytes.length : 0)
  }
  if (attribute.kind !== 'scalar') writer.u64(attribute.length)
  writer.bytes(attribute.bytes)
}

/**
 * Returns the memory that pointers among attributes refer to. A tensor or segment is a pointer among plain values. Dictionaries that are
 * nested too deep, or in themselves, are not read: {@link encodeAttributes} refuses them.
 */
export function memoryOf(value: unknown, around: readonly unknown[] = []): Gated[] {
  if (value instanceof Attribute) return value.memory === undefined ? [] : [value.memory]
  if (value instanceof Tensor || value instanceof Segment) return [value.block]
  if (!isPlainObject(value) || around.length > CONSTANTS.TN_XLA_DEEPEST || around.includes(value)) return []
  return Object.values(value).flatMap((member) => memoryOf(member, [...around, value]))
}

/** Converts a value other than a dictionary to an attribute. @throws {ArgumentError} with the path of the attribute. */
export function toAttribute(value: unknown, path: string): Attribute {
  if (value instanceof Attribute) return value
  if (typeof value === 'string') return str(value)
  if (typeof value === 'boolean') return scalar('bool', value)
  if (typeof value === 'bigint') return scalar('int64', value)
  if (ArrayBuffer.isView(value)) return arrayOf(value, path)
  if (typeof value === 'number') {
    throw new ArgumentError(`attribute ${path} must have a type, got the bare number ${describe(value)}`, {
      hint: `Write ${path.split('.').at(-1)}: f32(${value}), f64(${value}) or s32(${value}), as the handler declares it.`,
      details: { path, expected: 'a typed value', received: describe(value) },
    })
  }
  const expected = 'a typed value, text, a boolean, a bigint, a TypedArray or an object'
  const hint = Array.isArray(value) ? "Write array('f32', [...]) with the type of its elements." : undefined
  throw wrongType(`attribute ${path}`, expected, value, hint)
}
