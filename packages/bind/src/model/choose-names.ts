import { namedMembers } from '../probe/layouts.ts'
import type { CType, EnumDeclaration, RecordDeclaration } from '../read/c-types.ts'
import type { Declarations } from '../read/declarations.ts'

type Declaration = RecordDeclaration | EnumDeclaration

/**
 * The names of structs, unions and enumerations in a module: that of a typedef, else the tag, else the path of the member with this type,
 * such as `SDL_Event_key`. A name that a function or constant has gets a final `_`, as `stat_` beside the function `stat()`.
 */
export function chooseNames(
  { typedefs, records, enums, variables }: Declarations,
  taken: ReadonlySet<string>,
): Map<Declaration, string> {
  const names = new Map<Declaration, string>()
  const used = new Set(taken)
  const give = (declaration: Declaration, wanted: string): void => {
    if (names.has(declaration)) return
    let name = wanted
    while (used.has(name)) name += '_'
    used.add(name)
    names.set(declaration, name)
    if ('keyword' in declaration)
      for (const member of namedMembers(declaration.members ?? [])) giveInner(member.type, `${name}_${member.name}`)
  }
  const giveInner = (type: CType, wanted: string): void => {
    if (type.kind === 'pointer') giveInner(type.to, wanted)
    else if (type.kind === 'array') giveInner(type.of, wanted)
    else if (type.kind === 'record' && type.record.tag === undefined) give(type.record, wanted)
    else if (type.kind === 'enum' && type.enumeration.tag === undefined) give(type.enumeration, wanted)
  }
  for (const { name, type } of typedefs.values()) {
    if (type.kind === 'record') give(type.record, name)
    else if (type.kind === 'enum') give(type.enumeration, name)
  }
  for (const declaration of [...records, ...enums])
    if (declaration.tag !== undefined) give(declaration, declaration.tag)
  for (const { name, type } of variables.values()) giveInner(type, name)
  return names
}
