import { SignatureError } from '@tenon/core'
import type { TenonErrorOptions } from '@tenon/core/internal'

/** A part of the text of one operand or attribute. */
export interface SpecToken {
  readonly kind: 'name' | 'number' | 'string' | 'symbol' | 'end'
  /** The characters, for a string with its quotes. */
  readonly text: string
  /** The index of the first character. */
  readonly start: number
}

/** The most characters of a text. */
const MOST_CHARACTERS = 65_536

const TOKEN =
  /(?:[ \t\n\v\f\r]|#[^\n]*)|([A-Za-z_]\w*)|(0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?)|("(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')|(>=|[(){}<>[\],:;=*-])/y

const KINDS = [undefined, 'name', 'number', 'string', 'symbol'] as const

/** Reads the text of one operand or attribute of a definition from left to right. Errors name the column. */
export class SpecReader {
  readonly #text: string
  readonly #tokens: readonly SpecToken[]
  #index = 0

  /** @throws {SignatureError} if the text has a character that is not part of the notation. */
  constructor(text: string) {
    this.#text = text
    this.#tokens = tokenize(text)
  }

  get current(): SpecToken {
    return this.#tokens[this.#index]!
  }

  /** Moves behind a symbol or a word if it is there. */
  skip(text: string): boolean {
    const { kind } = this.current
    const isThere = this.current.text === text && (kind === 'symbol' || kind === 'name')
    if (isThere) this.#index += 1
    return isThere
  }

  /** Moves behind a symbol. @throws {SignatureError} */
  expect(...symbols: readonly string[]): string {
    const { text } = this.current
    if (this.current.kind === 'symbol' && symbols.includes(text)) return this.take().text
    throw this.unexpected(symbols.map((symbol) => `"${symbol}"`).join(' or '))
  }

  /** Returns the current token, which is of one of these kinds, and moves behind it. @throws {SignatureError} */
  read(what: string, ...kinds: readonly SpecToken['kind'][]): SpecToken {
    if (!kinds.includes(this.current.kind)) throw this.unexpected(what)
    return this.take()
  }

  take(): SpecToken {
    const token = this.current
    if (token.kind !== 'end') this.#index += 1
    return token
  }

  /** @throws {SignatureError} if the text goes on. */
  finish(): void {
    if (this.current.kind !== 'end') throw this.unexpected('the end of the text')
  }

  unexpected(expected: string): SignatureError {
    const { kind, text } = this.current
    const received = kind === 'end' ? 'the end of the text' : JSON.stringify(text.slice(0, 40))
    return this.error(this.current, `expected ${expected}, got ${received}`)
  }

  error(token: SpecToken, sentence: string, options?: TenonErrorOptions): SignatureError {
    return new SignatureError(sentence, this.#text, token.start + 1, options)
  }
}

function tokenize(text: string): SpecToken[] {
  if (text.length > MOST_CHARACTERS) {
    throw new SignatureError(`the text must have at most ${MOST_CHARACTERS} characters, got ${text.length}`, text, 1)
  }
  const tokens: SpecToken[] = []
  let start = 0
  for (; start < text.length; start = TOKEN.lastIndex) {
    TOKEN.lastIndex = start
    const match = TOKEN.exec(text)
    if (match === null) {
      const character = JSON.stringify(String.fromCodePoint(text.codePointAt(start)!))
      throw new SignatureError(
        `${character} is not part of a definition, or opens a string without an end`,
        text,
        start + 1,
      )
    }
    const group = match.findIndex((part, i) => i > 0 && part !== undefined)
    if (group > 0) tokens.push({ kind: KINDS[group]!, text: match[group]!, start })
  }
  tokens.push({ kind: 'end', text: '', start })
  return tokens
}
