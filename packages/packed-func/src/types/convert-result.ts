import { NativeArray, NativeMap } from '../objects/containers.ts'
import { TypeIndex } from '../native/type-index.ts'
import { readTypeSchema, type TypeSchema } from '../typed/type-schema.ts'
import type { Value } from '../values/argument.ts'

/** Containers as arrays and Maps of JavaScript, where a schema says so. */
export type Converted = Value | readonly Converted[] | ReadonlyMap<Converted, Converted>

/** Converts the result of a call. */
export type Converter = (value: Value) => Converted

/**
 * Returns the conversion of results of a type: an `ffi.Array` becomes an array, and an `ffi.Map` a Map. An `ffi.List` or `ffi.Dict`
 * stays a native object, because it is shared and changes. Values that do not have the type stay as they are.
 *
 * @returns undefined if results of the type stay as they are.
 */
function converterOf({ type, args = [] }: TypeSchema): Converter | undefined {
  const parts = args.map((part) => converterOf(part))
  const [first, second] = parts
  switch (type) {
    case 'Optional':
    case 'Expected':
      return first
    case 'ffi.Array':
      return (value) => arrayOf(value, () => first)
    case 'Tuple':
      return (value) => arrayOf(value, (i) => parts[i])
    case 'ffi.Map':
      return (value) => mapOf(value, first, second)
    case 'Variant':
      return variantOf(args, parts)
    default:
      return undefined
  }
}

/** A container becomes that of the first alternative for its kind. */
function variantOf(args: readonly TypeSchema[], parts: readonly (Converter | undefined)[]): Converter | undefined {
  const array = parts[args.findIndex(({ type }) => type === 'ffi.Array' || type === 'Tuple')]
  const map = parts[args.findIndex(({ type }) => type === 'ffi.Map')]
  if (array === undefined && map === undefined) return undefined
  return (value) => {
    if (value instanceof NativeArray) return array?.(value) ?? value
    return value instanceof NativeMap ? (map?.(value) ?? value) : value
  }
}

function arrayOf(value: Value, converterAt: (index: number) => Converter | undefined): Converted {
  if (!(value instanceof NativeArray) || value.typeIndex !== TypeIndex.Array) return value
  try {
    return value.toArray().map((item, i) => converterAt(i)?.(item) ?? item)
  } finally {
    value.close()
  }
}

function mapOf(value: Value, key: Converter | undefined, item: Converter | undefined): Converted {
  if (!(value instanceof NativeMap) || value.typeIndex !== TypeIndex.Map) return value
  const convertKey: Converter = key ?? ((given) => given)
  const convertItem: Converter = item ?? ((given) => given)
  try {
    return new Map(Array.from(value.entries(), ([k, v]) => [convertKey(k), convertItem(v)] as const))
  } finally {
    value.close()
  }
}

/** Returns the conversion for the `type_schema` of a field, or undefined if its values stay as they are. */
export function converterOfField(type: string | undefined): Converter | undefined {
  const schema = type === undefined ? undefined : readTypeSchema(type)
  return schema && converterOf(schema)
}

/** Returns the conversion for the `type_schema` of a method, whose first part is the result. */
export function converterOfMethod(type: string | undefined): Converter | undefined {
  const schema = type === undefined ? undefined : readTypeSchema(type)
  const result = schema?.type === 'ffi.Function' ? schema.args?.[0] : undefined
  return result && converterOf(result)
}
