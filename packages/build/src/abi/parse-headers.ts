import { matches } from '../names.ts'
import { headerError, readTokens, type Token } from './tokens.ts'

/** The C types that functions and structs use by value, and their sizes in bytes on 64-bit systems. */
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

/** A header and the names to read from it. A final `*` matches any rest. Without `only`, all names are read. */
export interface HeaderSource {
  readonly path: string
  readonly text: string
  readonly only?: readonly string[] | undefined
}

/** The name of a C type, {@link TEXT}, or {@link POINTER} for any other kind of pointer. */
export type CType = string

export const POINTER: CType = 'void *'

/** A pointer to characters that are not written. */
export const TEXT: CType = 'const char *'

export const isPointer = (type: CType): boolean => type === POINTER || type === TEXT

export interface FunctionDeclaration {
  readonly name: string
  readonly result: CType
  readonly parameters: readonly CType[]
  readonly place: string
}

/** A member of a struct or union. An anonymous struct or union has no name, and members of its own. */
export type Member =
  | { readonly name: string; readonly type: CType; readonly count?: number | undefined }
  | { readonly kind: 'struct' | 'union'; readonly offset: number; readonly members: readonly Member[] }

/** The layout of a struct, in bytes. */
export interface Layout {
  readonly size: number
  readonly alignment: number
  readonly members: readonly Member[]
  /** The offset of each member, including the members of anonymous unions. */
  readonly offsets: Readonly<Record<string, number>>
}

export interface Declarations {
  readonly functions: FunctionDeclaration[]
  /** The layouts of structs, which are the same in the 64-bit ABIs of Linux, macOS and Windows. */
  readonly layouts: Map<string, Layout>
  readonly constants: Map<string, number>
  /** The names of pointer types, including function pointers. */
  readonly pointers: Set<string>
}

/**
 * Parses the declarations of headers: exported functions, structs, enums, constants, and names for pointers.
 *
 * @param headers the headers, each after the headers that it uses.
 * @param exportMacro the word that begins the declaration of an exported function.
 * @throws {ToolError} for a declaration that this parser does not understand, with its line.
 */
export function parseHeaders(headers: readonly HeaderSource[], exportMacro: string): Declarations {
  const known: Declarations = { functions: [], layouts: new Map(), constants: new Map(), pointers: new Set() }
  for (const { path, text, only } of headers) {
    const isNamed = (name: string): boolean => only?.some((pattern) => matches(pattern, name)) ?? true
    const { tokens, macros } = readTokens(path, text)
    for (const [name, ...value] of macros) {
      const isNumber = value.length > 0 && !value[0]!.text.startsWith('__')
      if (isNumber && isNamed(name!.text)) addConstant(known, name!, value)
    }
    for (const declaration of declarationsOf(tokens)) {
      const words = declaration.map((token) => token.text)
      const isWanted =
        only === undefined ||
        (words[0] === 'enum' && words.some(isNamed)) ||
        (words[0] === 'typedef' && isNamed(typedefName(words)))
      if (isWanted && words[0] !== 'static') new Parser(declaration, known).parse(exportMacro, isNamed)
    }
  }
  return known
}

/** The name that a typedef defines: of a pointer to a function, the name in `(*name)`. */
function typedefName(words: readonly string[]): string {
  const star = words.indexOf('*')
  const isFunction = words[star - 1] === '(' && words[star + 2] === ')' && !words.includes('{')
  return (isFunction ? words[star + 1] : words.at(-2)) ?? ''
}

/** Splits code after the `;` of each declaration, and after the body of each inline function. */
function* declarationsOf(tokens: readonly Token[]): Generator<readonly Token[]> {
  let [start, depth] = [0, 0]
  for (const [at, { text }] of tokens.entries()) {
    if (text === '{') depth++
    if (text === '}') depth--
    const isEnd = text === ';' || (text === '}' && tokens[start]!.text === 'static')
    if (depth !== 0 || !isEnd) continue
    yield tokens.slice(start, at + 1)
    start = at + 1
  }
  if (start < tokens.length) throw unexpected(tokens[start]!, 'a ";" at the end of the declaration')
}

/** The value of a constant: a number, a constant before it, one of them with a sign, or shifted to the left. */
function valueOf({ constants }: Declarations, tokens: readonly Token[]): number {
  const text = tokens.map((token) => token.text).join(' ')
  const [, sign = '', value = '', shift = '0'] = /^(?:\( )?(- )?(\w+)(?: << (\d+))?(?: \))?$/.exec(text) ?? []
  const digits = /^(0x[\da-f]+|\d+)u?l*$/i.exec(value)?.[1]
  const number = digits === undefined ? constants.get(value) : Number(digits)
  if (number === undefined) {
    throw headerError(tokens[0]!.place, `the value of a constant must be a number, got ${text}`)
  }
  return (sign === '' ? 1 : -1) * number * 2 ** Number(shift)
}

function addConstant(known: Declarations, { text, place }: Token, value: readonly Token[]): void {
  if (known.constants.has(text)) throw headerError(place, `the constant ${text} is defined twice`)
  known.constants.set(text, valueOf(known, value))
}

function unexpected({ text, place }: Token, expected: string): Error {
  return headerError(place, `the declaration must have ${expected} here, got "${text}"`)
}

class Parser {
  readonly #tokens: readonly Token[]
  readonly #known: Declarations
  #at = 0

  constructor(tokens: readonly Token[], known: Declarations) {
    this.#tokens = tokens
    this.#known = known
  }

