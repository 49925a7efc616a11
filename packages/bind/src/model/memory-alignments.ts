import type { BoundRecord, Type } from './model.ts'

/**
 * The alignment that the memory of each struct or union has at least. It is less than the compiler says for one that lies in a packed struct.
 */
export function memoryAlignments(records: readonly BoundRecord[]): ReadonlyMap<string, number> {
  const byId = new Map(records.map((record) => [record.id, record]))
  const alignments = new Map(records.map(({ id, layout }) => [id, layout?.byteAlignment ?? 1]))
  const changed = records.map(({ id }) => id)
  for (let id = changed.pop(); id !== undefined; id = changed.pop()) {
    for (const member of byId.get(id)?.layout?.members ?? []) {
      const inner = member.kind === 'field' ? recordIn(member.type) : undefined
      if (member.kind !== 'field' || inner === undefined) continue
      const place = member.byteOffset === 0 ? Infinity : member.byteOffset & -member.byteOffset
      const least = Math.min(alignments.get(inner) ?? 1, alignments.get(id)!, place)
      if (least === alignments.get(inner)) continue
      alignments.set(inner, least)
      changed.push(inner)
    }
  }
  return alignments
}

/** The struct or union of which a member consists, also in an array. */
function recordIn(type: Type): string | undefined {
  if (type.kind === 'array') return recordIn(type.of)
  return type.kind === 'record' ? type.id : undefined
}
