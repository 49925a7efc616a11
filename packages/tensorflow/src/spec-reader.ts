import { SignatureError } from '@tenon/core'
import { TokenReader, type Token } from '@tenon/core/internal'

/** The most characters of a text. */
const MOST_CHARACTERS = 65_536

const TOKEN =
  /(?:[ \t\n\v\f\r]|#[^\n]*)|([A-Za-z_]\w*)|(0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?)|("(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')|(>=|[(){}<>[\],:;=*-])/y

const KINDS = [undefined, 'name', 'number', 'string', 'symbol'] as const

/** Reads the text of one operand or attribute of a definition from left to right. Strings have their quotes. Errors name the column. */
export class SpecReader extends TokenReader {
  /** @throws {SignatureError} if the text has a character that is not part of the notation. */
  constructor(text: string) {
    super(text, tokenize(text))
  }

  /** Moves behind a symbol or a word if it is there. */
  override skip(text: string): boolean {
    const isThere = this.at(text) || this.atWord(text)
    if (isThere) this.take()
    return isThere
  }

  /** Moves behind one of these symbols, and returns it. @throws {SignatureError} */
  either(...symbols: readonly string[]): string {
    if (symbols.some((symbol) => this.at(symbol))) return this.take().text
    throw this.unexpected(symbols.map((symbol) => `"${symbol}"`).join(' or '))
  }

  /** Returns the current token, which is of one of these kinds, and moves behind it. @throws {SignatureError} */
  read(what: string, ...kinds: readonly Token['kind'][]): Token {
    if (!kinds.includes(this.current.kind)) throw this.unexpected(what)
    return this.take()
  }

  /** @throws {SignatureError} if the text goes on. */
  finish(): void {
    if (this.current.kind !== 'end') throw this.unexpected('the end of the text')
  }
}

function tokenize(text: string): Token[] {
  if (text.length > MOST_CHARACTERS) {
    throw new SignatureError(`the text must have at most ${MOST_CHARACTERS} characters, got ${text.length}`, text, 1)
  }
  const tokens: Token[] = []
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
