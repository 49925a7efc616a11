import { UnknownName, textOf, type Part } from './itanium-reader.ts'
import { operators, specialNames, specialTypes } from './itanium-tables.ts'
import { ItaniumTypes, LATER, argumentsText, qualifierText, type Name } from './itanium-types.ts'

/** The longest mangled name that is read. */
const MAX_NAME = 16_384

/**
 * The C++ name of a symbol (Itanium C++ ABI, section 5.1), as `c++filt -i` prints it: `_ZN4deep3BoxIiE3getEv` is `deep::Box<int>::get()`. Undefined
 * for other symbols, and for names that use rare parts of the grammar or are unreasonably large.
 */
export function demangleItanium(symbol: string): string | undefined {
  if (!symbol.startsWith('_Z') || symbol.length > MAX_NAME) return undefined
  // Compilers add suffixes to the names of copies and parts of functions.
  const suffixAt = symbol.search(/\.[a-z_]|\.\d/i)
  const end = suffixAt === -1 ? symbol.length : suffixAt
  try {
    const text = new ItaniumParser(symbol, 2, end).whole()
    return text + clonesOf(symbol.slice(end))
  } catch (error) {
    if (error instanceof UnknownName) return undefined
    throw error
  }
}

function clonesOf(suffix: string): string {
  return [...suffix.matchAll(/\.(?:[a-z_]+(?:\.\d+)*|\d+)/gi)].map(([clone]) => ` [clone ${clone}]`).join('')
}

class ItaniumParser extends ItaniumTypes {
  whole(): string {
    const text = this.encoding(true)
    if (!this.isAtEnd) throw new UnknownName('more text')
    return text
  }

  protected encoding(isTop: boolean): string {
    return this.nested(() => this.#encoding(isTop))
  }

  #encoding(isTop: boolean): string {
    const special = this.#specialName()
    if (special !== undefined) return special
    const outer = this.templateArguments
    this.templateArguments = undefined
    const name = this.name()
    const text = this.#function(name, isTop)
    if (!isTop) this.templateArguments = outer ?? this.templateArguments
    return text
  }

