import { wrongType } from '@tenon/core/internal'
import type { PackedFunc } from '../functions/packed-func.ts'
import type { Argument, Value } from '../values/argument.ts'
import type { AnyDescriptor } from './descriptor.ts'
import { t } from './types.ts'

interface Schema {
  readonly type: string
  readonly args?: readonly Schema[]
}

interface Known {
  readonly descriptor: AnyDescriptor
  readonly input: string
  readonly output: string
}

const plain = (descriptor: AnyDescriptor, input: string, output = input): Known => ({ descriptor, input, output })

const anything = plain(t.any, 'Argument', 'Value')
const text = plain(t.str, 'string')
const bytes = plain(t.bytes, 'Uint8Array')
const tensor = plain(t.tensor, 'Tensor | TensorView', 'Tensor')

const known: Readonly<Record<string, Known>> = {
  int: plain(t.int, 'number | bigint'),
  float: plain(t.float, 'number'),
  bool: plain(t.bool, 'boolean'),
  None: plain(t.none, 'null'),
  'ffi.String': text,
  'ffi.SmallStr': text,
  'const char*': text,
  'ffi.Bytes': bytes,
  'ffi.SmallBytes': bytes,
  DataType: plain(t.dtype, 'DataType'),
  Device: plain(t.device, 'Device'),
  'ffi.Tensor': tensor,
  'DLTensor*': tensor,
  'ffi.Function': plain(t.func, 'PackedFunc | PackedCallback', 'PackedFunc'),
  'ffi.Module': plain(t.module, 'Module'),
  'void*': plain(t.pointer, 'OpaquePointer | null'),
}

/** The names of this package that the declarations of {@link declarationOf} may use, for an import. */
export const declarationTypes: readonly string[] = Object.freeze(
  'Argument DataType Module OpaquePointer PackedCallback PackedFunc TensorView Value'.split(' '),
)

/** A type that Tenon does not have takes and returns anything. */
function resolve({ type, args = [] }: Schema): Known {
  const [first, second] = args.map(resolve)
  if (type === 'Optional' && first !== undefined) {
    return plain(t.optional(first.descriptor), `${first.input} | null`, `${first.output} | null`)
  }
  if ((type === 'ffi.Array' || type === 'ffi.List') && first !== undefined) {
    return plain(t.array(first.descriptor), `readonly (${first.input})[]`, `(${first.output})[]`)
  }
  if ((type === 'ffi.Map' || type === 'ffi.Dict') && first !== undefined && second !== undefined) {
    return plain(
      t.map(first.descriptor, second.descriptor),
      `ReadonlyMap<${first.input}, ${second.input}>`,
      `Map<${first.output}, ${second.output}>`,
    )
  }
  return known[type] ?? anything
}

/** @throws {ArgumentError} if the metadata has no types. */
function signatureOf(metadata: string): { result: Known; parameters: Known[] } {
  try {
    const outer = JSON.parse(metadata) as { type_schema?: unknown }
    const schema = (typeof outer.type_schema === 'string' ? JSON.parse(outer.type_schema) : outer.type_schema) as Schema
    const [result, ...parameters] = schema.args!.map(resolve)
    return { result: result!, parameters }
  } catch (cause) {
    throw Object.assign(wrongType('metadata', 'JSON with the type_schema of a function', metadata), { cause })
  }
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
  const { result, parameters } = signatureOf(metadata)
  const descriptors = parameters.map((parameter) => parameter.descriptor)
  return target.typed(descriptors, result.descriptor, name) as unknown as (...values: Argument[]) => Value | Value[]
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
  const { result, parameters } = signatureOf(metadata)
  if (!isDeclarable(name)) throw wrongType('name', 'a name of JavaScript', name)
  return `export function ${name}(${parameters.map((parameter, i) => `a${i}: ${parameter.input}`).join(', ')}): ${result.output}`
}
