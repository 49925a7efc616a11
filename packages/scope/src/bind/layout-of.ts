import type { ValueType } from '@tenon/core'
import { GroupLayout, type StructLayout, UnionLayout } from '../layout/group-layout.ts'
import { MemoryLayout } from '../layout/layouts.ts'
import { type Layout, sizeOf } from '../layout/memory-layout.ts'
import { SequenceLayout } from '../layout/sequence-layout.ts'

/** The offset and the type of each member, in order. */
type Members = Readonly<Record<string, readonly [byteOffset: number, type: MemberType]>>

/** The members of a union, or of a struct without a name. */
type Group = { readonly union: Members } | { readonly struct: Members }

/** A member's type: a scalar, a pointer, an array as `[count, type]`, the layout of a struct or union, or the members of one without a name. */
type MemberType =
  | Exclude<ValueType, 'text'>
  | StructLayout
  | UnionLayout
  | Group
  | readonly [count: number, element: MemberType]

/** The members of a struct, or of a union. */
export type MemberLayouts = Members | Group

/** A class of structs or unions with its size and alignment in bytes. */
export interface SizedClass {
  readonly byteSize: number
  readonly byteAlignment: number
}

const layouts = new WeakMap<object, GroupLayout>()

/** The layout of a class of structs or unions, made when it is first used. Gaps between members are padding. */
export function layoutOf(struct: SizedClass, members: () => MemberLayouts): GroupLayout {
  let layout = layouts.get(struct)
  if (!layout) {
    const { byteSize, byteAlignment } = struct
    layout = groupOf(members(), 0, byteAlignment, byteSize).withByteAlignment(byteAlignment)
    layouts.set(struct, layout)
  }
  return layout
}

/** No member of C has one of these names. */
const isUnion = (group: MemberLayouts): group is { readonly union: Members } => 'union' in group
const isStruct = (group: MemberLayouts): group is { readonly struct: Members } => 'struct' in group

/**
 * @param start the offset of the group in its struct. @param alignment that of the struct: no member has a larger one.
 * @param byteSize that of the group. Undefined for one without a name, which ends with its last member.
 */
function groupOf(group: MemberLayouts, start: number, alignment: number, byteSize?: number): GroupLayout {
  const isOfUnion = isUnion(group)
  const members = isOfUnion ? group.union : isStruct(group) ? group.struct : group
  const parts: Record<string, Layout> = {}
  let end = 0
  for (const [name, [byteOffset, type]] of Object.entries(members)) {
    const layout = memberLayout(type, start + byteOffset, alignment)
    if (isOfUnion) {
      const isFirst = byteOffset === 0
      parts[name] = isFirst
        ? layout
        : MemoryLayout.struct({ padding: MemoryLayout.padding(byteOffset), [name]: layout })
      end = Math.max(end, byteOffset + sizeOf(layout))
    } else {
      if (byteOffset > end) parts[`padding at ${end}`] = MemoryLayout.padding(byteOffset - end)
      parts[name] = layout
      end = byteOffset + sizeOf(layout)
    }
  }
  if (byteSize !== undefined && byteSize > end)
    parts[`padding at ${end}`] = MemoryLayout.padding(isOfUnion ? byteSize : byteSize - end)
  return isOfUnion ? MemoryLayout.union(parts) : MemoryLayout.struct(parts)
}

function memberLayout(type: MemberType, byteOffset: number, alignment: number): Layout {
  if (Array.isArray(type)) return MemoryLayout.sequence(memberLayout(type[1], byteOffset, alignment), type[0])
  // The size of a group without a name is not known, and it must not have padding behind its last member.
  if (typeof type === 'object' && !(type instanceof GroupLayout)) return groupOf(type as Group, byteOffset, 1)
  const layout: Layout =
    typeof type === 'string' ? (type === 'pointer' ? MemoryLayout.address : MemoryLayout[type]) : (type as GroupLayout)
  const isAligned = byteOffset % layout.byteAlignment === 0 && layout.byteAlignment <= alignment
  return isAligned ? layout : unaligned(layout)
}

/** A layout at any offset, as in packed structs. */
function unaligned(layout: Layout): Layout {
  if (layout instanceof SequenceLayout) return MemoryLayout.sequence(unaligned(layout.element), layout.elementCount)
  if (!(layout instanceof GroupLayout)) return layout.withByteAlignment(1)
  const parts = Object.fromEntries(layout.members.map((member) => [member.name, unaligned(member.layout)]))
  return layout instanceof UnionLayout ? MemoryLayout.union(parts) : MemoryLayout.struct(parts)
}
