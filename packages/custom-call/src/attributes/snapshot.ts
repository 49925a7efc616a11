import { Attribute } from './attribute.ts'
import { isDictionary, toAttribute, type AttributeValue } from './encode-attributes.ts'

/** An immutable copy of the value of an attribute, or of the attributes of one call. */
export type Snapshot = Attribute | string | boolean | bigint | ReadonlyMap<string, Snapshot>

/** Copies a value that was encoded without an error. */
export function snapshot(value: AttributeValue): Snapshot {
  if (ArrayBuffer.isView(value)) return toAttribute(value, '')
  if (!isDictionary(value)) return value
  return new Map(Object.entries(value).map(([name, member]) => [name, snapshot(member)]))
}

/** Whether a value equals a snapshot. A value that is not an attribute equals nothing. */
export function isSame(value: unknown, kept: Snapshot | undefined): boolean {
  if (value === kept) return kept !== undefined
  if (typeof value !== 'object' || typeof kept !== 'object') return false
  if (kept instanceof Attribute) {
    if (value instanceof Attribute) return isSameAttribute(value, kept)
    return ArrayBuffer.isView(value) && isSameAttribute(toAttribute(value, ''), kept)
  }
  if (!isDictionary(value)) return false
  const names = Object.keys(value)
  return names.length === kept.size && names.every((name) => isSame(value[name], kept.get(name)))
}

function isSameAttribute(a: Attribute, b: Attribute): boolean {
  if (a.kind !== b.kind || a.dtype !== b.dtype || a.length !== b.length || a.memory !== b.memory) return false
  const [left, right] = [a.bytes, b.bytes]
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}
