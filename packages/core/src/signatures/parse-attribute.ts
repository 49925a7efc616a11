import { suggest } from '@tenon/binary/internal'
import { canonicalName, isArrayElement, SCALAR_TYPES, scalarTypeOf } from './element-names.ts'
import type { AttributeParameter, AttributeType } from './kernel-signature.ts'
import { parseDefault } from './parse-literal.ts'
import type { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'
import { quote } from './quote.ts'

const WORDS = new Set(['string', 'bytes', 'pointer', 'dtype', 'dictionary'])

/** The most attributes of a signature, those in dictionaries included. */
const MOST_ATTRIBUTES = 256

/** Counts the attributes of one signature. */
interface AttributeCount {
  count: number
}

/** Reads `name: type` or `name: type = default`. @throws {SignatureError} */
export function parseAttribute(
  reader: TokenReader,
  total: AttributeCount,
  level: number,
): { readonly attribute: AttributeParameter; readonly token: Token } {
  const token = reader.current
  if (token.kind !== 'name' && token.kind !== 'string') throw reader.unexpected('the name of an attribute')
  if (token.text === '') throw reader.error(token, 'the name of an attribute must not be empty')
  reader.take()
  total.count += 1
  if (total.count > MOST_ATTRIBUTES) {
    throw reader.error(token, `a signature must have at most ${MOST_ATTRIBUTES} attributes, got more`)
  }
  const isMarked = reader.skip('?')
  reader.expect(':')
  const type = parseType(reader, total, level)
  const fallback = reader.skip('=') ? parseDefault(reader, type) : undefined
  const isOptional = isMarked || fallback !== undefined
  return { attribute: { name: token.text, type, isOptional, fallback }, token }
}

function attributeTypeHint(name: string): string {
  const [nearest] = suggest(name, [...WORDS, 'enum', ...SCALAR_TYPES], 1)
  const all = 'Use pred, s8 to s64, u8 to u64, f32, f64, c64, c128, string, bytes, pointer, dtype, dictionary or enum.'
  return nearest === undefined ? all : `Did you mean ${nearest}?`
}

function parseType(reader: TokenReader, total: AttributeCount, level: number): AttributeType {
  if (reader.at('{')) return parseMembers(reader, total, level)
  const token = reader.name('the type of an attribute')
  const { text } = token
  if (text === 'enum') return parseEnum(reader)
  if (WORDS.has(text)) return text as AttributeType
  const dtype = canonicalName(text)
  if (dtype === undefined) {
    throw reader.error(token, `"${text}" is not the type of an attribute`, { hint: attributeTypeHint(text) })
  }
  const scalar = scalarTypeOf(dtype)
  if (scalar === undefined) {
    throw reader.error(token, `XLA does not have attributes of ${dtype}`, {
      hint: 'Use pred, s8 to s64, u8 to u64, f32, f64, c64 or c128.',
    })
  }
  if (!reader.skip('[')) return scalar
  reader.expect(']')
  if (isArrayElement(scalar)) return `${scalar}[]`
  throw reader.error(token, `XLA does not have array attributes of ${dtype}`, {
    hint: 'Use elements of s8 to s64, u8 to u64, f32 or f64.',
  })
}

function parseMembers(reader: TokenReader, total: AttributeCount, level: number): AttributeType {
  reader.checkLevel(level + 1, reader.take())
  const members: AttributeParameter[] = []
  const names = new Set<string>()
  reader.list('}', () => {
    const { attribute, token } = parseAttribute(reader, total, level + 1)
    if (names.has(attribute.name)) throw reader.error(token, `${attribute.name} must have one type, got a second`)
    names.add(attribute.name)
    members.push(attribute)
  })
  return { members }
}

function parseEnum(reader: TokenReader): AttributeType {
  reader.expect('(')
  const values: string[] = []
  const known = new Set<string>()
  const open = reader.current
  reader.list(')', () => {
    const token = reader.current
    if (token.kind !== 'string') throw reader.unexpected('a string')
    if (known.has(token.text)) throw reader.error(token, `the enum must have ${quote(token.text)} once`)
    known.add(token.text)
    values.push(reader.take().text)
  })
  if (values.length === 0) throw reader.error(open, 'an enum must have at least one string')
  return { enum: values }
}
