import { canonicalName, elementTypeHint } from './element-names.ts'
import type { AttributeLiteral, AttributeType, ScalarAttributeType } from './kernel-signature.ts'
import { convertScalar, typeName, valueHint } from './attribute-type.ts'
import type { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'
import { quote } from './quote.ts'

/** Reads the default of an attribute and checks it against the type. @throws {SignatureError} */
export function parseDefault(reader: TokenReader, type: AttributeType): AttributeLiteral {
  const token = reader.current
  if (typeof type === 'object') {
    if (!('enum' in type)) {
      throw reader.error(token, 'a dictionary cannot have a default', { hint: 'Give each member its default.' })
    }
    const text = parseString(reader, typeName(type))
    if (type.enum.includes(text)) return text
    throw misfit(reader, token, quote(text), type)
  }
  switch (type) {
    case 'string':
      return parseString(reader, 'a string')
    case 'bytes':
      if (reader.at('[')) return Uint8Array.from(parseArray(reader, 'u8') as number[])
      return new TextEncoder().encode(parseString(reader, 'a string or an array of bytes'))
    case 'dtype':
      return parseElementType(reader)
    case 'pointer':
      return parseScalar(reader, 's64') as bigint
    case 'dictionary':
      throw reader.error(token, 'a dictionary cannot have a default', {
        hint: 'Write the types of its members: { eps: f32 = 1e-5 }.',
      })
    case 'c64':
    case 'c128':
      return parseComplex(reader, type)
    default:
      if (type.endsWith('[]')) return parseArray(reader, type.slice(0, -2) as ScalarAttributeType)
      return parseScalar(reader, type as ScalarAttributeType)
  }
}

function parseString(reader: TokenReader, what: string): string {
  if (reader.current.kind !== 'string') throw reader.unexpected(what)
  return reader.take().text
}

function parseElementType(reader: TokenReader): string {
  const token = reader.current
  const text = parseString(reader, 'the name of an element type as a string')
  const dtype = canonicalName(text)
  if (dtype !== undefined) return dtype
  throw reader.error(token, `${quote(text)} is not an element type`, { hint: elementTypeHint(text) })
}

function parseArray(reader: TokenReader, element: ScalarAttributeType): (number | bigint)[] {
  const values: (number | bigint)[] = []
  reader.expect('[')
  reader.list(']', () => values.push(parseScalar(reader, element) as number | bigint))
  return values
}

function parseComplex(reader: TokenReader, type: 'c64' | 'c128'): readonly [number, number] {
  const token = reader.current
  const element = type === 'c64' ? 'f32' : 'f64'
  if (!reader.at('[')) return [parseScalar(reader, element) as number, 0]
  const parts = parseArray(reader, element) as number[]
  if (parts.length === 2) return [parts[0]!, parts[1]!]
  throw reader.error(token, `a complex number must have 2 parts, got ${parts.length}`)
}

/** Reads a boolean or a number of one of XLA's types. */
function parseScalar(reader: TokenReader, type: ScalarAttributeType): number | bigint | boolean {
  const first = reader.current
  const sign = reader.skip('-') ? '-' : ''
  const { kind, text } = reader.current
  const isWord = kind === 'name' && (text === 'inf' || (sign === '' && ['nan', 'true', 'false'].includes(text)))
  if (kind !== 'number' && !isWord) throw reader.unexpected(type === 'pred' ? 'true or false' : 'a number')
  reader.take()
  const literal = `${sign}${text}`
  const value = convertScalar(type, literalValue(literal, type))
  if (value === undefined) throw misfit(reader, first, literal, type)
  return value
}

const INTEGER_DIGITS = 20

/** Returns the JavaScript value of a literal, or its text if no attribute can have the value. */
function literalValue(literal: string, type: ScalarAttributeType): unknown {
  if (literal === 'true' || literal === 'false') return literal === 'true'
  if (literal === 'nan') return Number.NaN
  if (literal === 'inf' || literal === '-inf') return literal === 'inf' ? Infinity : -Infinity
  if (type === 'f32' || type === 'f64') {
    // A number that is too large for any float becomes infinite, which only `inf` may be.
    const value = Number(literal)
    return Number.isFinite(value) ? value : literal
  }
  const isInteger = /^-?\d+$/.test(literal) && literal.length <= INTEGER_DIGITS
  return isInteger ? BigInt(literal) : literal
}

function misfit(reader: TokenReader, token: Token, literal: string, type: AttributeType): Error {
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}...` : literal
  return reader.error(token, `the default must be ${typeName(type)}, got ${shown}`, {
    hint: valueHint(type).replace('Pass', 'Write'),
  })
}