  #function(name: Name, isTop: boolean): string {
    if (this.isAtEnd || this.peek() === 'E') return textOf(name)
    const result = name.isTemplate === true && name.isSpecial !== true ? this.type() : undefined
    const parameters = this.parameters(() => this.isAtEnd || this.peek() === 'E' || (isTop && this.peek() === '.'))
    const text = this.text(name.left, parameters, name.qualifiers ?? '')
    // The name of what is within a function does not have the type of its result.
    if (result === undefined || !isTop) return text
    return this.text(result.left, result.left.endsWith('*') && result.right !== '' ? '' : ' ', text, result.right)
  }

  #specialName(): string | undefined {
    const code = this.peek(2)
    const typed = specialTypes[code]
    const named = specialNames[code]
    if (typed !== undefined) {
      this.position += 2
      return this.text(typed, textOf(this.type()))
    }
    if (named !== undefined) {
      this.position += 2
      return this.text(named, textOf(this.name()))
    }
    if (this.take('GR')) {
      const name = textOf(this.name())
      const number = this.isAtEnd ? 0 : this.sequenceNumber()
      return this.text(`reference temporary #${number} for `, name)
    }
    if (this.take('GTt')) return this.text('transaction clone for ', this.encoding(true))
    if (this.take('TC')) {
      const derived = textOf(this.type())
      this.number()
      this.expect('_')
      return this.text('construction vtable for ', textOf(this.type()), '-in-', derived)
    }
    if (this.take('Tc')) {
      this.#callOffset()
      this.#callOffset()
      return this.text('covariant return thunk to ', this.encoding(true))
    }
    if (code !== 'Th' && code !== 'Tv') return undefined
    this.position += 1
    this.#callOffset()
    return this.text(code === 'Th' ? 'non-virtual thunk to ' : 'virtual thunk to ', this.encoding(true))
  }

  #callOffset(): void {
    const isVirtual = this.take('v')
    if (!isVirtual) this.expect('h')
    for (let left = isVirtual ? 2 : 1; left > 0; left -= 1) {
      this.take('n')
      this.number()
      this.expect('_')
    }
  }

  protected name(): Name {
    return this.nested(() => {
      if (this.peek() === 'N') return this.#nestedName()
      if (this.peek() === 'Z') return this.#localName()
      if (this.peek() === 'S' && this.peek(2) !== 'St') {
        const known = this.substitution()
        return this.peek() === 'I' ? this.#instance(known) : known
      }
      const isStandard = this.take('St')
      const name = this.#unqualified(undefined)
      const full = isStandard ? { ...name, left: this.text('std::', name.left) } : name
      if (this.peek() !== 'I') return full
      this.remember(full)
      return this.#instance(full)
    })
  }

  /** Adds template arguments, to which the following types refer. */
  #instance(name: Name): Name {
    const args = this.templateArgumentList()
    this.templateArguments = args
    const left = name.left.includes(LATER) ? this.#withLater(name.left, args) : name.left
    return { ...name, left: this.text(left, argumentsText(left, args)), isTemplate: true }
  }

  #withLater(text: string, args: readonly Part[]): string {
    return text.replaceAll(new RegExp(`${LATER}(\\d+)${LATER}`, 'g'), (_, index: string) => {
      const arg = args[Number(index)]
      if (arg === undefined) throw new UnknownName('no such argument')
      return textOf(arg)
    })
  }

  #nestedName(): Name {
    this.expect('N')
    const qualifiers = this.while(/[rVK]/)
    const reference = this.take('R') ? ' &' : this.take('O') ? ' &&' : ''
    let name: Name | undefined
    while (!this.take('E')) {
      this.take('L')
      const next = this.peek()
      if (next === 'I') {
        if (name === undefined) throw new UnknownName('no name')
        name = this.#instance(name)
      } else if (next === 'S' && this.peek(2) !== 'St') {
        name = this.substitution(true)
        continue
      } else if (next === 'T' && name === undefined) {
        name = this.templateParameter()
        continue
      } else if (next === 'D' && /^D[tT]/.test(this.peek(2)) && name === undefined) {
        name = this.type()
        continue
      } else if (this.take('St')) {
        name = { left: 'std', right: '' }
        continue
      } else if (next === 'M') {
        this.position += 1
        continue
      } else {
        const part = this.#unqualified(name)
        name = name === undefined ? part : { ...part, left: this.text(textOf(name), '::', part.left) }
      }
      if (this.peek() !== 'E') this.remember(name)
    }
    if (name === undefined) throw new UnknownName('no name')
    return { ...name, qualifiers: qualifierText(qualifiers) + reference }
  }

  #localName(): Name {
    this.expect('Z')
    const scope = this.encoding(false)
    this.expect('E')
    if (this.take('s')) {
      this.#discriminator()
      return { left: this.text(scope, '::string literal'), right: '' }
    }
    let argument = ''
    if (this.take('d')) argument = `{default arg#${this.sequenceNumber() + 1}}::`
    const name = this.name()
    this.#discriminator()
    return { ...name, left: this.text(scope, '::', argument, name.left) }
  }

  #discriminator(): void {
    if (this.take('__')) {
      this.number()
      this.expect('_')
    } else if (this.peek() === '_' && /^_\d$/.test(this.peek(2))) this.position += 2
  }

  #unqualified(scope: Name | undefined): Name {
    this.take('L')
    const start = this.peek()
    let name: Name
    if (/\d/.test(start)) {
      const text = this.sourceName()
      name = { left: text, right: '', base: text }
    } else if (this.take('DC')) {
      const names: string[] = []
      while (!this.take('E')) names.push(this.sourceName())
      name = { left: this.text('[', names.join(', '), ']'), right: '' }
    } else if (start === 'C' && /^C[1-5I]/.test(this.peek(2))) {
      this.position += 1
      const isInherited = this.take('I')
      this.position += 1
      if (isInherited) this.type()
      name = { left: scope?.base ?? '', right: '', base: scope?.base ?? '', isSpecial: true }
    } else if (/^D[0-5]/.test(this.peek(2))) {
      this.position += 2
      name = { left: `~${scope?.base ?? ''}`, right: '', isSpecial: true }
    } else if (this.take('Ut')) {
      name = { left: `{unnamed type#${this.sequenceNumber() + 1}}`, right: '' }
      if (this.peek() === 'E') this.remember(name)
    } else if (this.take('Ul')) name = this.#lambda()
    else if (this.take('cv')) {
      const outer = this.isConversion
      this.isConversion = this.templateArguments === undefined || this.peek(40).includes('T')
      const type = textOf(this.type())
      this.isConversion = outer
      name = { left: this.text('operator ', type), right: '', isSpecial: true }
    } else {
      const operator = this.operatorName()
      if (operator === undefined) throw new UnknownName(`an unknown name at ${this.position}`)
      name = { left: `operator${operator}`, right: '' }
    }
    while (this.take('B')) name = { ...name, left: this.text(name.left, '[abi:', this.sourceName(), ']') }
    return name
  }

  protected operatorName(): string | undefined {
    if (this.take('li')) return `"" ${this.sourceName()}`
    const found = operators[this.peek(2)]
    if (found === undefined) return undefined
    this.position += 2
    return found[0]
  }

  #lambda(): Name {
    const outer = this.templateArguments
    // The parameters of a generic lambda are template parameters of its own.
    this.templateArguments = Array.from({ length: 8 }, (_, index) => ({ left: `auto:${index + 1}`, right: '' }))
    const parameters = this.parameters(() => this.peek() === 'E')
    this.templateArguments = outer
    this.expect('E')
    return { left: this.text('{lambda', parameters, `#${this.sequenceNumber() + 1}}`), right: '' }
  }
}
