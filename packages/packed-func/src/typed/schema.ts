import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import type { PackedFunc } from '../functions/packed-func.ts'
import type { Argument, Value } from '../values/argument.ts'
import { t, type TypeDescriptor } from './descriptor.ts'
import { typed } from './typed-function.ts'

/** A type as libraries of tvm-ffi write it in their metadata. */
interface Schema {
  readonly type: string
  readonly args?: readonly Schema[]
}

/** How a type of tvm-ffi is checked here, and how TypeScript writes it: as a parameter and as a result. */
interface Known {
  readonly descriptor: TypeDescriptor<unknown, unknown>
  readonly input: string
  readonly output: string
}

const plain = (descriptor: TypeDescriptor<unknown, unknown>, input: string, output = input): Known => ({
  descriptor,
  input,
  output,
})

const anything = plain(t.any, 'Argument', 'Value')
const text = plain(t.str, 'string')
const tensor = plain(t.tensor, 'Tensor | TensorView', 'Tensor')

const known: Readonly<Record<string, Known>> = {
  int: plain(t.int, 'number | bigint'),
  float: plain(t.float, 'number'),
  bool: plain(t.bool, 'boolean'),
  None: plain(t.none, 'null'),
  'ffi.String': text,
  'ffi.SmallStr': text,
  'const char*': text,
  'ffi.Bytes': plain(t.bytes, 'Uint8Array'),
  'ffi.SmallBytes': plain(t.bytes, 'Uint8Array'),
  DataType: plain(t.dtype, 'DataType'),
  Device: plain(t.device, 'Device'),
  'ffi.Tensor': tensor,
  'DLTensor*': tensor,
  'ffi.Function': plain(t.func, 'PackedFunc | PackedCallback', 'PackedFunc'),
  'ffi.Module': plain(t.module, 'Module'),
  'void*': plain(t.pointer, 'OpaquePointer | null'),
}

/** The functions and types that declarations of {@link declarationOf} mention, for an import. */
export const declarationTypes: readonly string[] = Object.freeze([
  'Argument',
  'DataType',
  'Module',
  'OpaquePointer',
  'PackedCallback',
  'PackedFunc',
  'TensorView',
  'Value',
])

/** What is known of a type: types without an equal here take and give anything. */
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

/** The types of the result and the parameters that a function's metadata tell. @throws {ArgumentError} if they tell none */
function signatureOf(metadata: string): { result: Known; parameters: Known[] } {
  try {
    const outer = JSON.parse(metadata) as { type_schema?: unknown }
    const schema = (typeof outer.type_schema === 'string' ? JSON.parse(outer.type_schema) : outer.type_schema) as Schema
    const [result, ...parameters] = schema.args!.map(resolve)
    return { result: result!, parameters }
  } catch (cause) {
    throw new ArgumentError(`metadata must be JSON with the type_schema of a function, got ${describe(metadata)}`, {
      cause,
    })
  }
}

/**
 * Gives a packed function the types that its library tells of it.
 *
 * @param metadata what `Module.metadata` returned.
 * @throws {ArgumentError} if the metadata tell no types.
 * @example
 * const sum = typedBy(lib.get('sum'), lib.metadata('sum') ?? '', 'sum')
 * sum(1, 2) // 3
 */
export function typedBy(target: PackedFunc, metadata: string, name = ''): (...values: Argument[]) => Value | Value[] {
  const { result, parameters } = signatureOf(metadata)
  return typed(
    target,
    parameters.map((parameter) => parameter.descriptor),
    result.descriptor,
    name,
  ) as unknown as (...values: Argument[]) => Value | Value[]
}

const reserved = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends false ' +
    'finally for function if implements import in instanceof interface let new null package private protected public return ' +
    'static super switch this throw true try typeof var void while with yield'
  ).split(' '),
)

/**
 * Whether a function of a module can have a name: `sum` can, `delete` and `relu.v2` can't.
 *
 * @example
 * isDeclarable('sum') // true
 */
export function isDeclarable(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name) && !reserved.has(name)
}

/**
 * A function's metadata as a declaration of TypeScript, for a `.d.ts` file.
 *
 * @throws {ArgumentError} if the metadata tell no types.
 * @example
 * declarationOf('sum', lib.metadata('sum') ?? '') // 'export function sum(a0: number | bigint, a1: number | bigint): number'
 */
export function declarationOf(name: string, metadata: string): string {
  const { result, parameters } = signatureOf(metadata)
  if (!isDeclarable(name)) throw new ArgumentError(`name must be a name of JavaScript, got ${describe(name)}`)
  return `export function ${name}(${parameters.map((parameter, i) => `a${i}: ${parameter.input}`).join(', ')}): ${result.output}`
}
