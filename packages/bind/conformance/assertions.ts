import type { BoundRecord, Model, Type } from '../src/model/model.ts'
import type { FunctionDeclaration } from '../src/read/c-types.ts'
import { declare, UnnamedType } from '../src/write/declare.ts'
import { sizeOf } from '../src/write/types.ts'

const assertion = (condition: string): string => `_Static_assert(${condition}, ${JSON.stringify(condition)});`

/** C code that compiles only if every layout, constant, enumerator and size of a model is what the compiler says. */
export function assertionsOf({ records, constants, variables }: Model): string[] {
  const lines: string[] = []
  const byId = new Map(records.map((record) => [record.id, record]))
  for (const { c, layout } of records) {
    if (!layout) continue
    lines.push(assertion(`sizeof(${c}) == ${layout.byteSize}`), assertion(`_Alignof(${c}) == ${layout.byteAlignment}`))
    for (const member of layout.members) {
      // A macro with the name of a member would replace it here.
      if (member.kind === 'field')
        lines.push(
          `#ifndef ${member.name}`,
          assertion(`__builtin_offsetof(${c}, ${member.name}) == ${member.byteOffset}`),
          ...memberAssertions(`(((${c} *)0)->${member.name})`, member.type, byId),
          '#endif',
        )
    }
  }
  for (const { name, constant } of constants) {
    if (constant.kind === 'integer') {
      const value = constant.value < 0n ? `(-${-constant.value - 1n}LL - 1)` : `${constant.value}ULL`
      lines.push(assertion(`(${name}) == ${value}`))
    } else if (constant.kind === 'text')
      lines.push(assertion(`sizeof(${name}) == ${new TextEncoder().encode(constant.value).length + 1}`))
  }
  for (const { name, byteSize } of variables) lines.push(assertion(`sizeof(${name}) == ${byteSize}`))
  return lines
}

/** The size of a member, and its sign. */
function memberAssertions(member: string, type: Type, records: ReadonlyMap<string, BoundRecord>): string[] {
  const size = sizeOf(type, records)
  const isInteger = (type.kind === 'scalar' || type.kind === 'enum') && !type.as.startsWith('float')
  return [
    ...(size === undefined ? [] : [assertion(`sizeof${member} == ${size}`)]),
    ...(isInteger
      ? [assertion(`((__typeof__${member})-1 < (__typeof__${member})1) == ${type.as.startsWith('int') ? 1 : 0}`)]
      : []),
  ]
}

/**
 * Declares a function again with the types that were read. The compiler refuses it if they are not those of the header. Undefined for types
 * that have no name.
 */
export function declarationOf({ name, type }: FunctionDeclaration): string | undefined {
  try {
    return `extern ${declare(type, `(${name})`)};`
  } catch (error) {
    if (error instanceof UnnamedType) return undefined
    throw error
  }
}
