import { Attribute } from './attribute.ts'
import { isDictionary, toAttribute, type AttributeDictionary } from './encode-attributes.ts'

type Kept = Attribute | string | boolean | bigint | Snapshot

/** An immutable copy of the attributes of one call. */
export type Snapshot = ReadonlyMap<string, Kept>

/** Copies attributes that were encoded without an error. */
export function snapshot(attributes: AttributeDictionary): Snapshot {
  return new Map(
    Object.entries(attributes).map(([name, value]): [string, Kept] => {
      if (isDictionary(value)) return [name, snapshot(value)]
      return [name, ArrayBuffer.isView(value) ? toAttribute(value, name) : value]
    }),
  )
}

/** Whether attributes equal a snapshot. A value that is not an attribute equals nothing. */
export function isSame(attributes: unknown, kept: Snapshot): boolean {
  if (!isDictionary(attributes)) return false
  const names = Object.keys(attributes)
  return names.length === kept.size && names.every((name) => isSameValue(attributes[name], kept.get(name)))
}

function isSameValue(value: unknown, kept: Kept | undefined): boolean {
  if (value === kept) return kept !== undefined
  if (typeof value !== 'object' || typeof kept !== 'object') return false
  if (!(kept instanceof Attribute)) return isSame(value, kept)
  if (value instanceof Attribute) return isSameAttribute(value, kept)
  return ArrayBuffer.isView(value) && isSameAttribute(toAttribute(value, ''), kept)
}

function isSameAttribute(a: Attribute, b: Attribute): boolean {
  if (a.kind !== b.kind || a.dtype !== b.dtype || a.length !== b.length || a.memory !== b.memory) return false
  const [left, right] = [a.bytes, b.bytes]
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}
