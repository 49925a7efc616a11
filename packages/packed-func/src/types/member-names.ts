import { NativeObject } from '../objects/native-object.ts'
import { readTypeSchema } from '../typed/type-schema.ts'
import { INIT } from './type-table.ts'

/** A field or method of a type, as its library registers it. */
export interface Nameable {
  readonly name: string
  /** The `type_schema`, which is JSON. */
  readonly type?: string | undefined
}

/** A member and its names in JavaScript. */
export interface NamedMember<Member> {
  readonly member: Member
  /** The property with the name that the library registers, or with `_` behind it where JavaScript or this package has the name. */
  readonly name: string
  /** The property with the name in camelCase, if there is another one. */
  readonly camelName: string | undefined
}

/** The names that classes cannot have as members, besides those of `NativeObject` and `Object.prototype`. */
const taken: ReadonlySet<string> = new Set(['constructor', 'then', '__proto__'])
const takenStatic: ReadonlySet<string> = new Set(
  'name length prototype typeKey caller arguments then __proto__'.split(' '),
)

const isTaken = (name: string): boolean => taken.has(name) || name in NativeObject.prototype
const isTakenStatic = (name: string): boolean => takenStatic.has(name) || Object.hasOwn(NativeObject, name)

/** The name of the class for a type key: its last part, with `_` for characters that a name of JavaScript cannot have. */
export function classNameOf(key: string): string {
  const valid = key.slice(key.lastIndexOf('.') + 1).replaceAll(/[^\p{ID_Continue}$]/gu, '_')
  return /^[\p{ID_Start}$_]/u.test(valid) ? valid : `_${valid}`
}

/** Drops every `_` between letters and digits, and writes the next character in upper case. */
const inCamelCase = (name: string): string =>
  name.replaceAll(/(?<=[\p{L}\p{N}])_([\p{L}\p{N}])/gu, (_, next: string) => next.toUpperCase())

/**
 * Names the instance members of a type, or its static ones. Of members with the same name, the first one counts, and
 * `__ffi_init__` is no member.
 */
export function nameMembers<Member extends Nameable>(
  members: readonly Member[],
  isStatic: boolean,
): NamedMember<Member>[] {
  const refuses = isStatic ? isTakenStatic : isTaken
  const first = new Map<string, Member>()
  for (const member of members) if (member.name !== INIT && !first.has(member.name)) first.set(member.name, member)
  const used = new Set(first.keys())
  const named = [...first.values()].map((member) => {
    let { name } = member
    if (refuses(name)) {
      do name += '_'
      while (used.has(name))
      used.add(name)
    }
    return { member, name }
  })
  return named.map(({ member, name }) => {
    const isText = !isStatic && member.name === 'to_string' && takesOnlyTheObject(member)
    const camelName = isText ? 'toString' : inCamelCase(member.name)
    if (camelName === name || used.has(camelName) || (!isText && refuses(camelName)))
      return { member, name, camelName: undefined }
    used.add(camelName)
    return { member, name, camelName }
  })
}

function takesOnlyTheObject({ type }: Nameable): boolean {
  return type !== undefined && readTypeSchema(type)?.args?.length === 2
}
