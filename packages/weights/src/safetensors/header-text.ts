import type { FileBytes } from '../files/file-bytes.ts'

/** The bytes before the header: its size. */
export const PREFIX_SIZE = 8

/**
 * Reads the JSON of a header, in the form that the format has: objects, strings and arrays of whole numbers. Unlike `JSON.parse()`, it finds
 * names that appear twice, and makes only what the caller asks for, so that the memory it takes is bounded by the size of the text.
 */
export class HeaderText {
  readonly #file: FileBytes
  readonly #text: string
  #at = 0

  constructor(file: FileBytes, text: string) {
    this.#file = file
    this.#text = text
  }

  /** The place of the next token, in characters. */
  get position(): number {
    this.#space()
    return this.#at
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return
      this.#at++
    }
  }

  #accept(character: string): boolean {
    this.#space()
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #expect(character: string): void {
    if (!this.#accept(character)) throw this.#unexpected(`'${character}'`)
  }

  /** Reads an object. @param visit reads the value of a key, which begins at a position. A key that appears twice is refused. */
  object(what: string, visit: (key: string, position: number) => void): void {
    const keys = new Set<string>()
    this.#expect('{')
    if (this.#accept('}')) return
    do {
      const { position } = this
      const key = this.string()
      if (keys.has(key)) throw this.error(position, `${what} has the name ${JSON.stringify(key)} twice`)
      keys.add(key)
      this.#expect(':')
      visit(key, position)
    } while (this.#accept(','))
    this.#expect('}')
  }

  string(): string {
    const start = this.position
    if (!this.#accept('"')) throw this.#unexpected('a string')
    for (; ; this.#at++) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === 34) break
      if (code === 92) this.#at++
      // Also the end of the text, whose code is NaN.
      else if (!(code >= 32)) throw this.#unexpected('the rest of a string')
    }
    this.#at++
    const literal = this.#text.slice(start, this.#at)
    try {
      const text = JSON.parse(literal) as string
      if (text.isWellFormed()) return text
    } catch {
      // An escape that JSON does not have.
    }
    throw this.error(start, 'a string has an escape that is not valid')
  }

  /** Reads an array of at most `most` whole numbers from 0 to 2^53 - 1. */
  numbers(most: number): readonly number[] {
    const numbers: number[] = []
    this.#expect('[')
    if (this.#accept(']')) return numbers
    do {
      if (numbers.length === most) throw this.#unexpected(`']', because the array has ${most} numbers`)
      numbers.push(this.#number())
    } while (this.#accept(','))
    this.#expect(']')
    return numbers
  }

  #number(): number {
    const start = this.position
    whole.lastIndex = start
    const [digits] = whole.exec(this.#text) ?? []
    const number = Number(digits)
    if (digits === undefined || !Number.isSafeInteger(number))
      throw this.#unexpected('a whole number from 0 to 2^53 - 1')
    this.#at += digits.length
    return number
  }

  end(): void {
    this.#space()
    if (this.#at < this.#text.length) throw this.#unexpected('the end of the header')
  }

  #unexpected(expected: string): Error {
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text.slice(this.#at, this.#at + 16)) : 'its end'
    return this.error(this.#at, `the header should have ${expected}, but has ${found}`)
  }

  /** The error for something wrong at a position. */
  error(position: number, reason: string): Error {
    return this.#file.error(PREFIX_SIZE + Buffer.byteLength(this.#text.slice(0, position)), reason)
  }
}

const whole = /(?:0|[1-9]\d{0,15})(?![\d.eE])/y
