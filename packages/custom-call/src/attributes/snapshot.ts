import { ArgumentError } from '@tenon/core'
import { CONSTANTS, isPlainObject, isRevoked, wrongType } from '@tenon/core/internal'
import { Attribute } from './attribute.ts'
import { toAttribute } from './encode-attributes.ts'

/** How many arrays and objects around a value are copied. Handlers get fewer. */
const DEEPEST = CONSTANTS.TN_XLA_DEEPEST + 1

/**
 * Copies a value of an attribute, or the attributes of a call. Each member and element is read once, so that getters cannot return
 * another value later. Other objects, and values that are nested too deep or in themselves, stay as they are.
 *
 * @param around the arrays and objects that contain the value.
 * @throws {ArgumentError} if a typed array cannot be an attribute, an array is too long, or a value is a revoked Proxy.
 */
export function snapshot(value: unknown, path = '', around: readonly unknown[] = []): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isRevoked(value)) throw wrongType(path === '' ? 'attrs' : `attribute ${path}`, 'a value that can be read', value)
  if (ArrayBuffer.isView(value)) return toAttribute(value, path).value
  if (around.length > DEEPEST || around.includes(value)) return value
  const within = [...around, value]
  if (Array.isArray(value)) return copyElements(value, path, within)
  if (!isPlainObject(value)) return value
  const prefix = path === '' ? '' : `${path}.`
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([name, member]) => [name, snapshot(member, prefix + name, within)]))
}

/** The longest array of JavaScript that can be an attribute. Typed arrays can be longer. */
const MOST_ELEMENTS = 2 ** 24

/** @throws {ArgumentError} if the array is too long. */
function copyElements(values: readonly unknown[], path: string, within: readonly unknown[]): unknown[] {
  const { length } = values
  if (length > MOST_ELEMENTS) {
    throw new ArgumentError(`attribute ${path} must have at most ${MOST_ELEMENTS} elements, got ${length}`, {
      hint: 'Pass a typed array, such as a Float32Array.',
      details: { path, expected: MOST_ELEMENTS, received: length },
    })
  }
  return Array.from({ length }, (_, i) => {
    const element = values[i]
    // The path takes more time than the copy of a number.
    return typeof element === 'object' ? snapshot(element, `${path}[${i}]`, within) : element
  })
}

/**
 * Whether later calls may use what was prepared for these snapshots. A pointer to memory would keep the memory open, and the
 * caller can change a value that was not copied.
 */
export function areKeepable(values: readonly unknown[]): boolean {
  for (let i = 0; i < values.length; i++) if (!isKeepable(values[i], 0)) return false
  return true
}

function isKeepable(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return true
  if (value instanceof Attribute) return value.memory === undefined
  if (depth > DEEPEST) return false
  if (Array.isArray(value)) return value.every((element) => isKeepable(element, depth + 1))
  return isPlainObject(value) && Object.values(value).every((member) => isKeepable(member, depth + 1))
}

/** Returns about how many bytes snapshots take, which {@link areKeepable}. */
export function byteSizeOf(values: readonly unknown[]): number {
  return values.reduce<number>((total, value) => total + byteSizeOfValue(value), 0)
}

function byteSizeOfValue(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (ArrayBuffer.isView(value)) return value.byteLength
  if (value instanceof Attribute) return value.bytes.length
  return byteSizeOf(Array.isArray(value) ? value : Object.values(value))
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
