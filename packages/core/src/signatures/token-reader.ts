import type { TenonErrorOptions } from '@tenon/binary'
import { SignatureError } from './signature-error.ts'
import { tokenize, type Token } from './tokens.ts'
import { quote } from './quote.ts'

/** The deepest nesting of expressions and dictionaries. */
const MOST_LEVELS = 32

/** Reads the tokens of one text in order. */
export class TokenReader {
  readonly text: string
  readonly #tokens: readonly Token[]
  #index = 0

  /**
   * @param tokens of another language than that of signatures, with one of the kind `end` behind the others.
   * @throws {SignatureError} if the text has a character that is not part of the language.
   */
  constructor(text: string, tokens: readonly Token[] = tokenize(text)) {
    this.text = text
    this.#tokens = tokens
  }

  get current(): Token {
    return this.#tokens[this.#index]!
  }

  /** The token behind the current one. */
  get next(): Token {
    return this.#tokens[Math.min(this.#index + 1, this.#tokens.length - 1)]!
  }

  /** Whether the current token is this symbol. */
  at(symbol: string): boolean {
    const { kind, text } = this.current
    return kind === 'symbol' && text === symbol
  }

  /** Whether the current token is this word. */
  atWord(word: string): boolean {
    const { kind, text } = this.current
    return kind === 'name' && text === word
  }

  /** Returns the current token and moves behind it. */
  take(): Token {
    const token = this.current
    if (token.kind !== 'end') this.#index += 1
    return token
  }

  /** Moves behind a symbol if it is the current token. */
  skip(symbol: string): boolean {
    const isThere = this.at(symbol)
    if (isThere) this.#index += 1
    return isThere
  }

  /** Moves behind a symbol. @throws {SignatureError} if another token is there. */
  expect(symbol: string, ...others: readonly string[]): void {
    if (!this.skip(symbol)) throw this.unexpected([...others, symbol].map((one) => `"${one}"`).join(' or '))
  }

  /** Reads a name. @throws {SignatureError} if another token is there. */
  name(what: string): Token {
    if (this.current.kind !== 'name') throw this.unexpected(what)
    return this.take()
  }

  /** Reads items between commas, up to and including a closing symbol. One comma may precede the closing symbol. */
  list(close: string, readItem: () => void): void {
    while (!this.skip(close)) {
      readItem()
      if (!this.skip(',')) {
        this.expect(close, ',')
        return
      }
    }
  }

  unexpected(expected: string): SignatureError {
    const { current } = this
    return this.error(current, `expected ${expected}, got ${tokenText(current)}`)
  }

  error(token: Pick<Token, 'start'>, sentence: string, options?: TenonErrorOptions): SignatureError {
    return new SignatureError(sentence, this.text, token.start + 1, options)
  }

  /** @throws {SignatureError} if a level exceeds the deepest. */
  checkLevel(level: number, token: Token): void {
    if (level <= MOST_LEVELS) return
    throw this.error(token, `a signature must nest at most ${MOST_LEVELS} levels, got more`)
  }
}

function tokenText({ kind, text }: Token): string {
  if (kind === 'end') return 'the end of the text'
  if (kind === 'doc') return 'the documentation'
  const shown = text.length > 40 ? `${text.slice(0, 40)}...` : text
  return kind === 'string' ? `the string ${quote(shown.toWellFormed())}` : `"${shown}"`
}
