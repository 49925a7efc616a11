/**
 * A type as tvm-ffi describes it, under one name for each kind of value. `args` are the elements of an `ffi.Array`, `ffi.List`,
 * `Tuple` or `Variant`, the key and value of an `ffi.Map` or `ffi.Dict`, the type of an `Optional`, `Expected` or
 * `ObjectRValueRef`, and the result and parameters of an `ffi.Function`. Other types have no `args`.
 */
export interface TypeSchema {
  readonly type: string
  /** Undefined for a function of which nothing is known, and for types without parts. */
  readonly args?: readonly TypeSchema[]
}

/** The schema of a value of any type. */
export const ANY: TypeSchema = Object.freeze({ type: 'Any' })

/** Deeper schemas are refused. C++ types are not nested so deeply. */
const MAX_DEPTH = 64

/** The names under which libraries describe one kind of value. */
const canonical: ReadonlyMap<string, string> = new Map([
  ['ffi.SmallStr', 'ffi.String'],
  ['const char*', 'ffi.String'],
  ['ffi.SmallBytes', 'ffi.Bytes'],
  ['TVMFFIByteArray*', 'ffi.Bytes'],
  ['ffi.OpaquePyObject', 'Any'],
  ['std::optional', 'Optional'],
  ['std::variant', 'Variant'],
  ['Union', 'Variant'],
  ['std::tuple', 'Tuple'],
  ['tuple', 'Tuple'],
  ['std::vector', 'ffi.Array'],
  ['std::array', 'ffi.Array'],
  ['std::map', 'ffi.Map'],
  ['std::unordered_map', 'ffi.Map'],
  ['std::function', 'ffi.Function'],
])

/** The number of parts of types that have a fixed number of them. A part that a library does not describe is of any type. */
const partCounts: ReadonlyMap<string, number> = new Map([
  ['Optional', 1],
  ['Expected', 1],
  ['ObjectRValueRef', 1],
  ['ffi.Array', 1],
  ['ffi.List', 1],
  ['ffi.Map', 2],
  ['ffi.Dict', 2],
])

/** Reads the `type_schema` of a function, method or field, which is JSON. @returns undefined if the text is not a schema. */
export function readTypeSchema(text: string): TypeSchema | undefined {
  try {
    return normalize(JSON.parse(text), MAX_DEPTH)
  } catch {
    return undefined
  }
}

/** As {@link readTypeSchema}, for a value that was parsed. */
export function typeSchemaOf(value: unknown): TypeSchema | undefined {
  return normalize(value, MAX_DEPTH)
}

function normalize(value: unknown, depth: number): TypeSchema | undefined {
  if (typeof value !== 'object' || value === null || depth === 0) return undefined
  const { type: name, args: given } = value as { readonly type?: unknown; readonly args?: unknown }
  if (typeof name !== 'string' || (given !== undefined && !Array.isArray(given))) return undefined
  const type = canonical.get(name) ?? name
  const parts = given === undefined ? undefined : partsOf(name, given as readonly unknown[])
  if (type === 'ffi.Function') return functionOf(parts, depth)
  if (type === 'Tuple' && parts === undefined) return { type: 'ffi.Array', args: [ANY] }
  if (type === 'Variant' && (parts === undefined || parts.length === 0)) return ANY
  const count = partCounts.get(type)
  if (count === undefined && type !== 'Tuple' && type !== 'Variant') return type === 'Any' ? ANY : { type }
  const args = normalizeAll((parts ?? []).slice(0, count), depth)
  if (args === undefined) return undefined
  while (args.length < (count ?? 0)) args.push(ANY)
  return { type, args }
}

/** The parts that are schemas: a `std::function` has its parameters in an array, and a `std::array` its size at the end. */
function partsOf(name: string, given: readonly unknown[]): readonly unknown[] {
  if (name === 'std::array') return given.slice(0, 1)
  if (name !== 'std::function') return given
  const [result, parameters] = given
  return Array.isArray(parameters) ? [result, ...(parameters as unknown[])] : given
}

function functionOf(parts: readonly unknown[] | undefined, depth: number): TypeSchema | undefined {
  const type = 'ffi.Function'
  if (parts === undefined || parts.length === 0) return { type }
  const args = normalizeAll(parts, depth)
  return args === undefined ? undefined : { type, args }
}

function normalizeAll(values: readonly unknown[], depth: number): TypeSchema[] | undefined {
  const schemas = values.map((value) => normalize(value, depth - 1))
  return schemas.every((schema) => schema !== undefined) ? schemas : undefined
}
