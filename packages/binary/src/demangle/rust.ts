/** The longest mangled name and the longest result, in characters, the deepest nesting, and the most steps. */
const MAX_NAME = 16_384
const MAX_TEXT = 65_536
const MAX_DEPTH = 200
const MAX_STEPS = 100_000

/** The name is damaged, or uses a part of the grammar that is not known. */
class UnknownName extends Error {}

/**
 * The Rust name of a symbol, of both schemes (legacy, and RFC 2603), without the hashes of crates: `_ZN4core3fmt5write17h0123456789abcdefE`
 * is `core::fmt::write`. Undefined for other symbols, and for damaged or unreasonably large names.
 */
export function demangleRust(symbol: string): string | undefined {
  if (symbol.length > MAX_NAME) return undefined
  const [name] = symbol.split('.', 1)
  if (symbol.startsWith('_R')) return demangleV0(name!)
  return symbol.startsWith('_ZN') ? demangleLegacy(symbol) : undefined
}

/** The characters that have escapes in the legacy scheme. */
const ESCAPES: Readonly<Record<string, string>> = {
  SP: '@',
  BP: '*',
  RF: '&',
  LT: '<',
  GT: '>',
  LP: '(',
  RP: ')',
  C: ',',
}

/** `_ZN`, a list of names with their lengths, of which the last one is a hash, and `E`. */
function demangleLegacy(symbol: string): string | undefined {
  const parts: string[] = []
  let position = 3
  while (symbol[position] !== 'E') {
    const digits = /^\d{1,5}/.exec(symbol.slice(position, position + 5))?.[0]
    if (digits === undefined) return undefined
    const start = position + digits.length
    position = start + Number(digits)
    if (position > symbol.length) return undefined
    parts.push(symbol.slice(start, position))
  }
  const hash = parts.pop()
  if (hash === undefined || !/^h[0-9a-f]{16}$/.test(hash) || parts.length === 0) return undefined
  return parts.map(unescape).join('::')
}

