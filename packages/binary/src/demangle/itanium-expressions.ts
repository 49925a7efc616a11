import { ItaniumReader, UnknownName, textOf, type Part } from './itanium-reader.ts'
import { literalSuffixes, operators } from './itanium-tables.ts'

/** Expressions in template arguments and in `decltype` (Itanium C++ ABI, section 5.1.6). */
export abstract class ItaniumExpressions extends ItaniumReader {
  protected abstract type(): Part
  protected abstract encoding(isTop: boolean): string
  protected abstract templateParameter(): Part
  protected abstract templateArgumentsText(): string
  protected abstract operatorName(): string | undefined

  /** `L <type> <number> E`, or `L _Z <encoding> E`. */
  protected literal(): string {
    this.expect('L')
    if (this.take('_Z') || this.take('Z')) {
      const text = this.encoding(false)
      this.expect('E')
      return text
    }
    const type = textOf(this.type())
    const value = this.while(/[^E]/).replace(/^n/, '-')
    this.expect('E')
    if (type === 'bool' && (value === '0' || value === '1')) return value === '1' ? 'true' : 'false'
    if (type === 'decltype(nullptr)') return value === '' || value === '0' ? 'nullptr' : `(${type})${value}`
    const suffix = literalSuffixes[type]
    if (suffix !== undefined && /^-?\d+$/.test(value)) return value + suffix
    if (/^(float|double|long double|__float128)$/.test(type)) return `(${type})[${value}]`
    return `(${type})${value}`
  }

  protected expression(): string {
    return this.nested(() => this.#expression())
  }

  #expression(): string {
    const start = this.peek(2)
    if (start.startsWith('L')) return this.literal()
    if (start.startsWith('T')) return textOf(this.templateParameter())
    if (/^\d/.test(start)) return this.#simpleName()
    if (this.take('fp') || this.take('fL')) return this.#functionParameter(start === 'fL')
    if (this.take('sr')) return this.#scoped()
    if (this.take('on')) return `operator${this.operatorName() ?? this.#unknown()}`
    if (this.take('cl')) return this.#call()
    if (this.take('cv')) return this.#conversion()
    if (this.take('tl')) return this.text(textOf(this.type()), '{', this.#list(), '}')
    if (this.take('il')) return this.text('{', this.#list(), '}')
    if (this.take('dt')) return this.text(this.#operand(), '.', this.expression())
    if (this.take('pt')) return this.text(this.#operand(), '->', this.expression())
    if (this.take('ix')) return this.text(this.#operand(), '[', this.expression(), ']')
    if (this.take('st')) return this.text('sizeof (', textOf(this.type()), ')')
    if (this.take('sz')) return this.text('sizeof (', this.expression(), ')')
    if (this.take('at')) return this.text('alignof (', textOf(this.type()), ')')
    if (this.take('az')) return this.text('alignof (', this.expression(), ')')
    if (this.take('nx')) return this.text('noexcept(', this.expression(), ')')
    if (this.take('sZ')) return this.#sizeOfPack()
    if (this.take('sp')) return this.text(this.#operand(), '...')
    if (this.take('tw')) return this.text('throw ', this.expression())
    for (const [code, name] of casts) {
      if (this.take(code)) return this.text(name, '<', textOf(this.type()), '>(', this.expression(), ')')
    }
    return this.#operation()
  }

  #operation(): string {
    const found = operators[this.peek(2)]
    if (found === undefined) return this.#unknown()
    const [text, operands] = found
    this.position += 2
    if (operands === 1) return this.text(text, this.#operand())
    if (operands === 2) {
      const left = this.#operand()
      const operation = this.text(left, text, this.#operand())
      // A bare > would end the template arguments.
      return text === '>' ? `(${operation})` : operation
    }
    if (operands === 3) {
      const condition = this.#operand()
      const first = this.#operand()
      return this.text(condition, '?', first, ' : ', this.#operand())
    }
    if (text === '++' || text === '--') {
      const isPrefix = this.take('_')
      return isPrefix ? this.text(text, this.#operand()) : this.text(this.#operand(), text)
    }
    return this.#unknown()
  }

  /** An operand, in parentheses unless it is a name. */
  #operand(): string {
    const isName = /^(fp|fL|sr|\d|il|tl)/.test(this.peek(2))
    const text = this.expression()
    return isName ? text : this.text('(', text, ')')
  }

  #list(): string {
    const parts: string[] = []
    while (!this.take('E')) parts.push(this.expression())
    return this.text(parts.join(', '))
  }

  #call(): string {
    const name = this.#operand()
    return this.text(name, '(', this.#list(), ')')
  }

  #conversion(): string {
    const type = textOf(this.type())
    if (this.take('_')) return this.text('(', type, ')(', this.#list(), ')')
    return this.text('(', type, ')', this.#operand())
  }

  #sizeOfPack(): string {
    if (this.peek() !== 'T') return this.text('sizeof...(', this.expression(), ')')
    const { pack } = this.templateParameter()
    return pack === undefined ? this.#unknown() : String(pack.length)
  }

  #functionParameter(isOuter: boolean): string {
    if (isOuter) {
      this.number()
      this.expect('p')
    }
    if (!isOuter && this.take('T')) return 'this'
    this.while(/[rVK]/)
    return `{parm#${this.sequenceNumber() + 1}}`
  }

  /** `sr <type> <name>`: a member of a type that depends on template parameters. */
  #scoped(): string {
    if (this.take('N')) {
      let text = textOf(this.type())
      while (!this.take('E')) text = this.text(text, '::', this.#simpleName())
      return this.text(text, '::', this.#simpleName())
    }
    if (/\d/.test(this.peek())) {
      let name = this.#simpleName()
      while (this.peek() !== 'E') name = this.text(name, '::', this.#simpleName())
      if (!/^E(\d|on)/.test(this.peek(3))) return name
      this.expect('E')
      return this.text(name, '::', this.#simpleName())
    }
    const type = textOf(this.type())
    return this.text(type, '::', this.#simpleName())
  }

  #simpleName(): string {
    const name = this.take('on') ? `operator${this.operatorName() ?? this.#unknown()}` : this.sourceName()
    return this.peek() === 'I' ? this.text(name, this.templateArgumentsText()) : name
  }

  #unknown(): never {
    throw new UnknownName(`an unknown expression at ${this.position}`)
  }
}

const casts: readonly (readonly [code: string, name: string])[] = [
  ['sc', 'static_cast'],
  ['dc', 'dynamic_cast'],
  ['rc', 'reinterpret_cast'],
  ['cc', 'const_cast'],
]
