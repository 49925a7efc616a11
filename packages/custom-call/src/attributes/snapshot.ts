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
  const copy = Object.create(null) as Record<string, unknown>
  for (const [name, member] of Object.entries(value)) {
    copy[name] = snapshot(member, path === '' ? name : `${path}.${name}`, depth + 1)
  }
  return copy
}

/** Whether a value equals a snapshot. A value that is not an attribute equals nothing. */
export function isSame(value: unknown, kept: unknown): boolean {
  if (value === kept) return kept !== undefined
  if (typeof value !== 'object' || typeof kept !== 'object' || kept === null) return false
  if (kept instanceof Attribute) {
    if (value instanceof Attribute) return isSameAttribute(value, kept)
    return ArrayBuffer.isView(value) && isSameAttribute(toAttribute(value, ''), kept)
  }
  if (!isDictionary(value)) return false
  const [names, expected] = [Object.keys(value), kept as AttributeDictionary]
  return names.length === Object.keys(expected).length && names.every((name) => isSame(value[name], expected[name]))
}

function isSameAttribute(a: Attribute, b: Attribute): boolean {
  if (a.kind !== b.kind || a.dtype !== b.dtype || a.length !== b.length || a.memory !== b.memory) return false
  const [left, right] = [a.bytes, b.bytes]
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}
