import { NpyFormatError } from './npy-format-error.ts'

export type PythonLiteral = string | number | boolean | PythonTuple | PythonList
class PythonSequence {
  readonly items: readonly PythonLiteral[]
  constructor(items: readonly PythonLiteral[]) {
    this.items = items
  }
}
/** A tuple such as `(2, 4)`. */
export class PythonTuple extends PythonSequence {}
/** A list such as `[('x', '<f4')]`, the element type of structured arrays. */
export class PythonList extends PythonSequence {}

/** The largest depth of nesting. Headers of structured types nest two or three levels. */
const MAX_DEPTH = 32

/** Matches one token after white space, or an empty text. A number may have the suffix of Python 2's long integers. */
const tokens = /(\s*)(?:([{}()[\],:])|(\d+)L?|(True|False)\b|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|)/y

/**
 * Parses a Python dictionary display such as `{'descr': '<f4', 'shape': (2, 4), }` without evaluating it.
 *
 * @throws {NpyFormatError} if the text is anything else
 */
export function parsePythonDictionary(text: string): Map<string, PythonLiteral> {
  const parser = new Parser(text)
  const entries = new Map<string, PythonLiteral>()
  parser.expect('{')
  while (!parser.accept('}')) {
    const key = parser.literal(0)
    if (typeof key !== 'string') throw parser.error('a key in quotes')
    if (entries.has(key)) throw new NpyFormatError(`the header names the key '${key}' twice`)
    parser.expect(':')
    entries.set(key, parser.literal(0))
    if (!parser.accept(',')) {
      parser.expect('}')
      break
    }
  }
  parser.expectEnd()
  return entries
}

interface Token {
  readonly start: number
  readonly punctuation: string | undefined
  readonly value: PythonLiteral | undefined
}

/** Reads the text once, one token ahead. */
class Parser {
  readonly #text: string
  #position = 0
  #token: Token

  constructor(text: string) {
    this.#text = text
    this.#token = this.#next()
  }

  accept(punctuation: string): boolean {
    if (this.#token.punctuation !== punctuation) return false
    this.#token = this.#next()
    return true
  }

  expect(punctuation: string): void {
    if (!this.accept(punctuation)) throw this.error(`'${punctuation}'`)
  }

  expectEnd(): void {
    if (this.#token.start < this.#text.length) throw this.error('the end')
  }

  literal(depth: number): PythonLiteral {
    const { value } = this.#token
    if (value !== undefined) {
      this.#token = this.#next()
      return value
    }
    if (depth >= MAX_DEPTH) throw new NpyFormatError(`the header nests more than ${MAX_DEPTH} levels deep`)
    if (this.accept('(')) return this.#tuple(depth + 1)
    if (this.accept('[')) return new PythonList(this.#items(']', depth + 1).items)
    throw this.error('a value')
  }

  /** Reads the rest of a parenthesis: one value without a comma is that value, everything else is a tuple. */
  #tuple(depth: number): PythonLiteral {
    const { items, comma } = this.#items(')', depth)
    return items.length === 1 && !comma ? items[0]! : new PythonTuple(items)
  }

  #items(end: string, depth: number): { items: PythonLiteral[]; comma: boolean } {
    const items: PythonLiteral[] = []
    let comma = false
    while (!this.accept(end)) {
      items.push(this.literal(depth))
      comma = this.accept(',')
      if (!comma) {
        this.expect(end)
        break
      }
    }
    return { items, comma }
  }

  #next(): Token {
    tokens.lastIndex = this.#position
    const [text, space, punctuation, digits, truth, single, double] = tokens.exec(this.#text)!
    const start = this.#position + space!.length
    this.#position += text.length
    return { start, punctuation, value: valueOf(digits, truth, single ?? double) }
  }

  error(expected: string): NpyFormatError {
    const { start } = this.#token
    const found = start < this.#text.length ? JSON.stringify(this.#text.slice(start, start + 16)) : 'its end'
    return new NpyFormatError(`the header should have ${expected} at character ${start}, but has ${found}`)
  }
}

function valueOf(digits?: string, truth?: string, text?: string): PythonLiteral | undefined {
  if (digits !== undefined) return Number(digits)
  if (truth !== undefined) return truth === 'True'
  return text?.replace(/\\(.)/g, '$1')
}
