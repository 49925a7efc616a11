import { scalarSizes } from '../model/scalar-sizes.ts'
import type { BoundRecord, FunctionType, ScalarKind, Type } from '../model/model.ts'
import { identifier } from './identifiers.ts'
import { structLayout } from './struct-layout.ts'

/** The TypeScript type of a scalar that C gives. */
export const typeOfScalar = (as: ScalarKind): string =>
  as === 'bool' ? 'boolean' : as.endsWith('64') && as !== 'float64' ? 'bigint' : 'number'

/** The TypeScript type of a scalar that C takes. */
export const argumentOfScalar = (as: ScalarKind): string =>
  typeOfScalar(as) === 'bigint' ? 'number | bigint' : typeOfScalar(as)

/** A pointer to characters that C reads: text. */
export const isText = (type: Type): boolean =>
  type.kind === 'pointer' && type.isConst && type.to.kind === 'scalar' && type.to.c === 'char'

/** The name of a type in `Pointer<'...'>`, which tells pointers apart. */
export function brandOf(type: Type): string {
  switch (type.kind) {
    case 'scalar':
    case 'unsupported':
      return type.c
    case 'enum':
    case 'record':
      return type.id ?? 'int'
    case 'pointer':
      return `${brandOf(type.to)} *`
    case 'array':
      return `${brandOf(type.of)} []`
    case 'function':
      return '()'
    default:
      return type.kind
  }
}

/** The type of a pointer: untyped memory has no brand. */
export const pointerTo = (type: Type): string =>
  type.kind === 'void' ? 'MemorySegment' : `Pointer<'${brandOf(type).replaceAll(/[^\p{ID_Continue} *[\]()]/gu, ' ')}'>`

/** The typed arrays of scalars. */
export const TYPED_ARRAYS: Readonly<Partial<Record<ScalarKind, string>>> = {
  int8: 'Int8Array',
  uint8: 'Uint8Array',
  int16: 'Int16Array',
  uint16: 'Uint16Array',
  int32: 'Int32Array',
  uint32: 'Uint32Array',
  int64: 'BigInt64Array',
  uint64: 'BigUint64Array',
  float32: 'Float32Array',
  float64: 'Float64Array',
}

/** The typed arrays that a pointer parameter also takes, or undefined. */
function viewsOf(to: Type): string | undefined {
  if (to.kind === 'void') return 'ArrayBufferView'
  if (to.kind !== 'scalar') return undefined
  if (to.c === 'char') return 'Uint8Array | Int8Array'
  return TYPED_ARRAYS[to.as]
}

/** The TypeScript type of a parameter. A pointer to a struct also takes its object. */
export function parameterType(type: Type, records: ReadonlyMap<string, BoundRecord>): string {
  switch (type.kind) {
    case 'scalar':
      return argumentOfScalar(type.as)
    case 'enum':
      return type.id === undefined ? argumentOfScalar(type.as) : identifier(type.id)
    case 'record':
      return `${identifier(type.id)} | ${pointerTo(type)}`
    case 'pointer': {
      if (type.to.kind === 'function') return `${callbackType(type.to)} | MemorySegment | null`
      if (isText(type)) return `string | Uint8Array | ${pointerTo(type.to)} | null`
      const { to } = type
      const views = viewsOf(to)
      const struct = to.kind === 'record' && records.get(to.id)?.layout ? identifier(to.id) : undefined
      return [struct, pointerTo(to), views, 'null'].filter((part) => part !== undefined).join(' | ')
    }
    default:
      return 'MemorySegment'
  }
}

/** The TypeScript type of a result. */
export function resultType(type: Type): string {
  switch (type.kind) {
    case 'void':
      return 'void'
    case 'scalar':
      return typeOfScalar(type.as)
    case 'enum':
      return type.id === undefined ? typeOfScalar(type.as) : identifier(type.id)
    case 'record':
      return identifier(type.id)
    case 'pointer':
      return isText(type) ? 'string | null' : type.to.kind === 'function' ? 'MemorySegment' : pointerTo(type.to)
    default:
      return 'MemorySegment'
  }
}

/** The type of the TypeScript function that C calls. It gets pointers, also to text, as they are, and structs as memory. */
export function callbackType({ parameters, result }: FunctionType): string {
  const list = parameters.map(({ name, type }, i) => `${parameterName(name, i)}: ${callbackArgument(type)}`)
  return `((${list.join(', ')}) => ${callbackResult(result)})`
}

function callbackArgument(type: Type): string {
  if (type.kind === 'pointer') return pointerTo(type.to)
  return type.kind === 'record' ? pointerTo(type) : resultType(type)
}

function callbackResult(type: Type): string {
  if (type.kind === 'pointer') return `${pointerTo(type.to)} | null`
  if (type.kind === 'scalar') return argumentOfScalar(type.as)
  return type.kind === 'record' ? `${identifier(type.id)} | ${pointerTo(type)}` : resultType(type)
}

/** A parameter without a name is called by its position. */
export const parameterName = (name: string | undefined, index: number): string =>
  name === undefined ? `a${index}` : identifier(name)

/** The expression of a type in the signature of a call, for `library.link()`. */
export function signatureType(type: Type, records: ReadonlyMap<string, BoundRecord>): string {
  switch (type.kind) {
    case 'scalar':
    case 'enum':
      return `'${type.as}'`
    case 'record':
      return `${identifier(type.id)}.layout`
    case 'pointer':
      if (isText(type)) return `'text'`
      if (type.to.kind === 'function' && isCallback(type.to, records))
        return `() => (${signature(type.to, records, false)})`
      return `'pointer'`
    default:
      return `'pointer'`
  }
}

/** Whether a TypeScript function can have this type. */
function isCallback(
  { result, parameters, isVariadic }: FunctionType,
  records: ReadonlyMap<string, BoundRecord>,
): boolean {
  const isPassed = (type: Type): boolean =>
    type.kind === 'record'
      ? structLayout(records.get(type.id)!, records) !== undefined
      : type.kind !== 'unsupported' && type.kind !== 'function'
  return !isVariadic && [result, ...parameters.map(({ type }) => type)].every(isPassed)
}

/** The signature of a function as `library.link()` takes it. */
export function signature(
  { result, parameters, isVariadic }: FunctionType,
  records: ReadonlyMap<string, BoundRecord>,
  withText = true,
): string {
  const typeOf = (type: Type): string => (withText ? signatureType(type, records) : plainType(type))
  const parts = [
    ...(result.kind === 'void' ? [] : [`result: ${typeOf(result)}`]),
    ...(parameters.length === 0 ? [] : [`parameters: [${parameters.map(({ type }) => typeOf(type)).join(', ')}]`]),
    ...(isVariadic ? ['isVariadic: true'] : []),
  ]
  return `{ ${parts.join(', ')} }`.replace('{  }', '{}')
}

/** A type of a callback, in which all pointers are pointers. */
function plainType(type: Type): string {
  if (type.kind === 'scalar' || type.kind === 'enum') return `'${type.as}'`
  return type.kind === 'record' ? `${identifier(type.id)}.layout` : `'pointer'`
}

/** The size of a type in bytes. Undefined for a type without a size. */
export function sizeOf(type: Type, records: ReadonlyMap<string, BoundRecord>): number | undefined {
  if (type.kind === 'scalar' || type.kind === 'enum') return scalarSizes[type.as]
  if (type.kind === 'pointer') return 8
  if (type.kind === 'record') return records.get(type.id)?.layout?.byteSize
  if (type.kind !== 'array' || type.count === undefined) return undefined
  const element = sizeOf(type.of, records)
  return element === undefined ? undefined : element * type.count
}
