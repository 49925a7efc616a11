import type { Place } from './c-types.ts'
import type { Token } from './tokens.ts'

/** A declaration that the reader does not understand. */
export class SyntaxProblem extends Error {
  override readonly name = 'SyntaxProblem'
  readonly place: Place

  constructor(message: string, { file, line }: Token) {
    super(message)
    this.place = { file, line }
  }
}

const END: Token = { kind: 'punctuator', text: '', file: '', line: 0 }
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Tokens with a position, which only moves forwards but for {@link returnTo}. */
export class TokenReader {
  readonly #tokens: readonly Token[]
  #position = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get position(): number {
    return this.#position
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#tokens.length
  }

  /** The next token, or one with an empty text at the end. */
  get next(): Token {
    return this.#tokens[this.#position] ?? END
  }

  /** The token after the next one. */
  get second(): Token {
    return this.#tokens[this.#position + 1] ?? END
  }

  returnTo(position: number): void {
    this.#position = position
  }

  take(): Token {
    const token = this.next
    this.#position++
    return token
  }

  /** Takes the next token if it has this text. */
  takeIf(text: string): boolean {
    if (this.next.text !== text || this.next.kind === 'string') return false
    this.#position++
    return true
  }

  expect(text: string): void {
    if (!this.takeIf(text)) throw this.problem(`expected "${text}"`)
  }

  expectName(): Token {
    if (this.next.kind !== 'name') throw this.problem('expected a name')
    return this.take()
  }

  problem(expected: string): SyntaxProblem {
    const { text } = this.next
    const last = this.#tokens[Math.min(this.#position, this.#tokens.length - 1)] ?? END
    return new SyntaxProblem(`${expected}, got ${text === '' ? 'the end' : `"${text}"`}`, last)
  }

  /** Takes an opening bracket and everything until the bracket that closes it, and returns the text between them. */
  takeBrackets(): string {
    const open = this.take()
    const start = this.#position
    const closing = [CLOSING[open.text]]
    while (closing.length > 0) {
      if (this.isAtEnd) throw new SyntaxProblem(`"${open.text}" is not closed`, open)
      const { text, kind } = this.take()
      if (kind !== 'punctuator') continue
      if (text in CLOSING) closing.push(CLOSING[text])
      else if (text === closing.at(-1)) closing.pop()
      else if (text === ')' || text === ']' || text === '}')
        throw new SyntaxProblem(`"${open.text}" is not closed`, open)
    }
    return this.#textBetween(start, this.#position - 1)
  }

  /** Takes an expression, until one of these texts outside brackets, and returns it. */
  takeUntil(...ends: readonly string[]): string {
    const start = this.#position
    while (!ends.includes(this.next.text)) {
      if (this.isAtEnd) throw this.problem(`expected ${ends.map((end) => `"${end}"`).join(' or ')}`)
      if (this.next.text in CLOSING && this.next.kind === 'punctuator') this.takeBrackets()
      else this.take()
    }
    return this.#textBetween(start, this.#position)
  }

  #textBetween(start: number, end: number): string {
    return this.#tokens
      .slice(start, end)
      .map(({ text }) => text)
      .join(' ')
  }
}
