import type { TypeSchema } from './type-schema.ts'

/**
 * Where a value stands: an `argument` that TypeScript passes, a `result` that calls convert by its schema, or a `raw` value as
 * packed functions return it, which callbacks and native containers do not convert.
 */
export type Use = 'argument' | 'result' | 'raw'

/** The TypeScript type for a type key of a library, such as the name of its class. */
export type TextOfKey = (key: string) => string

/** The type of an object whose class is not declared. */
export const UNDECLARED = 'NativeObject'

/** The names of this package that texts of `schemaText()` may use, for an import. */
export const declarationTypes: readonly string[] = Object.freeze(
  (
    'Argument DataType Kwargs Module NativeArray NativeMap NativeObject NativeShape OpaquePointer PackedCallback PackedFunc RValue ' +
    'ReadOnlyTensor TensorView Value'
  ).split(' '),
)

/** The types of values without parts: as an argument, and as a result. */
const simple: ReadonlyMap<string, readonly [argument: string, result: string]> = new Map([
  ['Any', ['Argument', 'Value']],
  ['None', ['null', 'null']],
  ['bool', ['boolean', 'boolean']],
  ['int', ['number | bigint', 'number | bigint']],
  ['float', ['number', 'number']],
  ['ffi.String', ['string', 'string']],
  ['std::string', ['string | Uint8Array', 'string']],
  ['ffi.Bytes', ['Uint8Array', 'Uint8Array']],
  ['DataType', ['DataType | string', 'DataType']],
  ['Device', ['Device', 'Device']],
  ['void*', ['OpaquePointer | null', 'OpaquePointer | null']],
  ['ffi.Tensor', ['Tensor | ReadOnlyTensor', 'Tensor']],
  ['DLTensor*', ['Tensor | TensorView | ReadOnlyTensor', 'Tensor']],
  ['ffi.Shape', ['NativeShape | readonly (number | bigint)[]', 'NativeShape']],
  ['ffi.Module', ['Module', 'Module']],
  ['ffi.Error', ['Error', 'Error']],
  ['ffi.Object', ['NativeObject', 'NativeObject']],
])

/**
 * The TypeScript type of a value.
 *
 * @param of the schema of which the value is, if `schema` only declares it more exactly. Calls convert a result by this schema.
 */
export function schemaText(schema: TypeSchema, use: Use, textOfKey: TextOfKey, of: TypeSchema = schema): string {
  const known = simple.get(schema.type)
  if (known !== undefined) return known[use === 'argument' ? 0 : 1]
  // A result of another kind than the schema of the function says is not converted.
  const place = use === 'result' && of.type !== schema.type ? 'raw' : use
  const text = (i: number, at: Use = place): string => schemaText(schema.args![i]!, at, textOfKey, of.args?.[i])
  const texts = (at: Use = place): string[] => schema.args!.map((_, i) => text(i, at))
  switch (schema.type) {
    case 'Optional':
      return union([text(0), 'null'])
    case 'Variant':
      return union(texts())
    case 'Expected':
      return place === 'argument' ? union([text(0), 'Error']) : text(0)
    case 'ObjectRValueRef':
      return place === 'argument' ? union(['RValue', text(0)]) : text(0)
    case 'Tuple':
      if (place === 'raw') return `NativeArray<${union(texts()) || 'never'}>`
      return `${place === 'argument' ? 'readonly ' : ''}[${texts().join(', ')}]`
    // Lists and dictionaries stay native as results, because native code may change them.
    case 'ffi.Array':
      return place === 'raw' ? `NativeArray<${text(0)}>` : arrayOf(text(0), place)
    case 'ffi.List':
      if (place !== 'argument') return `NativeArray<${text(0, 'raw')}>`
      return `${arrayOf(text(0), place)} | NativeArray<${text(0, 'raw')}>`
    case 'ffi.Map':
      return `${place === 'raw' ? 'NativeMap' : mapTypes[place]}<${texts().join(', ')}>`
    case 'ffi.Dict':
      if (place !== 'argument') return `NativeMap<${texts('raw').join(', ')}>`
      return `${mapTypes[place]}<${texts().join(', ')}> | NativeMap<${texts('raw').join(', ')}>`
    case 'ffi.Function':
      return functionText(schema, place, textOfKey)
    default:
      return textOfKey(schema.type)
  }
}

const mapTypes = { argument: 'ReadonlyMap', result: 'Map' } as const

function arrayOf(element: string, use: 'argument' | 'result'): string {
  const isSingle = alternatives(element).length === 1 && !element.startsWith('readonly ')
  return `${use === 'argument' ? 'readonly ' : ''}${isSingle ? element : `(${element})`}[]`
}

/** Native code passes raw values to a function of TypeScript. */
function functionText({ args }: TypeSchema, use: Use, textOfKey: TextOfKey): string {
  if (use !== 'argument') return 'PackedFunc'
  if (args === undefined) return 'PackedFunc | PackedCallback'
  const [result, ...parameters] = args
  const places = parameters.map((parameter, i) => `a${i}: ${schemaText(parameter, 'raw', textOfKey)}`)
  const returned = result!.type === 'None' ? 'void' : schemaText(result!, 'argument', textOfKey)
  return `PackedFunc | ((${places.join(', ')}) => ${returned})`
}

/** The union of types, each once. */
const union = (texts: readonly string[]): string => [...new Set(texts.flatMap(alternatives))].join(' | ')

/** Splits a type at the bars that are in no brackets. */
function alternatives(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if ('([{<'.includes(character)) depth++
    else if (')]}'.includes(character) || (character === '>' && text[i - 1] !== '=')) depth--
    else if (depth === 0 && text.startsWith(' | ', i)) {
      parts.push(text.slice(start, i))
      start = i + 3
    }
  }
  return [...parts, text.slice(start)]
}
