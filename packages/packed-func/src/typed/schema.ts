import { wrongType } from '@tenon/core/internal'
import type { PackedFunc } from '../functions/packed-func.ts'
import type { Argument, Value } from '../values/argument.ts'
import { descriptorOf } from './schema-descriptor.ts'
import { schemaText, UNDECLARED } from './schema-text.ts'
import { readTypeSchema, typeSchemaOf, type TypeSchema } from './type-schema.ts'

/**
 * The schema of a function in the metadata of a library, if it has types.
 *
 * @returns undefined if the metadata is not JSON with the `type_schema` of a function.
 */
export function functionSchema(metadata: string): TypeSchema | undefined {
  let outer: unknown
  try {
    outer = JSON.parse(metadata)
  } catch {
    return undefined
  }
  const given = (outer as { readonly type_schema?: unknown } | null)?.type_schema
  const schema = typeof given === 'string' ? readTypeSchema(given) : typeSchemaOf(given)
  return schema?.type === 'ffi.Function' ? schema : undefined
}

/** @throws {ArgumentError} if the metadata has no types. */
function signatureOf(metadata: string): readonly [result: TypeSchema, ...parameters: TypeSchema[]] {
  const args = typeof metadata === 'string' ? functionSchema(metadata)?.args : undefined
  if (args === undefined) throw wrongType('metadata', 'JSON with the type_schema of a function', metadata)
  return args as [TypeSchema, ...TypeSchema[]]
}

/**
 * Binds a packed function to the types in its library's metadata: see `PackedFunc.typed`.
 *
 * @param metadata the result of `Module.metadata`.
 * @throws {ArgumentError} if the metadata has no types.
 * @example
 * const sum = typedBy(lib.get('sum'), lib.metadata('sum') ?? '', 'sum')
 * sum(1, 2) // 3
 */
export function typedBy(target: PackedFunc, metadata: string, name = ''): (...values: Argument[]) => Value | Value[] {
  const [result, ...parameters] = signatureOf(metadata).map(descriptorOf)
  return target.typed(parameters, result!, name) as unknown as (...values: Argument[]) => Value | Value[]
}

const reserved = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends false ' +
    'finally for function if implements import in instanceof interface let new null package private protected public return ' +
    'static super switch this throw true try typeof var void while with yield'
  ).split(' '),
)

/**
 * Whether a module of JavaScript can export a function under a name: `sum`, but not `delete` or `relu.v2`.
 *
 * @example
 * isDeclarable('sum') // true
 */
export function isDeclarable(name: string): boolean {
  if (typeof name !== 'string') throw wrongType('name', 'a string', name)
  return /^[A-Za-z_$][\w$]*$/.test(name) && !reserved.has(name)
}

/**
 * The declaration of a function in TypeScript by its metadata, for a `.d.ts` file.
 *
 * @throws {ArgumentError} if the metadata has no types, or the name is not a name of JavaScript.
 * @example
 * declarationOf('sum', lib.metadata('sum') ?? '') // 'export function sum(a0: number | bigint, a1: number | bigint): number'
 */
export function declarationOf(name: string, metadata: string): string {
  const [result, ...parameters] = signatureOf(metadata)
  if (!isDeclarable(name)) throw wrongType('name', 'a name of JavaScript', name)
  const text = (schema: TypeSchema, use: 'argument' | 'result'): string => schemaText(schema, use, () => UNDECLARED)
  const places = parameters.map((parameter, i) => `a${i}: ${text(parameter, 'argument')}`)
  return `export function ${name}(${places.join(', ')}): ${text(result, 'result')}`
}