  parse(exportMacro: string, isNamed: (name: string) => boolean): void {
    const isTypedef = this.#skip('typedef')
    if (!isTypedef && this.#skip(exportMacro)) {
      const { place } = this.#token
      const result = this.#type()
      const name = this.#identifier()
      this.#known.functions.push({ name, result, parameters: this.#parameters(), place })
    } else if (this.#skip('enum')) {
      this.#enum(isNamed)
      if (isTypedef) this.#identifier()
    } else if (this.#peek() === 'struct' && [this.#peek(1), this.#peek(2)].includes('{')) {
      this.#expect('struct')
      const tag = this.#peek() === '{' ? undefined : this.#identifier()
      const layout = this.#aggregate('struct')
      this.#known.layouts.set(isTypedef ? this.#identifier() : `struct ${tag}`, layout)
    } else if (isTypedef) {
      this.#alias()
    } else {
      this.#fail(`${exportMacro}, typedef, struct or enum`)
    }
    this.#expect(';')
  }

  #enum(isNamed: (name: string) => boolean): void {
    if (this.#peek() !== '{') this.#identifier()
    this.#expect('{')
    while (!this.#skip('}')) {
      const name = this.#token
      this.#identifier()
      this.#expect('=')
      const value = this.#until(',', '}')
      if (isNamed(name.text)) addConstant(this.#known, name, value)
      this.#skip(',')
    }
  }

  /** A name for a pointer, a function pointer, or a struct that stays opaque. */
  #alias(): void {
    const isStruct = this.#peek() === 'struct'
    const { name, type } = this.#declarator(this.#type())
    if (isPointer(type)) this.#known.pointers.add(name)
    else if (!isStruct) this.#fail('a struct or a pointer')
  }

  #parameters(): CType[] {
    this.#expect('(')
    const parameters: CType[] = []
    if (this.#peek() === 'void' && this.#peek(1) === ')') this.#at++
    while (!this.#skip(')')) {
      if (parameters.length > 0) this.#expect(',')
      const { type, count } = this.#declarator(this.#type(), true)
      parameters.push(count === undefined ? type : POINTER)
    }
    return parameters
  }

  /** The body of a struct or union. Members of an anonymous one inside of it are its own. */
  #aggregate(kind: 'struct' | 'union'): Layout {
    const offsets: Record<string, number> = {}
    const members: Member[] = []
    let [end, alignment] = [0, 1]
    const place = (layout: Layout, count = 1): number => {
      const offset = kind === 'union' ? 0 : roundUp(end, layout.alignment)
      end = Math.max(end, offset + layout.size * count)
      alignment = Math.max(alignment, layout.alignment)
      return offset
    }
    this.#expect('{')
    while (!this.#skip('}')) {
      const inner = this.#peek()
      if ((inner === 'union' || inner === 'struct') && this.#peek(1) === '{') {
        this.#at++
        const layout = this.#aggregate(inner)
        const offset = place(layout)
        members.push({ kind: inner, offset, members: layout.members })
        for (const [name, at] of Object.entries(layout.offsets)) offsets[name] = offset + at
      } else {
        const start = this.#token
        const first = this.#type()
        do {
          const { name, type, count } = this.#declarator(first)
          offsets[name] = place(this.#layoutOf(type, start), count)
          members.push({ name, type, count })
        } while (this.#skip(','))
      }
      this.#expect(';')
    }
    return { size: roundUp(end, alignment), alignment, members, offsets }
  }

  #layoutOf(type: CType, { place }: Token): Layout {
    const size = isPointer(type) ? 8 : SIZES[type]
    const layout =
      size === undefined ? this.#known.layouts.get(type) : { size, alignment: size, members: [], offsets: {} }
    if (layout === undefined) throw headerError(place, `the layout of ${type} is not known`)
    return layout
  }

  /** A name, a name with the length of an array, or a pointer to a function. */
  #declarator(type: CType, mayBeUnnamed = false): { name: string; type: CType; count?: number } {
    if (this.#skip('(')) {
      this.#expect('*')
      const name = this.#identifier()
      this.#expect(')')
      this.#parameters()
      return { name, type: POINTER }
    }
    const own = this.#skip('*') ? POINTER : type
    const name = mayBeUnnamed && /^[,)]$/.test(this.#peek()) ? '' : this.#identifier()
    if (!this.#skip('[')) return { name, type: own }
    const count = valueOf(this.#known, this.#until(']'))
    this.#expect(']')
    return { name, type: own, count }
  }

  #type(): CType {
    const isConstant = this.#skip('const')
    const name = (this.#skip('struct') ? 'struct ' : '') + this.#identifier()
    let stars = 0
    for (let text = this.#peek(); text === '*' || text === 'const'; text = this.#peek()) {
      if (text === '*') stars++
      this.#at++
    }
    if (stars === 1 && isConstant && name === 'char') return TEXT
    return stars > 0 || this.#known.pointers.has(name) ? POINTER : name
  }

  get #token(): Token {
    return this.#tokens[Math.min(this.#at, this.#tokens.length - 1)]!
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

  #until(...signs: readonly string[]): readonly Token[] {
    const from = this.#at
    while (this.#at < this.#tokens.length && !signs.includes(this.#peek())) this.#at++
    return this.#tokens.slice(from, this.#at)
  }

  #fail(expected: string): never {
    throw unexpected(this.#token, expected)
  }
}

const roundUp = (value: number, alignment: number): number => Math.ceil(value / alignment) * alignment
