import { ArgumentError, dtypeInfo, type TypedArray } from '@tenon/core'
import { describe, type Gated } from '@tenon/core/internal'
import type { ByteWriter } from '../native/byte-writer.ts'
import { arrayOf, Attribute, isWellFormed, scalar, str } from './attribute.ts'

/**
 * What can be an attribute: one with its type said; or a value whose type is plain: text is a string, a boolean a pred, a
 * bigint an s64, a TypedArray an array of its elements, an object a dictionary. A bare number is refused.
 */
export type AttributeValue = Attribute | string | boolean | bigint | TypedArray | AttributeDictionary

/** Attributes by name. */
export interface AttributeDictionary {
  readonly [name: string]: AttributeValue
}

/** How deep dictionaries can be nested. */
const DEEPEST = 16

/** Kinds of attributes, as the ABI numbers them. */
const KIND = { array: 1, dictionary: 2, scalar: 3, string: 4 } as const

/**
 * Writes attributes into a descriptor, sorted by the bytes of their names as the ABI wants them, and returns their number.
 *
 * @throws {ArgumentError} naming the attribute by its path, if a name or value can't be passed.
 */
export function encodeAttributes(writer: ByteWriter, attributes: AttributeDictionary, path = '', depth = 0): number {
  if (!isDictionary(attributes))
    throw new ArgumentError(`attrs must be an object of attributes, got ${describe(attributes)}`)
  if (depth > DEEPEST) throw new ArgumentError(`attributes can be nested ${DEEPEST} deep, ${path} goes deeper`)
  const entries = Object.entries(attributes)
    .map(([name, value]) => ({ path: path + name, name: nameBytes(name, path + name), value }))
    .toSorted((a, b) => Buffer.compare(a.name, b.name))
  for (const entry of entries) encodeAttribute(writer, entry.name, entry.value, entry.path, depth)
  return entries.length
}

function nameBytes(name: string, path: string): Buffer {
  if (name === '' || !isWellFormed(name)) {
    throw new ArgumentError(`the name of an attribute must be well-formed text and not empty, got ${describe(path)}`)
  }
  return Buffer.from(name)
}

function encodeAttribute(
  writer: ByteWriter,
  name: Uint8Array,
  value: AttributeValue,
  path: string,
  depth: number,
): void {
  const attribute = isDictionary(value) ? undefined : toAttribute(value, path)
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

/** The memory that pointers among encoded attributes lead to. */
export function memoryOf(attributes: AttributeDictionary): Gated[] {
  return Object.values(attributes).flatMap((value) => {
    if (value instanceof Attribute) return value.memory === undefined ? [] : [value.memory]
    return isDictionary(value) ? memoryOf(value) : []
  })
}

/** Whether a value is an object of attributes: a plain one, or without a prototype. */
export function isDictionary(value: unknown): value is AttributeDictionary {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** The attribute that a value stands for, unless it is a dictionary. @throws {ArgumentError} naming it by its path */
export function toAttribute(value: unknown, path: string): Attribute {
  if (value instanceof Attribute) return value
  if (typeof value === 'string') return str(value)
  if (typeof value === 'boolean') return scalar('bool', value)
  if (typeof value === 'bigint') return scalar('int64', value)
  if (ArrayBuffer.isView(value)) return arrayOf(value, path)
  if (typeof value === 'number') {
    throw new ArgumentError(`attribute ${path} must say its type, got the bare number ${describe(value)}`, {
      hint: `write ${path.split('.').at(-1)}: f32(${value}), f64(${value}), s32(${value}) ...: a handler takes exactly the type it was compiled for.`,
      details: { attribute: path },
    })
  }
  throw new ArgumentError(
    `attribute ${path} must be a typed value, text, a boolean, a bigint, a TypedArray or an object, got ${describe(value)}`,
    {
      ...(Array.isArray(value) ? { hint: "write array('f32', [...]) with the type of its elements." } : {}),
      details: { attribute: path },
    },
  )
}
