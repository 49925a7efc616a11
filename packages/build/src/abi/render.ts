import type { NativeTarget } from '../targets.ts'
import { matches } from '../names.ts'
import {
  type CType,
  type Declarations,
  type FunctionDeclaration,
  isPointer,
  type Member,
  POINTER,
  SIZES,
  TEXT,
} from './parse-headers.ts'
import { headerError } from './tokens.ts'

const WIDTH = 120
const NOTE = 'Generated from the C headers by tenon-build. Do not edit.'

export function renderTable(summary: string, name: string, lines: readonly string[]): string {
  return [`/**\n * ${summary}\n *\n * ${NOTE}\n */`, `export const ${name} = {`, ...lines, '} as const', ''].join('\n')
}

export function renderFunctions(functions: readonly FunctionDeclaration[], targets: readonly NativeTarget[]): string {
  const libraries = new Map<string, string[]>(targets.map(({ name }) => [name, []]))
  for (const declaration of functions) {
    const { name, result, parameters, place } = declaration
    const library = libraries.get(libraryOf(name, targets) ?? '')
    if (library === undefined) throw headerError(place, `no library exports ${name}`)
    const [first, ...others] = [result, ...parameters].map((type) => `'${passedType(type, declaration)}'`)
    const list = `[${others.join(', ')}]`
    const line = `    ${name}: [${first}, ${list}],`
    library.push(...(line.length <= WIDTH ? [line] : [`    ${name}: [`, `      ${first},`, `      ${list},`, '    ],']))
  }
  const tables = [...libraries].flatMap(([library, lines]) =>
    lines.length === 0 ? [] : [`  ${library}: {`, ...lines, '  },'],
  )
  return renderTable('The functions of each C library, each with its result and its parameters.', 'FUNCTIONS', tables)
}

/** Returns the library whose `exports` have the most specific match for a function's name. */
function libraryOf(name: string, targets: readonly NativeTarget[]): string | undefined {
  let [best, found]: [number, string | undefined] = [0, undefined]
  for (const target of targets) {
    for (const pattern of (target.kind === 'shared' && target.exports) || []) {
      const exactness = pattern === name ? Infinity : pattern.length
      if (matches(pattern, name) && exactness > best) [best, found] = [exactness, target.name]
    }
  }
  return found
}

/** Returns the type of a parameter or result, with a size in its name. */
function passedType(type: CType, { name, place }: FunctionDeclaration): string {
  if (type === 'char') return 'int8_t'
  if (type === 'int') return 'int32_t'
  if (type === 'void' || isPointer(type) || type in SIZES) return type
  throw headerError(place, `${name} must take and return numbers and pointers, got ${type}`)
}

export function renderLayouts({ layouts, constants }: Declarations): string {
  const structs = [...layouts].flatMap(([name, { size, offsets }]) => {
    const entries = Object.entries(offsets).map(([member, offset]) => `${member}: ${offset}`)
    const line = `    offsets: { ${entries.join(', ')} },`
    const lines =
      line.length <= WIDTH ? [line] : ['    offsets: {', ...entries.map((entry) => `      ${entry},`), '    },']
    return [`  ${tagless(name)}: {`, `    size: ${size},`, ...lines, '  },']
  })
  const values = [...constants].map(([name, value]) => `  ${name}: ${value},`)
  return [
    renderTable('The sizes of C structs and the offsets of their members, in bytes.', 'LAYOUTS', structs),
    renderTable('The constants that the C headers define.', 'CONSTANTS', values),
  ].join('\n')
}

/** Renders the types of the members of structs, in their order. */
export function renderStructs({ layouts }: Declarations): string {
  const structs = [...layouts].flatMap(([name, { members }]) => [
    `  ${tagless(name)}: {`,
    ...members.flatMap((member) => memberLines(member, '    ')),
    '  },',
  ])
  const summary =
    'The members of C structs: their types, and the lengths of arrays. Anonymous members are named after their offset.'
  return renderTable(summary, 'STRUCTS', structs)
}

const tagless = (name: string): string => name.replace('struct ', '')

function memberLines(member: Member, indent: string): string[] {
  if ('kind' in member) {
    const { kind, offset, members } = member
    const lines = members.flatMap((inner) => memberLines(inner, `${indent}    `))
    return [`${indent}${kind}_${offset}: {`, `${indent}  ${kind}: {`, ...lines, `${indent}  },`, `${indent}},`]
  }
  const { name, count } = member
  // Characters of a member need not have a terminator.
  const type = `'${member.type === TEXT ? POINTER : tagless(member.type)}'`
  return [`${indent}${name}: ${count === undefined ? type : `[${type}, ${count}]`},`]
}

/** Renders a C file that does not compile if a layout or a constant in the tables is wrong. */
export function renderProof(includes: readonly string[], { layouts, constants }: Declarations): string {
  const structs = [...layouts].flatMap(([name, { size, offsets }]) => [
    `SIZE(${name}, ${size})`,
    ...Object.entries(offsets).map(([member, offset]) => `OFFSET(${name}, ${member}, ${offset})`),
  ])
  return [
    '/* Proves the layouts and constants that TypeScript relies on.',
    ` * ${NOTE} */`,
    '#include <stddef.h>',
    '',
    ...includes.map((include) => `#include "${include}"`),
    '',
    '#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "sizeof " #type);',
    '#define OFFSET(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type "." #member);',
    '#define VALUE(name, value) _Static_assert((name) == (value), #name);',
    '',
    ...structs,
    '',
    ...[...constants].map(([name, value]) => `VALUE(${name}, ${value})`),
    '',
  ].join('\n')
}
