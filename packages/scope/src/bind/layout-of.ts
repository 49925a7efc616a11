import type { ValueType } from '@tenon/core'
import { MemoryLayout } from '../layout/layouts.ts'
import type { StructLayout } from '../layout/group-layout.ts'
import type { Layout } from '../layout/memory-layout.ts'

/** A member's type: a scalar, a pointer, an array as `[count, type]`, or the layout of a struct. */
type MemberType = Exclude<ValueType, 'text'> | StructLayout | readonly [count: number, element: MemberType]

/** The offset and the type of each member, in order. */
export type MemberLayouts = Readonly<Record<string, readonly [byteOffset: number, type: MemberType]>>

interface SizedClass {
  readonly byteSize: number
  readonly byteAlignment: number
}

const layouts = new WeakMap<object, StructLayout>()

/** The layout of a class of structs, made when it is first used. Gaps between members are padding. */
export function layoutOf(struct: SizedClass, members: () => MemberLayouts): StructLayout {
  let layout = layouts.get(struct)
  if (!layout) {
    layout = makeLayout(struct, members())
    layouts.set(struct, layout)
  }
  return layout
}

function makeLayout({ byteSize, byteAlignment }: SizedClass, members: MemberLayouts): StructLayout {
  const parts: Record<string, Layout> = {}
  let end = 0
  const pad = (to: number): void => {
    if (to > end) parts[`padding at ${end}`] = MemoryLayout.padding(to - end)
    end = to
  }
  for (const [name, [byteOffset, type]] of Object.entries(members)) {
    pad(byteOffset)
    const layout = memberLayout(type, byteOffset)
    parts[name] = layout
    end += layout.byteSize ?? 0
  }
  pad(byteSize)
  return MemoryLayout.struct(parts).withByteAlignment(byteAlignment)
}

function memberLayout(type: MemberType, byteOffset: number): Layout {
  if (Array.isArray(type)) return MemoryLayout.sequence(memberLayout(type[1], byteOffset), type[0])
  const layout: Layout =
    typeof type === 'string' ? (type === 'pointer' ? MemoryLayout.address : MemoryLayout[type]) : (type as StructLayout)
  return byteOffset % layout.byteAlignment === 0 ? layout : layout.withByteAlignment(1)
}
