import type { TypeDescription } from '@tenon/packed-func'
import { functionSchema, readTypeSchema, schemaText, type TypeSchema } from '@tenon/packed-func/internal'
import type { Registered } from '../registered/registered.ts'
import { alignColumns, printable, type Style } from './terminal.ts'

/** The lines about the types and global functions that a library registers when it is loaded. */
export function registeredLines({ types, functions }: Registered, style: Style): string[] {
  const rows = functions.map(({ name, metadata, doc }) => [
    name,
    metadata === undefined ? '' : textOf(functionSchema(metadata)),
    firstLine(doc),
  ])
  return [
    ...section(
      `registered types (${types.length})`,
      types.flatMap((type) => typeLines(type, style)),
      style,
    ),
    ...section(`registered functions (${functions.length})`, alignColumns(rows.map(safe), '  '), style),
  ]
}

function typeLines({ key, ancestors, constructable, fields, methods, doc }: TypeDescription, style: Style): string[] {
  const parent = ancestors.at(-1)
  const facts = [
    ...(parent === undefined || parent === 'ffi.Object' ? [] : [`extends ${parent}`]),
    ...(constructable === false ? ['no constructor'] : []),
  ]
  const rows = [
    ...fields.map(({ name, type, writable, doc: text }) => [
      name,
      `${(type === undefined ? '' : textOf(readTypeSchema(type))) || 'Any'}${writable ? '' : ', read-only'}`,
      firstLine(text),
    ]),
    ...methods.map(({ name, type, isStatic, doc: text }) => [
      `${isStatic ? 'static ' : ''}${name}`,
      type === undefined ? '' : textOf(readTypeSchema(type), isStatic ? 0 : 1),
      firstLine(text),
    ]),
  ]
  const head = [`  ${key}`, ...facts].join(', ')
  return [
    printable(doc === undefined ? head : `${head}  ${style.faint(firstLine(doc))}`),
    ...alignColumns(rows.map(safe), '    '),
  ]
}

/** @param hidden the number of first parameters that are not shown, such as the object of a method */
function textOf(schema: TypeSchema | undefined, hidden = 0): string {
  if (schema === undefined) return ''
  if (schema.type !== 'ffi.Function' || schema.args === undefined) return schemaText(schema, 'result', keyItself)
  const [result, ...parameters] = schema.args
  const places = parameters.slice(hidden).map((parameter) => schemaText(parameter, 'argument', keyItself))
  return `(${places.join(', ')}) => ${schemaText(result!, 'result', keyItself)}`
}

const keyItself = (key: string): string => key

const firstLine = (text: string | undefined): string => text?.trim().split(/\r\n|\r|\n/, 1)[0] ?? ''

const safe = (row: readonly string[]): string[] => row.map((cell) => printable(cell).replaceAll(/[\n\t]/g, ' '))

const section = (title: string, lines: readonly string[], style: Style): string[] =>
  lines.length === 0 ? [] : ['', style.strong(title), ...lines]
