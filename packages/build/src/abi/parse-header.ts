import { headerError, type HeaderTokens, type Token } from './tokens.ts'

/** The types of C that functions and structs have by value, and their sizes in bytes on 64-bit systems. */
export const SIZES: Readonly<Record<string, number>> = {
  bool: 1,
  char: 1,
  int8_t: 1,
  uint8_t: 1,
  int16_t: 2,
  uint16_t: 2,
  int: 4,
  int32_t: 4,
  uint32_t: 4,
  float: 4,
  int64_t: 8,
  uint64_t: 8,
  size_t: 8,
  double: 8,
}

/** A type of C: a name, or any kind of pointer. */
export type CType = { readonly name: string } | 'pointer'

/** A function that a library exports. */
export interface FunctionDeclaration {
  readonly name: string
  readonly result: CType
  readonly parameters: readonly CType[]
  readonly line: number
}

/** A member of a struct: a value, an array of values, or an anonymous union or struct. */
export interface Member {
  /** Undefined for an anonymous union or struct, whose members belong to the struct around it. */
  readonly name: string | undefined
  readonly type: CType | Aggregate
  /** The length of an array. Undefined for a value. */
  readonly count: number | undefined
  readonly line: number
}

/** The body of a struct or union. */
export interface Aggregate {
  readonly kind: 'struct' | 'union'
  readonly members: readonly Member[]
}

/** What a header declares. */
export interface Header {
  readonly path: string
  readonly functions: readonly FunctionDeclaration[]
  readonly structs: ReadonlyMap<string, Aggregate>
  /** Names for pointers, also to functions, and for nothing else. */
  readonly pointers: ReadonlySet<string>
  readonly constants: ReadonlyMap<string, number>
}

/**
 * Parses the declarations of a header: exported functions, structs, enums, constants, and names for pointers.
 *
 * @param exportMacro the word that begins the declaration of an exported function.
 * @param only reads the declarations of these names alone (`*` at the end stands for any rest), and ignores the others.
 * @throws {ToolError} for a declaration that this parser does not understand, with its line.
 */
export function parseHeader(source: HeaderTokens, exportMacro: string, only?: readonly string[]): Header {
  return new Parser(source, exportMacro, only).parse()
}

class Parser {
  readonly #path: string
  readonly #tokens: readonly Token[]
  readonly #macros: readonly (readonly Token[])[]
  readonly #exportMacro: string
  readonly #only: readonly string[] | undefined
  #at = 0
  readonly #functions: FunctionDeclaration[] = []
  readonly #structs = new Map<string, Aggregate>()
  readonly #pointers = new Set<string>()
  readonly #constants = new Map<string, number>()

  constructor({ path, tokens, macros }: HeaderTokens, exportMacro: string, only: readonly string[] | undefined) {
    this.#path = path
    this.#tokens = tokens
    this.#macros = macros
    this.#exportMacro = exportMacro
    this.#only = only
  }

  parse(): Header {
    for (const [name, ...value] of this.#macros) this.#macro(name!, value)
    while (this.#at < this.#tokens.length) {
      const end = this.#endOfDeclaration()
      if (this.#isWanted(end)) {
        this.#declaration()
        if (this.#at !== end) this.#fail('the end of the declaration')
      }
      this.#at = end
    }
    return {
      path: this.#path,
      functions: this.#functions,
      structs: this.#structs,
      pointers: this.#pointers,
      constants: this.#constants,
    }
  }

  /** The index after the `;` of the declaration that begins here, or after the body of an inline function. */
  #endOfDeclaration(): number {
    let depth = 0
    const isInline = this.#peek() === 'static'
    for (let at = this.#at; at < this.#tokens.length; at++) {
      const { text } = this.#tokens[at]!
      if (text === '{') depth++
      if (text === '}') depth--
      if (depth === 0 && (text === ';' || (isInline && text === '}'))) return at + 1
    }
    return this.#fail('a ";" at the end of the declaration')
  }

  /** Whether a declaration is read: all are, unless the header names those that are. */
  #isWanted(end: number): boolean {
    const declared = this.#tokens.slice(this.#at, end).map(({ text }) => text)
    if (declared[0] === 'static') return false
    if (this.#only === undefined) return true
    if (declared[0] === 'enum') return declared.some((name) => this.#isNamed(name))
    return declared[0] === 'typedef' && this.#isNamed(declared.at(-2)!)
  }

  #isNamed(name: string): boolean {
    return (
      this.#only?.some((pattern) =>
        pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
      ) ?? true
    )
  }

  #macro(name: Token, value: readonly Token[]): void {
    if (value.length === 0 || value[0]!.text.startsWith('__') || !this.#isNamed(name.text)) return
    this.#constants.set(name.text, this.#number(value))
  }

  #declaration(): void {
    if (this.#skip(this.#exportMacro)) return this.#function()
    if (this.#peek() === 'enum') {
      this.#enum()
      this.#expect(';')
      return
    }
    const isTypedef = this.#skip('typedef')
    if (isTypedef && this.#peek() === 'enum') {
      this.#enum()
      this.#identifier()
      this.#expect(';')
    } else if (this.#peek() === 'struct' && (this.#peek(1) === '{' || this.#peek(2) === '{')) {
      this.#expect('struct')
      const tag = this.#peek() === '{' ? undefined : this.#identifier()
      const members = this.#members()
      this.#structs.set(isTypedef ? this.#identifier() : `struct ${tag}`, { kind: 'struct', members })
      this.#expect(';')
    } else if (isTypedef) {
      this.#alias()
    } else {
      this.#fail(`${this.#exportMacro}, typedef, struct or enum`)
    }
  }

