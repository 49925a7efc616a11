/** A type or a name: the text before what it declares, and the text behind it, such as `void (*` and `)(int)`. */
export interface Part {
  readonly left: string
  readonly right: string
  /** The last name without template arguments, which constructors have. */
  readonly base?: string
  /** Functions and arrays need parentheses in pointers to them. */
  readonly isFunction?: boolean
  readonly isArray?: boolean
  readonly reference?: '&' | '&&'
  /** The elements of a pack of template arguments. */
  readonly pack?: readonly Part[]
  /** The number of the template parameter that the part is. */
  readonly parameter?: number
}

/** The name uses more of the grammar than is known, or is damaged. */
export class UnknownName extends Error {}

/** The longest part of a result, in characters, the deepest nesting, and the most steps. */
const MAX_TEXT = 65_536
const MAX_DEPTH = 200
const MAX_STEPS = 100_000

/** The position in a mangled name, and the parts that later ones refer to by number. */
export abstract class ItaniumReader {
  protected position: number
  protected parts: Part[] = []
  /** The template arguments to which `T_` refers. */
  protected templateArguments: readonly Part[] | undefined
  /** The element of packs that is expanded, and the number of elements that the expansion has found. */
  protected packElement: number | undefined
  protected packSize: number | undefined
  readonly #text: string
  readonly #end: number
  #depth = 0
  #steps = 0

  constructor(text: string, start: number, end: number) {
    this.#text = text
    this.position = start
    this.#end = end
  }

  protected get isAtEnd(): boolean {
    return this.position >= this.#end
  }

  protected peek(count = 1): string {
    return this.#text.slice(this.position, Math.min(this.position + count, this.#end))
  }

  protected take(expected: string): boolean {
    if (this.peek(expected.length) !== expected) return false
    this.position += expected.length
    return true
  }

  protected expect(expected: string): void {
    if (!this.take(expected)) throw new UnknownName(`no ${expected} at ${this.position}`)
  }

  /** Runs a part of the grammar that may contain itself. */
  protected nested<T>(read: () => T): T {
    this.#depth += 1
    this.#steps += 1
    if (this.#depth > MAX_DEPTH || this.#steps > MAX_STEPS) throw new UnknownName('too large')
    const result = read()
    this.#depth -= 1
    return result
  }

  protected text(...parts: readonly string[]): string {
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    if (length > MAX_TEXT) throw new UnknownName('too long')
    return parts.join('')
  }

  /** Makes a part that later ones can refer to. */
  protected remember(part: Part): Part {
    this.parts.push(part)
    return part
  }

  /** Reads decimal digits. */
  protected number(): number {
    const start = this.position
    while (/^\d$/.test(this.peek())) this.position += 1
    if (start === this.position || this.position - start > 9) throw new UnknownName('no number')
    return Number(this.#text.slice(start, this.position))
  }

  /** A number that is absent for the first of a kind: `_` is 0, `0_` is 1. */
  protected sequenceNumber(): number {
    if (this.take('_')) return 0
    const value = this.number()
    this.expect('_')
    return value + 1
  }

  /** Reads the text up to a letter, for which `isPart` is false. */
  protected while(isPart: RegExp): string {
    const start = this.position
    while (!this.isAtEnd && isPart.test(this.peek())) this.position += 1
    return this.#text.slice(start, this.position)
  }

  /** Reads a name behind its length. */
  protected sourceName(): string {
    const length = this.number()
    const name = this.peek(length)
    if (name.length < length || length === 0) throw new UnknownName('cut off')
    this.position += length
    return /^_GLOBAL_[._$]N/.test(name) ? '(anonymous namespace)' : name
  }

  /** A part by its number in base 36, behind `S`. */
  protected backReference(): Part {
    let index = 0
    if (!this.take('_')) {
      const digits = this.while(/[0-9A-Z]/)
      if (digits === '' || digits.length > 6) throw new UnknownName('no reference')
      this.expect('_')
      index = Number.parseInt(digits, 36) + 1
    }
    const part = this.parts[index]
    if (part === undefined) throw new UnknownName('no such part')
    return part
  }
}

/** The text of a part that declares nothing. */
export function textOf(part: Part): string {
  return part.pack === undefined ? part.left + part.right : part.pack.map(textOf).join(', ')
}

/** Template arguments or parameters as a list, in which packs stand for their elements. */
export function listOf(parts: readonly Part[]): string {
  return parts
    .flatMap((part) => part.pack ?? [part])
    .map(textOf)
    .join(', ')
}
