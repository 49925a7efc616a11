import type { BoundRecord, Member, MemberGroup, RecordLayout, ScalarKind, Type } from './model.ts'

/** Finds a struct or union by its name. */
export type FindRecord = (id: string) => BoundRecord | undefined

/** A member of a struct or union that is passed by value. */
export type ValueShape =
  | { readonly kind: 'scalar'; readonly as: ScalarKind | 'pointer' }
  | { readonly kind: 'array'; readonly of: ValueShape; readonly count: number }
  | { readonly kind: 'record'; readonly id: string }
  /** A struct or union without a name, whose members have offsets from its first one. */
  | { readonly kind: 'group'; readonly of: ValueMembers }

/** The members of a struct or union that is passed by value, in the order of the header. */
export interface ValueMembers {
  readonly kind: 'struct' | 'union'
  readonly members: readonly { readonly name: string; readonly byteOffset: number; readonly shape: ValueShape }[]
}

/** The members of structs, or the reasons, each found once: structs may contain each other many times over. */
const known = new WeakMap<RecordLayout, ValueMembers | string>()

/** The members of a struct or union that can be passed by value, or the reason why it cannot. */
export function valueMembersOf({ id, kind, layout }: BoundRecord, find: FindRecord): ValueMembers | string {
  if (!layout) return `the opaque type ${id} by value`
  let members = known.get(layout)
  if (members === undefined) {
    members = new GroupReader(id, kind, layout, find).read()
    known.set(layout, members)
  }
  return members
}

/** Puts the members of structs and unions without a name together again, which are members of the outer one in the model. */
class GroupReader {
  readonly #id: string
  readonly #kind: ValueMembers['kind']
  readonly #members: readonly Member[]
  readonly #groups: MemberGroup[]
  readonly #find: FindRecord
  #next = 0

  constructor(id: string, kind: ValueMembers['kind'], { members, groups }: RecordLayout, find: FindRecord) {
    this.#id = id
    this.#kind = kind
    this.#members = members
    this.#groups = groups.filter(({ count }) => count > 0)
    this.#find = find
  }

  /** The members, or the reason why one of them cannot be passed. */
  read(): ValueMembers | string {
    return this.#readUntil(this.#members.length, this.#kind, 0)
  }

  #readUntil(end: number, kind: ValueMembers['kind'], base: number): ValueMembers | string {
    const members: ValueMembers['members'][number][] = []
    while (this.#next < end) {
      const group = this.#groups[0]?.first === this.#next ? this.#groups.shift() : undefined
      // The members of a struct in a struct are like those of the outer one.
      if (group?.kind === 'struct' && kind === 'struct') continue
      const byteOffset = group ? firstOffset(this.#members, group) : undefined
      if (byteOffset === undefined) {
        const member = this.#members[this.#next++]!
        if (member.kind === 'bits') return `the ${this.#kind} ${this.#id} with bit-fields by value`
        const shape = this.#shapeOf(member.type)
        if (typeof shape === 'string') return shape
        members.push({ name: member.name, byteOffset: member.byteOffset - base, shape })
      } else {
        const of = this.#readUntil(group!.first + group!.count, group!.kind, byteOffset)
        if (typeof of === 'string') return of
        const name = `${group!.kind} at ${byteOffset - base}`
        // Two structs in one union begin at one offset.
        const same = members.filter((member) => member.name.startsWith(name)).length
        const unique = same === 0 ? name : `${name}, ${same + 1}`
        members.push({ name: unique, byteOffset: byteOffset - base, shape: { kind: 'group', of } })
      }
    }
    return { kind, members }
  }

  /** The shape of a type, or the reason why a struct with it cannot be passed. */
  #shapeOf(type: Type): ValueShape | string {
    const named = `the ${this.#kind} ${this.#id}`
    switch (type.kind) {
      case 'scalar':
      case 'enum':
        return { kind: 'scalar', as: type.as }
      case 'pointer':
        return { kind: 'scalar', as: 'pointer' }
      case 'array': {
        if (type.count === undefined) return `${named} with an array of any length by value`
        const of = this.#shapeOf(type.of)
        return typeof of === 'string' ? of : { kind: 'array', of, count: type.count }
      }
      case 'record': {
        const record = this.#find(type.id)
        if (!record?.layout) return `the opaque type ${type.id} by value`
        const members = valueMembersOf(record, this.#find)
        return typeof members === 'string' ? members : { kind: 'record', id: type.id }
      }
      default:
        return `${named} with ${'c' in type ? type.c : `a ${type.kind}`} by value`
    }
  }
}

/** The first byte of a group that a member has. Undefined for one with a bit-field. */
function firstOffset(members: readonly Member[], { first, count }: MemberGroup): number | undefined {
  const own = members.slice(first, first + count)
  const offsets = own.flatMap((member) => (member.kind === 'field' ? [member.byteOffset] : []))
  return offsets.length < own.length ? undefined : Math.min(...offsets)
}
