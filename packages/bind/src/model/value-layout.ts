import type { BoundRecord, RecordLayout, ScalarKind, Type } from './model.ts'
import { scalarSizes } from './scalar-sizes.ts'

/** Finds a struct or union by its name. */
export type FindRecord = (id: string) => BoundRecord | undefined

/** A member of a struct that is passed by value. */
export type ValueShape =
  | { readonly kind: 'scalar'; readonly as: ScalarKind | 'pointer'; readonly byteSize: number }
  | { readonly kind: 'array'; readonly of: ValueShape; readonly count: number; readonly byteSize: number }
  | { readonly kind: 'struct'; readonly id: string; readonly byteSize: number }

/** The members of a struct that is passed by value, in the order of their offsets. */
export type ValueMembers = readonly { readonly name: string; readonly byteOffset: number; readonly shape: ValueShape }[]

/** The members of structs, or the reasons, each found once: structs may contain each other many times over. */
const known = new WeakMap<RecordLayout, ValueMembers | string>()

/** The members of a struct that can be passed by value, or the reason why it cannot. */
export function valueMembersOf({ id, kind, layout }: BoundRecord, find: FindRecord): ValueMembers | string {
  if (!layout) return `the opaque type ${id} by value`
  let members = known.get(layout)
  if (members === undefined) {
    members = kind === 'union' ? `${id} with a union by value` : findMembers(id, layout, find)
    known.set(layout, members)
  }
  return members
}

function findMembers(id: string, layout: RecordLayout, find: FindRecord): ValueMembers | string {
  const found: ValueMembers[number][] = []
  let end = 0
  for (const member of layout.members) {
    if (member.kind === 'bits') return `the struct ${id} with bit-fields by value`
    const { name, byteOffset, type } = member
    if (byteOffset < end) return `${id} with a union by value`
    const shape = shapeOf(type, id, find)
    if (typeof shape === 'string') return shape
    found.push({ name, byteOffset, shape })
    end = byteOffset + shape.byteSize
  }
  return found
}

/** The shape of a type in a struct, or the reason why the struct cannot be passed. */
function shapeOf(type: Type, id: string, find: FindRecord): ValueShape | string {
  switch (type.kind) {
    case 'scalar':
    case 'enum':
      return { kind: 'scalar', as: type.as, byteSize: scalarSizes[type.as] }
    case 'pointer':
      return { kind: 'scalar', as: 'pointer', byteSize: 8 }
    case 'array': {
      if (type.count === undefined) return `the struct ${id} with an array of any length by value`
      const of = shapeOf(type.of, id, find)
      if (typeof of === 'string') return of
      return { kind: 'array', of, count: type.count, byteSize: of.byteSize * type.count }
    }
    case 'record': {
      const record = find(type.id)
      if (!record?.layout) return `the opaque type ${type.id} by value`
      const members = valueMembersOf(record, find)
      return typeof members === 'string' ? members : { kind: 'struct', id: type.id, byteSize: record.layout.byteSize }
    }
    default:
      return `the struct ${id} with ${'c' in type ? type.c : `a ${type.kind}`} by value`
  }
}
