import type { Token } from '@tenon/core/internal'
import type { SpecReader } from './spec-reader.ts'

/** A value in the text form of Protocol Buffers. Numbers and words are texts, with their sign. */
export type TextValue = { readonly token: Token } & (
  | { readonly kind: 'string'; readonly bytes: Uint8Array }
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'message'; readonly fields: ReadonlyMap<string, readonly TextValue[]> }
)

/** The deepest nesting of messages. */
const MOST_LEVELS = 32

/** Reads one value. @throws {SignatureError} */
export function readValue(reader: SpecReader, level = 0): TextValue {
  const token = reader.current
  if (token.kind === 'string') return { kind: 'string', bytes: readBytes(reader), token }
  if (token.text === '{' || token.text === '<') return { kind: 'message', fields: readFields(reader, level), token }
  const sign = reader.skip('-') ? '-' : ''
  return { kind: 'word', text: sign + reader.read('a value', 'number', 'name').text, token }
}

/** Reads `[a, b]`. @throws {SignatureError} */
export function readList(reader: SpecReader, level = 0): TextValue[] {
  const values: TextValue[] = []
  reader.expect('[')
  if (reader.skip(']')) return values
  do values.push(readValue(reader, level))
  while (reader.either(',', ']') === ',')
  return values
}

function readFields(reader: SpecReader, level: number): Map<string, TextValue[]> {
  const open = reader.take()
  if (level >= MOST_LEVELS) throw reader.error(open, `messages must nest at most ${MOST_LEVELS} levels, got more`)
  const close = open.text === '{' ? '}' : '>'
  const fields = new Map<string, TextValue[]>()
  while (!reader.skip(close)) {
    const { text: name } = reader.read(`the name of a field or "${close}"`, 'name')
    if (!reader.skip(':') && reader.current.text !== '{' && reader.current.text !== '<') throw reader.unexpected('":"')
    const values = reader.current.text === '[' ? readList(reader, level + 1) : [readValue(reader, level + 1)]
    const known = fields.get(name)
    if (known === undefined) fields.set(name, values)
    else known.push(...values)
    if (!reader.skip(',')) reader.skip(';')
  }
  return fields
}

/** Reads a string as bytes. Strings that follow each other are one. @throws {SignatureError} */
export function readBytes(reader: SpecReader): Uint8Array {
  const parts: Uint8Array[] = []
  do {
    const token = reader.read('a string', 'string')
    for (const piece of token.text
      .slice(1, -1)
      .match(/\\[xX][\da-fA-F]{1,2}|\\[0-7]{1,3}|\\u[\da-fA-F]{4}|\\U[\da-fA-F]{8}|\\?[^]/gu) ?? []) {
      const bytes = bytesOf(piece)
      if (bytes === undefined) throw reader.error(token, `the escape sequence ${JSON.stringify(piece)} is unknown`)
      parts.push(bytes)
    }
  } while (reader.current.kind === 'string')
  return Buffer.concat(parts)
}

const ESCAPES = new Map(
  Object.entries({ a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "'": 39, '?': 63, '\\': 92 }),
)

/** Returns the bytes of one character or escape sequence, or undefined if the sequence is unknown. */
function bytesOf(piece: string): Uint8Array | undefined {
  if (piece[0] !== '\\') return new TextEncoder().encode(piece)
  const code = piece[1]!
  if (/[0-7]/.test(code)) return Uint8Array.of(Number.parseInt(piece.slice(1), 8) & 0xff)
  const digits = piece.slice(2)
  if (!/^[\da-fA-F]+$/.test(digits)) return ESCAPES.has(piece.slice(1)) ? Uint8Array.of(ESCAPES.get(code)!) : undefined
  const value = Number.parseInt(digits, 16)
  if (code === 'x' || code === 'X') return Uint8Array.of(value)
  return value > 0x10ffff || (value >= 0xd800 && value < 0xe000)
    ? undefined
    : new TextEncoder().encode(String.fromCodePoint(value))
}