  #function(): void {
    const { line } = this.#tokens[this.#at]!
    const result = this.#type()
    const name = this.#identifier()
    const parameters = this.#parameters()
    this.#expect(';')
    this.#functions.push({ name, result, parameters, line })
  }

  /** A name for a pointer, a function pointer, or a struct that stays opaque. */
  #alias(): void {
    const isStruct = this.#peek() === 'struct'
    const type = this.#type()
    if (this.#skip('(')) {
      this.#expect('*')
      this.#pointers.add(this.#identifier())
      this.#expect(')')
      this.#parameters()
    } else {
      const name = this.#identifier()
      if (type === 'pointer') this.#pointers.add(name)
      else if (!isStruct) this.#fail('a struct or a pointer')
    }
    this.#expect(';')
  }

  #parameters(): CType[] {
    this.#expect('(')
    const parameters: CType[] = []
    if (this.#peek() === 'void' && this.#peek(1) === ')') this.#at++
    while (!this.#skip(')')) {
      if (parameters.length > 0) this.#expect(',')
      const { type, count } = this.#declarator(this.#type(), true)
      parameters.push(count === undefined ? type : 'pointer')
    }
    return parameters
  }

  #members(): Member[] {
    this.#expect('{')
    const members: Member[] = []
    while (!this.#skip('}')) {
      const { line } = this.#tokens[this.#at]!
      const kind = this.#peek()
      if ((kind === 'union' || kind === 'struct') && this.#peek(1) === '{') {
        this.#at++
        members.push({ name: undefined, type: { kind, members: this.#members() }, count: undefined, line })
      } else {
        const type = this.#type()
        do members.push({ ...this.#declarator(type, false), line })
        while (this.#skip(','))
      }
      this.#expect(';')
    }
    return members
  }

  /** A name, a name with the length of an array, or a pointer to a function. */
  #declarator(type: CType, mayBeUnnamed: boolean): { name: string; type: CType; count: number | undefined } {
    if (this.#skip('(')) {
      this.#expect('*')
      const name = this.#identifier()
      this.#expect(')')
      this.#parameters()
      return { name, type: 'pointer', count: undefined }
    }
    const isPointer = this.#skip('*')
    const name = mayBeUnnamed && /^[,)]$/.test(this.#peek()) ? '' : this.#identifier()
    let count: number | undefined
    if (this.#skip('[')) {
      const from = this.#at
      while (this.#peek() !== ']') this.#at++
      count = this.#number(this.#tokens.slice(from, this.#at))
      this.#expect(']')
    }
    return { name, type: isPointer ? 'pointer' : type, count }
  }

  #type(): CType {
    this.#skip('const')
    const isStruct = this.#skip('struct')
    const name = (isStruct ? 'struct ' : '') + this.#identifier()
    let isPointer = false
    for (let text = this.#peek(); text === '*' || text === 'const'; text = this.#peek()) {
      isPointer ||= text === '*'
      this.#at++
    }
    return isPointer ? 'pointer' : { name }
  }

  #enum(): void {
    this.#expect('enum')
    if (this.#peek() !== '{') this.#identifier()
    this.#expect('{')
    while (!this.#skip('}')) {
      const name = this.#identifier()
      this.#expect('=')
      const from = this.#at
      while (this.#peek() !== ',' && this.#peek() !== '}') this.#at++
      const value = this.#number(this.#tokens.slice(from, this.#at))
      if (this.#isNamed(name)) this.#constants.set(name, value)
      this.#skip(',')
    }
  }

  /** The value of a constant: a number, a constant before it, one of them with a sign, or shifted to the left. */
  #number(tokens: readonly Token[]): number {
    const text = tokens.map((token) => token.text).join(' ')
    const [, sign, value, shift = '0'] = /^(?:\( )?(- )?(\w+)(?: << (\d+))?(?: \))?$/.exec(text) ?? []
    const digits = /^(0x[\da-f]+|\d+)u?l*$/i.exec(value ?? '')?.[1]
    const number = digits === undefined ? this.#constants.get(value ?? '') : Number(digits)
    if (number === undefined) {
      throw headerError(this.#path, tokens[0]?.line ?? 0, `the value of a constant must be a number, got ${text}`)
    }
    return (sign === undefined ? 1 : -1) * number * 2 ** Number(shift)
  }

  #peek(offset = 0): string {
    return this.#tokens[this.#at + offset]?.text ?? ''
  }

  #skip(text: string): boolean {
    const isHere = this.#peek() === text
    if (isHere) this.#at++
    return isHere
  }

  #expect(text: string): void {
    if (!this.#skip(text)) this.#fail(`"${text}"`)
  }

  #identifier(): string {
    if (!/^[A-Za-z_]\w*$/.test(this.#peek())) this.#fail('a name')
    return this.#tokens[this.#at++]!.text
  }

  #fail(expected: string): never {
    const { line, text } = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)] ?? { line: 1, text: 'nothing' }
    throw headerError(this.#path, line, `the declaration must have ${expected} here, got "${text}"`)
  }
}
