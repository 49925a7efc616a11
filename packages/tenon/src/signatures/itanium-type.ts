/** A type in a mangled C++ name: its text without template arguments, and the template arguments. */
export interface CppType {
  /** `float`, `xla::ffi::Buffer`, `const`, `*`, or the digits of a value. */
  readonly name: string
  readonly args: readonly CppType[]
}

const BUILTINS: Readonly<Record<string, string>> = {
  v: 'void',
  w: 'wchar_t',
  b: 'bool',
  c: 'char',
  a: 'signed char',
  h: 'unsigned char',
  s: 'short',
  t: 'unsigned short',
  i: 'int',
  j: 'unsigned int',
  l: 'long',
  m: 'unsigned long',
  x: 'long long',
  y: 'unsigned long long',
  f: 'float',
  d: 'double',
  e: 'long double',
}

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  a: 'std::allocator',
  b: 'std::basic_string',
  s: 'std::string',
  i: 'std::istream',
  o: 'std::ostream',
  d: 'std::iostream',
}

/** The longest name that is read. The names of handlers with many parameters have some thousands of characters. */
const MAX_NAME_LENGTH = 65_536

/** The largest number of types inside each other. Names come from files, so they may be hostile. */
const MAX_DEPTH = 64

/**
 * Reads the class of a member from its mangled name (Itanium C++ ABI), with the template arguments of the class:
 * `_ZN1a1bIfE1cEv` gives `a::b` with the argument `float`. Returns undefined for other names, and for names that use more of
 * the grammar than classes, functions and numbers.
 */
export function classOfMember(symbol: string): CppType | undefined {
  const match = /^_ZN[rVK]*/.exec(symbol)
  if (match === null || symbol.length > MAX_NAME_LENGTH) return undefined
  try {
    return new Parser(symbol, match[0].length).classTemplate()
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Reads the grammar from left to right, and keeps the parts that later substitutions refer to by number. */
class Parser {
  readonly #text: string
  #at: number
  #depth = 0
  readonly #seen: CppType[] = []

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  classTemplate(): CppType {
    let type = this.#name('')
    while (this.#peek() !== 'I') type = this.#see({ name: `${type.name}::${this.#source()}`, args: [] })
    return this.#instance(type)
  }

  #peek(): string {
    const next = this.#text[this.#at]
    if (next === undefined) throw new SyntaxError('the name ends early')
    return next
  }

  #take(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#at)) return false
    this.#at += expected.length
    return true
  }

  #see(type: CppType): CppType {
    this.#seen.push(type)
    return type
  }

  #source(): string {
    const digits = /^\d+/.exec(this.#text.slice(this.#at))?.[0]
    if (digits === undefined) throw new SyntaxError('a name must begin with its length')
    const start = this.#at + digits.length
    this.#at = start + Number(digits)
    return this.#text.slice(start, this.#at)
  }

  #name(scope: string): CppType {
    return this.#see({ name: scope + this.#source(), args: [] })
  }

  #instance({ name }: CppType): CppType {
    return this.#see({ name, args: this.#args() })
  }

  #args(): CppType[] {
    this.#at++
    const args: CppType[] = []
    this.#enter()
    while (!this.#take('E')) {
      if (this.#peek() === 'J') args.push(...this.#args())
      else args.push(this.#peek() === 'L' ? this.#literal() : this.#type())
    }
    this.#depth--
    return args
  }

  #enter(): void {
    this.#depth++
    if (this.#depth > MAX_DEPTH) throw new SyntaxError('the types are nested too deeply')
  }

  #literal(): CppType {
    this.#at++
    this.#type()
    const value = /^n?\d+(?=E)/.exec(this.#text.slice(this.#at))?.[0]
    if (value === undefined) throw new SyntaxError('a value must be a number')
    this.#at += value.length + 1
    return { name: value.replace('n', '-'), args: [] }
  }

  #type(): CppType {
    this.#enter()
    const type = this.#anyType()
    this.#depth--
    return type
  }

  #anyType(): CppType {
    const start = this.#peek()
    if (/\d/.test(start)) return this.#maybeInstance(this.#name(''))
    if (start === 'S') return this.#substitution()
    this.#at++
    if (start === 'K') return this.#see({ name: 'const', args: [this.#type()] })
    if (start === 'P' || start === 'R' || start === 'O') return this.#see({ name: '*', args: [this.#type()] })
    if (start === 'F') return this.#function()
    if (start === 'N') return this.#nested()
    const builtin = BUILTINS[start]
    if (builtin === undefined) throw new SyntaxError(`${start} is not a supported type`)
    return { name: builtin, args: [] }
  }

  #maybeInstance(type: CppType): CppType {
    return this.#peek() === 'I' ? this.#instance(type) : type
  }

  #function(): CppType {
    const args: CppType[] = []
    while (!this.#take('E')) args.push(this.#type())
    return this.#see({ name: 'function', args })
  }

  #nested(): CppType {
    let type = this.#peek() === 'S' ? this.#substitution() : this.#name('')
    while (!this.#take('E')) {
      type = this.#peek() === 'I' ? this.#instance(type) : this.#name(`${type.name}::`)
    }
    return type
  }

  #substitution(): CppType {
    this.#at++
    if (this.#take('t')) return this.#maybeInstance(this.#name('std::'))
    const abbreviation = ABBREVIATIONS[this.#peek()]
    if (abbreviation !== undefined) {
      this.#at++
      return this.#maybeInstance({ name: abbreviation, args: [] })
    }
    const number = /^([0-9A-Z]*)_/.exec(this.#text.slice(this.#at))
    if (number === null) throw new SyntaxError('a substitution must have a number')
    this.#at += number[0].length
    const found = this.#seen[number[1] === '' ? 0 : Number.parseInt(number[1]!, 36) + 1]
    if (found === undefined) throw new SyntaxError('a substitution refers to a name that does not exist')
    return this.#maybeInstance(found)
  }
}
