import { SignatureError } from './signature-error.ts'
import { quote } from './quote.ts'

/** The most bytes of a signature in UTF-8. */
const MOST_BYTES = 65_536
/** The most characters of a name, so that comparing names in messages takes little time. */
const MOST_NAME_CHARACTERS = 255

/** A part of a signature's text. */
export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'symbol' | 'doc' | 'end'
  /** The characters of the token; for a string and the documentation, their contents. */
  readonly text: string
  /** The index of the first character. */
  readonly start: number
}

const SYMBOLS = ['...', '->', '==', '!=', '<=', '>=', ...'()[]{},:;?@|=+-*/%<>']
/** Control characters other than tabs and line breaks. */
const CONTROLS = /(?![\t\n\r])\p{Cc}/u
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

const symbolsByFirst = new Map<string, readonly string[]>(
  SYMBOLS.map(([first]) => [first!, SYMBOLS.filter((symbol) => symbol.startsWith(first!))]),
)

const isSpace = (character: string): boolean =>
  character === ' ' || character === '\t' || character === '\n' || character === '\r'
const isDigit = (character: string | undefined): boolean =>
  character !== undefined && character >= '0' && character <= '9'
const isNameStart = (character: string): boolean =>
  (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character === '_'
const isNamePart = (character: string | undefined): boolean =>
  character !== undefined && (isNameStart(character) || isDigit(character))

/** Whether a text is a name of the language: ASCII letters, digits and underscores, without a digit in front. */
export function isName(text: string): boolean {
  if (text === '' || text.length > MOST_NAME_CHARACTERS || !isNameStart(text[0]!)) return false
  for (let i = 1; i < text.length; i += 1) if (!isNamePart(text[i])) return false
  return true
}

/** Splits a signature into tokens, in time that is linear in its length. @throws {SignatureError} */
export function tokenize(text: string): Token[] {
  const bytes = Buffer.byteLength(text)
  if (bytes > MOST_BYTES) {
    throw new SignatureError(`a signature must have at most ${MOST_BYTES} bytes, got ${bytes}`, text, 1)
  }
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const character = text[at]!
    if (isSpace(character)) {
      at += 1
    } else if (character === '-' && text[at + 1] === '-') {
      tokens.push({ kind: 'doc', text: documentation(text, at + 2), start: at })
      at = text.length
    } else if (isNameStart(character)) {
      const end = endOfName(text, at)
      tokens.push({ kind: 'name', text: text.slice(at, end), start: at })
      at = end
    } else if (isDigit(character)) {
      const end = endOfNumber(text, at)
      tokens.push({ kind: 'number', text: text.slice(at, end), start: at })
      at = end
    } else if (character === '"' || character === "'") {
      const { value, end } = readString(text, at)
      tokens.push({ kind: 'string', text: value, start: at })
      at = end
    } else {
      const symbol = symbolsByFirst.get(character)?.find((one) => text.startsWith(one, at))
      if (symbol === undefined) throw unknownCharacter(text, at)
      tokens.push({ kind: 'symbol', text: symbol, start: at })
      at += symbol.length
    }
  }
  tokens.push({ kind: 'end', text: '', start: text.length })
  return tokens
}

function unknownCharacter(text: string, at: number): SignatureError {
  const character = quote(String.fromCodePoint(text.codePointAt(at)!))
  return new SignatureError(`${character} is not part of the language`, text, at + 1, {
    hint: 'Put texts between quotes, and documentation behind --. Names have ASCII letters, digits and underscores.',
  })
}

function documentation(text: string, at: number): string {
  const doc = text.slice(at)
  if (!doc.isWellFormed()) throw new SignatureError('the documentation has a lone surrogate', text, at + 1)
  const control = doc.search(CONTROLS)
  if (control === -1) return doc.trim()
  throw new SignatureError('the documentation has a control character', text, at + control + 1, {
    hint: 'Use spaces, tabs and line breaks only.',
  })
}

function endOfName(text: string, start: number): number {
  let end = start + 1
  while (isNamePart(text[end])) end += 1
  if (end - start <= MOST_NAME_CHARACTERS) return end
  const sentence = `a name must have at most ${MOST_NAME_CHARACTERS} characters, got ${end - start}`
  throw new SignatureError(sentence, text, start + 1)
}

/** Digits, with a fraction and an exponent if they follow. */
function endOfNumber(text: string, start: number): number {
  let end = start
  while (isDigit(text[end])) end += 1
  if (text[end] === '.' && isDigit(text[end + 1])) {
    end += 1
    while (isDigit(text[end])) end += 1
  }
  if (text[end] === 'e' || text[end] === 'E') {
    const digits = text[end + 1] === '-' || text[end + 1] === '+' ? end + 2 : end + 1
    if (isDigit(text[digits])) {
      end = digits
      while (isDigit(text[end])) end += 1
    }
  }
  return end
}

/** Reads a string in either kind of quotes, with the escapes of JSON. */
function readString(text: string, start: number): { readonly value: string; readonly end: number } {
  const mark = text[start]
  const parts: string[] = []
  let from = start + 1
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]!
    if (character === mark) {
      parts.push(text.slice(from, at))
      const value = parts.join('')
      if (value.isWellFormed()) return { value, end: at + 1 }
      throw new SignatureError('the string has a lone surrogate', text, start + 1)
    }
    if (character === '\\') {
      parts.push(text.slice(from, at))
      const { value, end } = readEscape(text, at)
      parts.push(value)
      from = end
      at = end - 1
    }
  }
  throw new SignatureError('the string has no closing quote', text, start + 1, {
    hint: `Close the string with ${mark}.`,
  })
}

function readEscape(text: string, start: number): { readonly value: string; readonly end: number } {
  const character = text[start + 1]
  if (character === '"' || character === "'" || character === '\\' || character === '/') {
    return { value: character, end: start + 2 }
  }
  if (character !== undefined && Object.hasOwn(ESCAPES, character)) {
    return { value: ESCAPES[character]!, end: start + 2 }
  }
  const digits = text.slice(start + 2, start + 6)
  if (character === 'u' && /^[\da-fA-F]{4}$/.test(digits)) {
    return { value: String.fromCharCode(Number.parseInt(digits, 16)), end: start + 6 }
  }
  throw new SignatureError('the escape sequence is unknown', text, start + 1, {
    hint: String.raw`Use \\, \", \', \n, \t, or \u and four hexadecimal digits.`,
  })
}
