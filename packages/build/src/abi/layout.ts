import { SIZES, type Aggregate, type CType, type Header, type Member } from './parse-header.ts'
import { headerError } from './tokens.ts'

/** The layout of a struct, in bytes. */
export interface Layout {
  readonly size: number
  readonly alignment: number
  /** The offset of each member, members of anonymous unions included. */
  readonly offsets: Readonly<Record<string, number>>
}

const POINTER: Layout = { size: 8, alignment: 8, offsets: {} }

/**
 * Computes the layouts of all structs of some headers, as the 64-bit ABIs of Linux, macOS and Windows have them.
 *
 * @throws {ToolError} for a member whose type no header declares.
 */
export function layOut(headers: readonly Header[]): Map<string, Layout> {
  const pointers = new Set(headers.flatMap((header) => [...header.pointers]))
  const layouts = new Map<string, Layout>()
  for (const { path, structs } of headers) {
    for (const [name, struct] of structs) layouts.set(name, layOutAggregate(path, struct, layouts, pointers))
  }
  return layouts
}

function layOutAggregate(
  path: string,
  { kind, members }: Aggregate,
  layouts: ReadonlyMap<string, Layout>,
  pointers: ReadonlySet<string>,
): Layout {
  const offsets: Record<string, number> = {}
  let [end, alignment] = [0, 1]
  const layoutOf = (type: CType, { line }: Member): Layout => {
    if (type === 'pointer' || pointers.has(type.name)) return POINTER
    const size = SIZES[type.name]
    const known = size === undefined ? layouts.get(type.name) : { size, alignment: size, offsets: {} }
    if (known !== undefined) return known
    throw headerError(path, line, `the layout of ${type.name} is not known`)
  }
  for (const member of members) {
    const { name, type, count = 1 } = member
    const layout =
      typeof type === 'object' && 'kind' in type
        ? layOutAggregate(path, type, layouts, pointers)
        : layoutOf(type, member)
    const offset = kind === 'union' ? 0 : roundUp(end, layout.alignment)
    if (name !== undefined) offsets[name] = offset
    else for (const [inner, at] of Object.entries(layout.offsets)) offsets[inner] = offset + at
    end = Math.max(end, offset + layout.size * count)
    alignment = Math.max(alignment, layout.alignment)
  }
  return { size: roundUp(end, alignment), alignment, offsets }
}

const roundUp = (value: number, alignment: number): number => Math.ceil(value / alignment) * alignment