function unescape(part: string): string {
  return part
    .replace(/^_(?=\$)/, '')
    .replaceAll('..', '::')
    .replaceAll(/\$(u[0-9a-f]{1,6}|[A-Z]{1,2})\$/g, (all, name: string) => {
      if (!name.startsWith('u')) return ESCAPES[name] ?? all
      const code = Number.parseInt(name.slice(1), 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : all
    })
}

function demangleV0(symbol: string): string | undefined {
  try {
    return new V0Parser(symbol).whole()
  } catch (error) {
    if (error instanceof UnknownName) return undefined
    throw error
  }
}

const basicTypes: Readonly<Record<string, string>> = {
  a: 'i8',
  b: 'bool',
  c: 'char',
  d: 'f64',
  e: 'str',
  f: 'f32',
  h: 'u8',
  i: 'isize',
  j: 'usize',
  l: 'i32',
  m: 'u32',
  n: 'i128',
  o: 'u128',
  p: '_',
  s: 'i16',
  t: 'u16',
  u: '()',
  v: '...',
  x: 'i64',
  y: 'u64',
  z: '!',
}

/** The scheme `v0`: paths, types and constants that may refer to earlier positions. */
class V0Parser {
  readonly #text: string
  #at = 2
  #depth = 0
  #steps = 0
  #lifetimes = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): string {
    const path = this.#path(true)
    // The crate in which a generic function was instantiated.
    if (this.#at < this.#text.length) this.#path(false)
    if (this.#at < this.#text.length) throw new UnknownName('more text')
    return path
  }

  #peek(): string {
    return this.#text[this.#at] ?? ''
  }

  #take(letter: string): boolean {
    if (this.#peek() !== letter) return false
    this.#at += 1
    return true
  }

  #next(): string {
    const letter = this.#peek()
    if (letter === '') throw new UnknownName('cut off')
    this.#at += 1
    return letter
  }

  #join(...parts: readonly string[]): string {
    if (parts.reduce((sum, { length }) => sum + length, 0) > MAX_TEXT) throw new UnknownName('too long')
    return parts.join('')
  }

  #nested<T>(read: () => T): T {
    this.#depth += 1
    this.#steps += 1
    if (this.#depth > MAX_DEPTH || this.#steps > MAX_STEPS) throw new UnknownName('too large')
    const result = read()
    this.#depth -= 1
    return result
  }

  /** Reads again from an earlier position, to which `B` refers. */
  #earlier<T>(read: () => T): T {
    const letterAt = this.#at - 1
    const target = 2 + this.#base62()
    if (target >= letterAt) throw new UnknownName('a reference to what follows')
    const after = this.#at
    this.#at = target
    const result = this.#nested(read)
    this.#at = after
    return result
  }

  #base62(): number {
    let value = 0
    for (let first = true; ; first = false) {
      const letter = this.#next()
      if (letter === '_') return first ? 0 : value + 1
      const digit = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'.indexOf(letter)
      if (digit === -1 || value > 2 ** 80) throw new UnknownName('no number')
      value = value * 62 + digit
    }
  }

  #optional(letter: string): number {
    return this.#take(letter) ? this.#base62() + 1 : 0
  }

  #identifier(): string {
    const isPunycode = this.#take('u')
    const digits = /^\d{1,5}/.exec(this.#text.slice(this.#at, this.#at + 5))?.[0]
    if (digits === undefined) throw new UnknownName('no identifier')
    this.#at += digits.startsWith('0') ? 1 : digits.length
    this.#take('_')
    const start = this.#at
    this.#at += digits.startsWith('0') ? 0 : Number(digits)
    if (this.#at > this.#text.length) throw new UnknownName('cut off')
    const name = this.#text.slice(start, this.#at)
    return isPunycode ? fromPunycode(name) : name
  }

  #path(isValue: boolean): string {
    return this.#nested(() => this.#anyPath(isValue))
  }

  #anyPath(isValue: boolean): string {
    switch (this.#next()) {
      case 'C':
        this.#optional('s')
        return this.#identifier()
      case 'M':
        this.#implementation()
        return this.#join('<', this.#type(), '>')
      case 'X': {
        this.#implementation()
        const type = this.#type()
        return this.#join('<', type, ' as ', this.#path(false), '>')
      }
      case 'Y': {
        const type = this.#type()
        return this.#join('<', type, ' as ', this.#path(false), '>')
      }
      case 'N':
        return this.#nestedPath(isValue)
      case 'I': {
        const path = this.#path(isValue)
        const args: string[] = []
        while (!this.#take('E')) args.push(this.#genericArgument())
        return this.#join(path, isValue ? '::' : '', '<', args.join(', '), '>')
      }
      case 'B':
        return this.#earlier(() => this.#path(isValue))
      default:
        throw new UnknownName('an unknown path')
    }
  }

  #implementation(): void {
    this.#optional('s')
    this.#path(false)
  }

  #nestedPath(isValue: boolean): string {
    const space = this.#next()
    const path = this.#path(isValue)
    const number = this.#optional('s')
    const name = this.#identifier()
    if (/[a-z]/.test(space)) return name === '' ? path : this.#join(path, '::', name)
    const kind = space === 'C' ? 'closure' : space === 'S' ? 'shim' : space
    return this.#join(path, '::{', kind, name === '' ? '' : `:${name}`, `#${number}}`)
  }

  #genericArgument(): string {
    if (this.#take('L')) return this.#lifetime(this.#base62())
    return this.#take('K') ? this.#constant() : this.#type()
  }

  /** The name of a lifetime by the number of binders between. */
  #lifetime(index: number): string {
    if (index === 0) return "'_"
    const depth = this.#lifetimes - index
    if (depth < 0) throw new UnknownName('no such lifetime')
    return depth < 26 ? `'${String.fromCodePoint(97 + depth)}` : `'_${depth}`
  }

  /** Reads what a list of lifetimes is before, such as `for<'a> `. */
  #bound(read: () => string): string {
    const count = this.#optional('G')
    if (count > 64) throw new UnknownName('too many lifetimes')
    const names: string[] = []
    for (let left = count; left > 0; left -= 1) {
      this.#lifetimes += 1
      names.push(this.#lifetime(1))
    }
    const text = read()
    this.#lifetimes -= count
    return count === 0 ? text : this.#join('for<', names.join(', '), '> ', text)
  }

  #type(): string {
    return this.#nested(() => this.#anyType())
  }

  #anyType(): string {
    const letter = this.#peek()
    const basic = basicTypes[letter]
    if (basic !== undefined) {
      this.#at += 1
      return basic
    }
    if ('CMXYNI'.includes(letter)) return this.#path(false)
    this.#at += 1
    switch (letter) {
      case 'A': {
        const type = this.#type()
        return this.#join('[', type, '; ', this.#constant(), ']')
      }
      case 'S':
        return this.#join('[', this.#type(), ']')
      case 'T': {
        const types: string[] = []
        while (!this.#take('E')) types.push(this.#type())
        return this.#join('(', types.join(', '), types.length === 1 ? ',' : '', ')')
      }
      case 'R':
      case 'Q': {
        const lifetime = this.#take('L') ? this.#base62() : 0
        const name = lifetime === 0 ? '' : `${this.#lifetime(lifetime)} `
        return this.#join('&', name, letter === 'Q' ? 'mut ' : '', this.#type())
      }
      case 'P':
        return this.#join('*const ', this.#type())
      case 'O':
        return this.#join('*mut ', this.#type())
      case 'F':
        return this.#bound(() => this.#function())
      case 'D':
        return this.#dynamic()
      case 'B':
        return this.#earlier(() => this.#type())
      default:
        throw new UnknownName('an unknown type')
    }
  }

  #function(): string {
    const unsafe = this.#take('U') ? 'unsafe ' : ''
    const abi = this.#take('K') ? `extern "${this.#take('C') ? 'C' : this.#identifier().replaceAll('_', '-')}" ` : ''
    const types: string[] = []
    while (!this.#take('E')) types.push(this.#type())
    const result = this.#take('u') ? '' : ` -> ${this.#type()}`
    return this.#join(unsafe, abi, 'fn(', types.join(', '), ')', result)
  }

  #dynamic(): string {
    const bounds = this.#bound(() => {
      const traits: string[] = []
      while (!this.#take('E')) traits.push(this.#trait())
      return this.#join(traits.join(' + '))
    })
    const text = this.#join('dyn ', bounds)
    if (!this.#take('L')) throw new UnknownName('no lifetime')
    const lifetime = this.#base62()
    return lifetime === 0 ? text : this.#join(text, ' + ', this.#lifetime(lifetime))
  }

  /** A trait, with the types that belong to it among its generic arguments. */
  #trait(): string {
    const path = this.#path(false)
    const types: string[] = []
    while (this.#take('p')) types.push(this.#join(this.#identifier(), ' = ', this.#type()))
    if (types.length === 0) return path
    return path.endsWith('>')
      ? this.#join(path.slice(0, -1), ', ', types.join(', '), '>')
      : this.#join(path, '<', types.join(', '), '>')
  }

  #constant(): string {
    return this.#nested(() => {
      const type = this.#next()
      if (type === 'B') return this.#earlier(() => this.#constant())
      if (type === 'p') return '_'
      const sign = this.#take('n') ? '-' : ''
      const digits = /^[0-9a-f]*(?=_)/.exec(this.#text.slice(this.#at, this.#at + 64))?.[0]
      if (digits === undefined) throw new UnknownName('no number')
      this.#at += digits.length + 1
      const value = BigInt(`0x0${digits}`)
      if (type === 'b') return value === 1n ? 'true' : 'false'
      if (type === 'c') return value <= 0x10ffffn ? `'${String.fromCodePoint(Number(value))}'` : '_'
      if (!'ahijlmnostxy'.includes(type)) throw new UnknownName('an unknown constant')
      return `${sign}${value}`
    })
  }
}

