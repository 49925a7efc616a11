import { readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

import { ToolError } from '@tenon/build'
import { type AbiTables, matches, type NativeTarget, renderTable } from '@tenon/build/internal'
import type { BoundConstant, BoundFunction, BoundRecord, Member, Model, RefusalReason, Type } from '../model/model.ts'
import { readModel } from '../model/read-model.ts'
import type { Place } from '../read/c-types.ts'

const WIDTH = 120
const POINTER = 'void *'
/** A pointer to characters that are not written. */
const TEXT = 'const char *'

/** The types that functions and structs have by value: those whose size is the same on all 64-bit systems. */
const FIXED = new Set(
  'bool char int float double size_t int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t'.split(' '),
)

/** Declarations of headers that no table needs. */
const NOT_IN_TABLES: ReadonlySet<RefusalReason> = new Set([
  'inline function',
  'function-like macro',
  'reserved name',
  'not an expression',
])

/**
 * Reads the headers of a package's libraries with the compiler of this machine, and renders the tables of their functions, structs and
 * constants.
 *
 * @param directory of the package
 * @returns the text of each file by its path in the package
 * @throws {ToolError} with its line, for a declaration whose types are not of the same size everywhere, or that the tables cannot express
 */
export async function renderAbi(
  abi: AbiTables,
  targets: readonly NativeTarget[],
  directory: string,
): Promise<Record<string, string>> {
  const includes = new Set(targets.flatMap((target) => (target.kind === 'shared' ? (target.includes ?? []) : [])))
  const model = await readModel(
    abi.headers.map(({ source }) => join(directory, source)),
    { flags: [...includes].flatMap((include) => ['-I', join(directory, include)]) },
  )
  const tables = new AbiModel(model, abi, directory)
  return {
    [abi.functions]: renderFunctions(tables, targets),
    [abi.layouts]: renderLayouts(tables),
    ...(abi.structs === undefined ? {} : { [abi.structs]: renderStructs(tables) }),
    [abi.proof]: renderProof(tables),
  }
}

/** The declarations of a model that the tables have, in the order of the headers. */
class AbiModel {
  readonly abi: AbiTables
  readonly functions: readonly BoundFunction[]
  readonly records: readonly BoundRecord[]
  readonly constants: readonly BoundConstant[]
  readonly #directory: string
  readonly #headers: readonly string[]

  constructor({ functions, records, constants, refused }: Model, abi: AbiTables, directory: string) {
    this.abi = abi
    this.#directory = directory
    this.#headers = abi.headers.map(({ source }) => join(directory, source))
    for (const { name, reason, detail, place } of refused) {
      if (this.#isWanted(name, place) && !NOT_IN_TABLES.has(reason))
        throw this.problem(place, `${name} cannot be in the tables: ${reason}${detail && ': '}${detail}`)
    }
    this.functions = functions.filter(({ place }) => this.#only(place) === undefined && this.#header(place) >= 0)
    for (const { name, place } of this.functions) this.#checkExported(name, place)
    this.records = records
      .filter(({ id, layout, place }) => layout !== undefined && this.#isWanted(id, place))
      .toSorted((a, b) => this.#compare(a.place, b.place))
    for (const record of this.records) for (const member of record.layout!.members) memberType(member, record, this)
    this.constants = constants
      .filter(({ name, place }) => this.#isWanted(name, place))
      // Of one header the macros come first.
      .toSorted((a, b) => this.#header(a.place) - this.#header(b.place) || Number(b.isMacro) - Number(a.isMacro))
  }

  problem({ file, line }: Place, text: string): ToolError {
    return new ToolError(`${relative(this.#directory, file)}:${line}: ${text}`)
  }

  #header({ file }: Place): number {
    return this.#headers.indexOf(file)
  }

  #only(place: Place): readonly string[] | undefined {
    return this.abi.headers[this.#header(place)]?.only
  }

  #isWanted(name: string, place: Place): boolean {
    if (this.#header(place) < 0) return false
    return this.#only(place)?.some((pattern) => matches(pattern, name)) ?? true
  }

  #compare(a: Place, b: Place): number {
    return this.#header(a) - this.#header(b) || a.line - b.line
  }

  #checkExported(name: string, place: Place): void {
    const line = readFileSync(place.file, 'utf8').split('\n')[place.line - 1] ?? ''
    if (!line.trimStart().startsWith(`${this.abi.exportMacro} `))
      throw this.problem(place, `the line that declares ${name} must begin with ${this.abi.exportMacro}`)
  }
}

function renderFunctions(tables: AbiModel, targets: readonly NativeTarget[]): string {
  const libraries = new Map<string, string[]>(targets.map(({ name }) => [name, []]))
  for (const { name, type, place } of tables.functions) {
    const library = libraries.get(libraryOf(name, targets) ?? '')
    if (library === undefined) throw tables.problem(place, `no library exports ${name}`)
    const types = [type.result, ...type.parameters.map((parameter) => parameter.type)]
    const [first, ...others] = types.map((one) => `'${passedType(one, name, place, tables)}'`)
    const list = `[${others.join(', ')}]`
    const line = `    ${name}: [${first}, ${list}],`
    library.push(...(line.length <= WIDTH ? [line] : [`    ${name}: [`, `      ${first},`, `      ${list},`, '    ],']))
  }
  const lines = [...libraries].flatMap(([library, rows]) =>
    rows.length === 0 ? [] : [`  ${library}: {`, ...rows, '  },'],
  )
  return renderTable('The functions of each C library, each with its result and its parameters.', 'FUNCTIONS', lines)
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

/** The type of a parameter or result, with a size in its name. */
function passedType(type: Type, name: string, place: Place, tables: AbiModel): string {
  const c = type.kind === 'void' ? 'void' : valueType(type)
  if (c === 'char') return 'int8_t'
  if (c === 'int') return 'int32_t'
  if (c !== undefined) return c
  throw tables.problem(place, `${name} must take and return pointers and numbers of a fixed size, got ${nameOf(type)}`)
}

/** The type of a number or pointer in the tables. Undefined for one whose size may differ between platforms. */
function valueType(type: Type): string | undefined {
  if (type.kind === 'pointer') {
    const { to, isConst } = type
    return isConst && to.kind === 'scalar' && to.c === 'char' && to.typedef === undefined ? TEXT : POINTER
  }
  if (type.kind !== 'scalar') return undefined
  const name = type.typedef ?? (type.c === '_Bool' ? 'bool' : type.c)
  return FIXED.has(name) ? name : undefined
}

function nameOf(type: Type): string {
  if (type.kind === 'scalar') return type.typedef ?? type.c
  if (type.kind === 'record' || type.kind === 'enum') return type.id ?? 'enum'
  return type.kind === 'unsupported' ? type.c : type.kind
}

function renderLayouts({ records, constants }: AbiModel): string {
  const structs = records.flatMap(({ id, layout }) => {
    const entries = fieldsOf(layout!.members).map(({ name, byteOffset }) => `${name}: ${byteOffset}`)
    const line = `    offsets: { ${entries.join(', ')} },`
    const lines =
      line.length <= WIDTH ? [line] : ['    offsets: {', ...entries.map((entry) => `      ${entry},`), '    },']
    return [`  ${id}: {`, `    size: ${layout!.byteSize},`, ...lines, '  },']
  })
  return [
    renderTable('The sizes of C structs and the offsets of their members, in bytes.', 'LAYOUTS', structs),
    renderTable(
      'The constants that the C headers define.',
      'CONSTANTS',
      constants.map((constant) => `  ${constant.name}: ${integerOf(constant)},`),
    ),
  ].join('\n')
}

type Field = Extract<Member, { kind: 'field' }>

const fieldsOf = (members: readonly Member[]): Field[] => members.filter((member) => member.kind === 'field')

function integerOf({ name, constant, place }: BoundConstant): bigint {
  if (constant.kind === 'integer') return constant.value
  throw new ToolError(`${basename(place.file)}:${place.line}: ${name} must be an integer, got a ${constant.kind}`)
}

/** The types of the members of structs, in their order. */
function renderStructs(tables: AbiModel): string {
  const structs = tables.records.flatMap((record) => [`  ${record.id}: {`, ...memberLines(record, tables), '  },'])
  const summary =
    'The members of C structs: their types, and the lengths of arrays. Anonymous members are named after their offset.'
  return renderTable(summary, 'STRUCTS', structs)
}

/** The members of a struct, with the structs and unions without a name in it as objects, which are named after their offset. */
function memberLines(record: BoundRecord, tables: AbiModel): string[] {
  const { members, groups } = record.layout!
  const lines: string[] = []
  const rest = groups.filter(({ count }) => count > 0)
  let index = 0
  const addUntil = (end: number, base: number, indent: string): void => {
    while (index < end) {
      const member = members[index]!
      const group = rest[0]?.first === index ? rest.shift() : undefined
      if (group === undefined) {
        lines.push(`${indent}${member.name}: ${memberType(member, record, tables)},`)
        index++
        continue
      }
      const offset = (member as Field).byteOffset
      lines.push(`${indent}${group.kind}_${offset - base}: {`, `${indent}  ${group.kind}: {`)
      addUntil(index + group.count, offset, `${indent}    `)
      lines.push(`${indent}  },`, `${indent}},`)
    }
  }
  addUntil(members.length, 0, '    ')
  return lines
}

/** The type of a member as the tables write it, such as `['uint8_t', 8]`. */
function memberType(member: Member, { id, place }: BoundRecord, tables: AbiModel): string {
  if (member.kind === 'bits') throw tables.problem(place, `${id}.${member.name} must not be a bit-field`)
  const { name, type } = member
  const element = type.kind === 'array' ? type.of : type
  // Characters of a member need not have a terminator.
  const value = element.kind === 'record' ? element.id : element.kind === 'pointer' ? POINTER : valueType(element)
  if (value === undefined)
    throw tables.problem(place, `the size of ${id}.${name} must be the same everywhere, got ${nameOf(type)}`)
  return type.kind === 'array' ? `['${value}', ${type.count}]` : `'${value}'`
}

/** A C file that does not compile if a layout or a constant in the tables is wrong. */
function renderProof({ abi, records, constants }: AbiModel): string {
  const structs = records.flatMap(({ c, layout }) => [
    `SIZE(${c}, ${layout!.byteSize})`,
    ...fieldsOf(layout!.members).map(({ name, byteOffset }) => `OFFSET(${c}, ${name}, ${byteOffset})`),
  ])
  return [
    '/* Proves the layouts and constants that TypeScript relies on.',
    ' * Generated from the C headers by tenon-build. Do not edit. */',
    '#include <stddef.h>',
    '',
    ...abi.headers.map(({ source, include = basename(source) }) => `#include "${include}"`),
    '',
    '#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "sizeof " #type);',
    '#define OFFSET(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type "." #member);',
    '#define VALUE(name, value) _Static_assert((name) == (value), #name);',
    '',
    ...structs,
    '',
    ...constants.map((constant) => `VALUE(${constant.name}, ${integerOf(constant)})`),
    '',
  ].join('\n')
}
