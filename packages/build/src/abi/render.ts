import { ToolError } from '../tool-error.ts'
import type { SharedTarget } from '../targets.ts'
import type { Layout } from './layout.ts'
import { SIZES, type CType, type FunctionDeclaration, type Header } from './parse-header.ts'
import { headerError } from './tokens.ts'

const WIDTH = 120
const NOTE = 'Generated from the C headers by native-build: do not edit.'

const comment = (text: string): string[] => ['/**', ` * ${text}`, ' *', ` * ${NOTE}`, ' */']

/** Renders the TypeScript table of functions: the result and the parameters of each, by library and name. */
export function renderFunctions(headers: readonly Header[], libraries: readonly SharedTarget[]): string {
  const pointers = new Set(headers.flatMap((header) => [...header.pointers]))
  const rows = new Map<string, string[]>(libraries.map(({ name }) => [name, []]))
  for (const { path, functions } of headers) {
    for (const declaration of functions) {
      const { name, result, parameters, line } = declaration
      const library = libraryOf(name, libraries)
      if (library === undefined) throw headerError(path, line, `no library exports ${name}`)
      const typeOf = (type: CType): string => `'${driverType(type, pointers, path, declaration)}'`
      rows.get(library)!.push(...row(name, typeOf(result), parameters.map(typeOf)))
    }
  }
  const tables = [...rows]
    .filter(([, lines]) => lines.length > 0)
    .flatMap(([library, lines]) => [`  ${library}: {`, ...lines, '  },'])
  return [
    ...comment('The functions of each C library: the result, then the parameters.'),
    'export const FUNCTIONS = {',
    ...tables,
    '} as const',
    '',
  ].join('\n')
}

function row(name: string, result: string, parameters: readonly string[]): string[] {
  const list = `[${parameters.join(', ')}]`
  const line = `    ${name}: [${result}, ${list}],`
  if (line.length <= WIDTH) return [line]
  return [`    ${name}: [`, `      ${result},`, `      ${list},`, '    ],']
}

/** The library that exports a function: the one whose `exports` names it most exactly. */
function libraryOf(name: string, libraries: readonly SharedTarget[]): string | undefined {
  let [best, found]: [number, string | undefined] = [0, undefined]
  for (const library of libraries) {
    for (const pattern of library.exports ?? []) {
      if (name === pattern) return library.name
      const isMatch = pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1))
      if (isMatch && pattern.length > best) [best, found] = [pattern.length, library.name]
    }
  }
  return found
}

/** The name that the FFI driver has for a type. Sizes and pointers are addresses for it. */
function driverType(
  type: CType,
  pointers: ReadonlySet<string>,
  path: string,
  { name, line }: FunctionDeclaration,
): string {
  if (type === 'pointer' || type.name === 'size_t' || pointers.has(type.name)) return 'uintptr_t'
  if (type.name === 'char') return 'int8_t'
  if (type.name === 'int') return 'int32_t'
  if (type.name === 'void' || type.name in SIZES) return type.name
  throw headerError(path, line, `${name} must take and return numbers and pointers, got ${type.name}`)
}

/** Renders the TypeScript tables of layouts and constants. */
export function renderLayouts(layouts: ReadonlyMap<string, Layout>, constants: ReadonlyMap<string, number>): string {
  const structs = [...layouts].flatMap(([name, { size, offsets }]) => {
    const entries = Object.entries(offsets).map(([member, offset]) => `${member}: ${offset}`)
    const line = `    offsets: { ${entries.join(', ')} },`
    const lines =
      line.length <= WIDTH ? [line] : ['    offsets: {', ...entries.map((entry) => `      ${entry},`), '    },']
    return [`  ${name.replace('struct ', '')}: {`, `    size: ${size},`, ...lines, '  },']
  })
  return [
    ...comment('The sizes of C structs and the offsets of their members, in bytes.'),
    'export const LAYOUTS = {',
    ...structs,
    '} as const',
    '',
    ...comment('The constants of C.'),
    'export const CONSTANTS = {',
    ...[...constants].map(([name, value]) => `  ${name}: ${value},`),
    '} as const',
    '',
  ].join('\n')
}

/** Renders the C file that fails to compile if a layout or a constant of the tables is wrong. */
export function renderProof(
  includes: readonly string[],
  layouts: ReadonlyMap<string, Layout>,
  constants: ReadonlyMap<string, number>,
): string {
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

/** Merges the constants of headers. @throws {ToolError} if two headers define a name. */
export function mergeConstants(headers: readonly Header[]): Map<string, number> {
  const merged = new Map<string, number>()
  for (const { path, constants } of headers) {
    for (const [name, value] of constants) {
      if (merged.has(name)) throw new ToolError(`${path}: the constant ${name} is defined in two headers`)
      merged.set(name, value)
    }
  }
  return merged
}
