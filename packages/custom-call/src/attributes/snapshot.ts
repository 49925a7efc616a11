import { ArgumentError } from '@tenon/core'
import { CONSTANTS, isPlainObject } from '@tenon/core/internal'
import { Attribute } from './attribute.ts'
import { toAttribute } from './encode-attributes.ts'

/**
 * Copies a value of an attribute, or the attributes of a call. Each member is read once, so that getters cannot return another
 * value later. What is not a value of an attribute stays as it is, and encoding it throws.
 *
 * @throws {ArgumentError} if a typed array cannot be an attribute.
 */
export function snapshot(value: unknown, path = '', depth = 0): unknown {
  if (ArrayBuffer.isView(value)) return toAttribute(value, path).value
  if (Array.isArray(value)) return copyElements(value, path)
  if (!isPlainObject(value) || depth > CONSTANTS.TN_XLA_DEEPEST + 1) return value
  const prefix = path === '' ? '' : `${path}.`
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([name, member]) => [name, snapshot(member, prefix + name, depth + 1)]))
}

/** The longest array of JavaScript that can be an attribute. Typed arrays can be longer. */
const MOST_ELEMENTS = 2 ** 24

/** @throws {ArgumentError} if the array is too long. */
function copyElements(values: readonly unknown[], path: string): unknown[] {
  const { length } = values
  if (length > MOST_ELEMENTS) {
    throw new ArgumentError(`attribute ${path} must have at most ${MOST_ELEMENTS} elements, got ${length}`, {
      hint: 'Pass a typed array, such as a Float32Array.',
      details: { path, expected: MOST_ELEMENTS, received: length },
    })
  }
  return Array.from({ length }, (_, i) => values[i])
}

/** Whether two snapshots have the same bits. */
export function isSame(value: unknown, kept: unknown): boolean {
  if (value === kept) return value !== 0 || Object.is(value, kept)
  if (typeof value !== 'object' || typeof kept !== 'object' || value === null || kept === null) {
    return Object.is(value, kept)
  }
  if (kept instanceof Attribute) return value instanceof Attribute && isSameAttribute(value, kept)
  if (ArrayBuffer.isView(kept)) return ArrayBuffer.isView(value) && isSameView(value, kept)
  if (Array.isArray(kept)) return Array.isArray(value) && isSameArray(value, kept)
  return isPlainObject(value) && isPlainObject(kept) && isSameDictionary(value, kept)
}

function isSameView(value: ArrayBufferView, kept: ArrayBufferView): boolean {
  return value.constructor === kept.constructor && areSameBytes(bytesOf(value), bytesOf(kept))
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function isSameArray(value: readonly unknown[], kept: readonly unknown[]): boolean {
  return value.length === kept.length && value.every((element, i) => isSame(element, kept[i]))
}

/** Loops without closures, because every call as a function compares its attributes. */
function isSameDictionary(value: Readonly<Record<string, unknown>>, kept: Readonly<Record<string, unknown>>): boolean {
  let count = 0
  for (const name in value) {
    if (!Object.hasOwn(kept, name) || !isSame(value[name], kept[name])) return false
    count++
  }
  for (const _ in kept) count--
  return count === 0
}

function isSameAttribute(a: Attribute, b: Attribute): boolean {
  if (a.kind !== b.kind || a.dtype !== b.dtype || a.length !== b.length || a.memory !== b.memory) return false
  return areSameBytes(a.bytes, b.bytes)
}

function areSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