/** Decodes punycode (RFC 3492), of which Rust separates the ASCII characters by `_`. */
function fromPunycode(text: string): string {
  const split = text.lastIndexOf('_')
  const characters = [...(split === -1 ? '' : text.slice(0, split))]
  const digits = split === -1 ? text : text.slice(split + 1)
  let [code, position, bias, at] = [128, 0, 72, 0]
  while (at < digits.length) {
    const start = position
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = 'abcdefghijklmnopqrstuvwxyz0123456789'.indexOf(digits[at++] ?? ' ')
      if (digit === -1 || position > 2 ** 31) throw new UnknownName('no punycode')
      position += digit * weight
      const threshold = Math.min(26, Math.max(1, k - bias))
      if (digit < threshold) break
      weight *= 36 - threshold
    }
    const count = characters.length + 1
    let delta = start === 0 ? Math.floor((position - start) / 700) : (position - start) >> 1
    delta += Math.floor(delta / count)
    let k = 0
    for (; delta > 455; k += 36) delta = Math.floor(delta / 35)
    bias = k + Math.floor((36 * delta) / (delta + 38))
    code += Math.floor(position / count)
    if (code > 0x10ffff) throw new UnknownName('no punycode')
    position %= count
    characters.splice(position, 0, String.fromCodePoint(code))
    position += 1
  }
  return characters.join('')
}
