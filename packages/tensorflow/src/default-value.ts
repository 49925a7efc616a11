import { ArgumentError, dtypeInfo, tensor, type DType, type Tensor } from '@tenon/core'
import { typedArrayClass } from '@tenon/core/internal'
import { typeInDefinition, typeOfCode, type ElementType } from './element-types.ts'
import type { AttributeKind, AttributeScalar, AttributeValue } from './operation.ts'
import type { SpecReader } from './spec-reader.ts'
import { readList, readValue, type TextValue } from './text-format.ts'

/** The most elements of a tensor that is a default. */
const MOST_ELEMENTS = 65_536

/** Reads the default of an attribute. @throws {SignatureError} */
export function readDefault(reader: SpecReader, kind: AttributeKind, isList: boolean): AttributeValue {
  if (!isList) return convert(reader, kind, readValue(reader))
  return readList(reader).map((value) => convert(reader, kind, value))
}

const EXPECTED: Readonly<Record<AttributeKind, string>> = {
  string: 'a string between quotes',
  int: 'a whole number from -2^63 to 2^63 - 1',
  float: 'a number',
  bool: 'true or false',
  type: 'an element type such as DT_FLOAT',
  shape: 'a shape such as { dim { size: 2 } }',
  tensor: 'a tensor such as { dtype: DT_INT32 int_val: 5 }',
  func: 'a function such as { name: "f" }',
}

function convert(reader: SpecReader, kind: AttributeKind, value: TextValue): AttributeScalar {
  const converted = CONVERT[kind](value)
  if (converted !== undefined) return converted
  throw reader.error(value.token, `the value must be ${EXPECTED[kind]}`)
}

/** The conversions of a value, which return undefined if the value is of another kind. */
const CONVERT: Readonly<Record<AttributeKind, (value: TextValue) => AttributeScalar | undefined>> = {
  string: (value) => (value.kind === 'string' ? textOf(value.bytes) : undefined),
  int: (value) => (value.kind === 'word' ? integerOf(value.text) : undefined),
  float: (value) => (value.kind === 'word' ? floatOf(value.text) : undefined),
  bool: (value) => (value.kind === 'word' ? booleanOf(value.text) : undefined),
  type: (value) => (value.kind === 'word' ? typeOf(value.text) : undefined),
  shape: shapeOf,
  tensor: tensorOf,
  // An operation with such an attribute is not supported, so nothing reads the value.
  func: (value) => (value.kind === 'message' ? null : undefined),
}

/** Returns the text of UTF-8, or the bytes. */
export function textOf(bytes: Uint8Array): string | Uint8Array {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return bytes
  }
}

/** Returns the value of a decimal, hexadecimal or octal number of 64 bits. */
export function integerOf(text: string): bigint | undefined {
  const value = wholeOf(text)
  return value !== undefined && BigInt.asIntN(64, value) === value ? value : undefined
}

function wholeOf(text: string): bigint | undefined {
  const [, sign, digits] = /^(-?)(0[xX][\da-fA-F]+|\d+)$/.exec(text) ?? []
  if (digits === undefined || digits.length > 32 || /^0\d*[89]/.test(digits)) return undefined
  return BigInt(digits.replace(/^0(?=\d)/, '0o')) * (sign === '-' ? -1n : 1n)
}

const INFINITY = /^(-?)inf(inity)?$/i

