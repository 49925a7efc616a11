import type { BoundRecord, Type } from '../model/model.ts'
import { identifier } from './identifiers.ts'
import { sizeOf } from './types.ts'

/** The texts of layouts, each written once: structs may contain each other many times over. */
const texts = new WeakMap<BoundRecord, string>()

/** The layout of a struct that can be passed by value: its members with their offsets. */
export function structLayout(record: BoundRecord, records: ReadonlyMap<string, BoundRecord>): string | undefined {
  let text = texts.get(record)
  if (text === undefined) {
    text = writeLayout(record, records) ?? ''
    texts.set(record, text)
  }
  return text === '' ? undefined : text
}

function writeLayout({ kind, layout }: BoundRecord, records: ReadonlyMap<string, BoundRecord>): string | undefined {
  if (kind === 'union' || !layout) return undefined
  const members: string[] = []
  let end = 0
  for (const member of layout.members) {
    if (member.kind === 'bits' || member.byteOffset < end) return undefined
    const text = layoutExpression(member.type, records)
    const size = sizeOf(member.type, records)
    if (text === undefined || size === undefined) return undefined
    members.push(`${JSON.stringify(member.name)}: [${member.byteOffset}, ${text}]`)
    end = member.byteOffset + size
  }
  return `{ ${members.join(', ')} }`
}

function layoutExpression(type: Type, records: ReadonlyMap<string, BoundRecord>): string | undefined {
  if (type.kind === 'scalar' || type.kind === 'enum') return `'${type.as}'`
  if (type.kind === 'pointer') return `'pointer'`
  if (type.kind === 'array' && type.count !== undefined) {
    const element = layoutExpression(type.of, records)
    return element === undefined ? undefined : `[${type.count}, ${element}]`
  }
  if (type.kind !== 'record') return undefined
  const record = records.get(type.id)
  return record && structLayout(record, records) !== undefined ? `${identifier(type.id)}.layout` : undefined
}
