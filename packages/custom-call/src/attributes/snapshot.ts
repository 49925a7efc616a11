import { CONSTANTS } from '@tenon/core/internal'
import { Attribute } from './attribute.ts'
import { isDictionary, toAttribute, type AttributeDictionary } from './encode-attributes.ts'

/**
 * Copies a value of an attribute, or the attributes of a call. Each member is read once, so that getters cannot return another
 * value later. What is not a value of an attribute stays as it is, and encoding it throws.
 *
 * @throws {ArgumentError} if a typed array cannot be an attribute.
 */
export function snapshot(value: unknown, path = '', depth = 0): unknown {
  if (ArrayBuffer.isView(value)) return toAttribute(value, path)
  if (!isDictionary(value) || depth > CONSTANTS.TN_XLA_DEEPEST + 1) return value
  const prefix = path === '' ? '' : `${path}.`
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([name, member]) => [name, snapshot(member, prefix + name, depth + 1)]))
}

/** Whether a value equals a snapshot. A value that is not an attribute equals nothing. */
export function isSame(value: unknown, kept: unknown): boolean {
  if (value === kept) return kept !== undefined
  if (typeof value !== 'object' || typeof kept !== 'object' || kept === null) return false
  if (kept instanceof Attribute) {
    if (value instanceof Attribute) return isSameAttribute(value, kept)
    return ArrayBuffer.isView(value) && isSameAttribute(toAttribute(value, ''), kept)
  }
  return isDictionary(value) && isSameDictionary(value, kept as AttributeDictionary)
}

/** Loops without closures, because every call as a function compares its attributes. */
function isSameDictionary(value: AttributeDictionary, kept: AttributeDictionary): boolean {
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
  const [left, right] = [a.bytes, b.bytes]
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}