function floatOf(text: string): number | undefined {
  if (INFINITY.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (/^-?nan$/i.test(text)) return Number.NaN
  const value = /[xX]/.test(text) ? Number.NaN : Number(text.replace(/[fF]$/, ''))
  if (Number.isNaN(value)) return undefined
  return Number.isFinite(Math.fround(value)) ? value : Math.fround(value)
}

function booleanOf(text: string): boolean | undefined {
  if (['true', 'True', 't', '1'].includes(text)) return true
  return ['false', 'False', 'f', '0'].includes(text) ? false : undefined
}

function typeOf(text: string): ElementType | undefined {
  if (/^\d+$/.test(text)) return typeOfCode(Number(text))
  return /^DT_[A-Z\d_]+$/.test(text) ? typeInDefinition(text.slice(3).toLowerCase()) : undefined
}

function shapeOf(value: TextValue): readonly number[] | null | undefined {
  if (value.kind !== 'message') return undefined
  const { dim = [], unknown_rank: rank = [], ...others } = Object.fromEntries(value.fields)
  const isUnknown = rank.map((one) => CONVERT.bool(one))
  if (Object.keys(others).length > 0 || isUnknown.includes(undefined)) return undefined
  const sizes = dim.map((one) =>
    one.kind === 'message' ? Number(CONVERT.int(one.fields.get('size')?.at(-1) ?? ZERO(one))) : -2,
  )
  if (sizes.some((size) => !Number.isSafeInteger(size) || size < -1)) return undefined
  if (isUnknown.at(-1) !== true) return sizes
  return sizes.length === 0 ? null : undefined
}

const ZERO = ({ token }: TextValue): TextValue => ({ kind: 'word', text: '0', token })

const wholeElement = (value: TextValue): bigint | undefined => (value.kind === 'word' ? wholeOf(value.text) : undefined)

/** The conversions of the elements in each field of a tensor. */
const FIELDS = new Map<string, (value: TextValue) => unknown>([
  ...['float_val', 'double_val', 'scomplex_val', 'dcomplex_val'].map((name) => [name, CONVERT.float] as const),
  ...['int_val', 'int64_val', 'uint32_val', 'uint64_val', 'half_val'].map((name) => [name, wholeElement] as const),
  ['bool_val', CONVERT.bool],
])

/** Tensors of strings are not supported, because their memory belongs to another package. */
function tensorOf(value: TextValue): Tensor | undefined {
  if (value.kind !== 'message') return undefined
  const { dtype: types = [], tensor_shape: shapes = [], ...rest } = Object.fromEntries(value.fields)
  const dtype = types[0] && (CONVERT.type(types[0]) as ElementType | undefined)?.dtype
  const sizes = shapes[0] === undefined ? [] : shapeOf(shapes[0])
  const [field, ...others] = Object.entries(rest)
  if (dtype === undefined || !sizes || sizes.includes(-1) || others.length > 0) return undefined
  const count = sizes.reduce((product, size) => product * size, 1)
  if (count > MOST_ELEMENTS) return undefined
  if (field === undefined) return tensor(dtype, sizes)
  const source = field[0] === 'tensor_content' ? contentOf(dtype, field[1]) : elementsOf(dtype, count, ...field)
  try {
    return source === undefined ? undefined : tensor(dtype, sizes, source as [])
  } catch (error) {
    if (error instanceof ArgumentError) return undefined
    throw error
  }
}

function contentOf(dtype: DType, [content]: readonly TextValue[]): unknown {
  const View = typedArrayClass(dtype)
  if (content?.kind !== 'string' || content.bytes.byteLength % View.BYTES_PER_ELEMENT !== 0) return undefined
  return new View(new Uint8Array(content.bytes).buffer)
}

/** Returns the elements in a field. The last one of too few stands for the others. */
function elementsOf(dtype: DType, count: number, name: string, values: readonly TextValue[]): unknown {
  const field = FIELDS.get(name)
  const { kind, bits } = dtypeInfo(dtype)
  const parts = kind === 'complex' ? 2 : 1
  const read = field === undefined ? [] : values.map(field)
  if (read.length === 0 || read.includes(undefined) || read.length % parts !== 0) return undefined
  const scalars =
    bits === 64 && kind.endsWith('int') ? read : read.map((one) => (typeof one === 'bigint' ? Number(one) : one))
  if (name === 'half_val')
    return Uint16Array.from({ length: count }, (_, i) => Number(scalars[Math.min(i, scalars.length - 1)]))
  const elements =
    parts === 1 ? scalars : Array.from({ length: read.length / 2 }, (_, i) => scalars.slice(2 * i, 2 * i + 2))
  return elements.length > count
    ? undefined
    : Array.from({ length: count }, (_, i) => elements[Math.min(i, elements.length - 1)])
}
