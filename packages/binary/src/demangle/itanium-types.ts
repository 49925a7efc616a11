import { ItaniumExpressions } from './itanium-expressions.ts'
import { UnknownName, listOf, textOf, type Part } from './itanium-reader.ts'
import { builtinTypes, extendedTypes, standardNames } from './itanium-tables.ts'

/** A name, and what its encoding must know about it. */
export interface Name extends Part {
  /** Whether the name ends with template arguments. Then its function has a return type. */
  readonly isTemplate?: boolean
  /** Whether it is a constructor, a destructor or a conversion, which have no return type. */
  readonly isSpecial?: boolean
  /** The qualifiers of a member function. */
  readonly qualifiers?: string
}

/** The mark of a template parameter in the type of a conversion, whose arguments follow. */
export const LATER = '\u0001'

/** Types, their template arguments, and references to earlier parts (Itanium C++ ABI, sections 5.1.5 and 5.1.10). */
export abstract class ItaniumTypes extends ItaniumExpressions {
  /** Whether the type of a conversion is read, whose template arguments follow. */
  protected isConversion = false

  protected abstract name(): Name

  protected parameters(isEnd: () => boolean): string {
    const types: Part[] = []
    while (!isEnd()) types.push(this.type())
    const text = listOf(types)
    return this.text('(', text === 'void' ? '' : text, ')')
  }

  protected substitution(isScope = false): Name {
    this.expect('S')
    const standard = standardNames[this.peek()]
    if (standard === undefined) {
      const part = this.backReference()
      // A reference to a parameter is to that of the template in which the reference is.
      return (part.parameter === undefined ? undefined : this.#argumentOf(part.parameter)) ?? part
    }
    this.position += 1
    const isInitial = isScope && /^(?:[CD][0-5])/.test(this.peek(2))
    let name: Name = { left: standard[isInitial ? 2 : 0], right: '', base: standard[1] }
    while (this.take('B'))
      name = this.remember({ ...name, left: this.text(name.left, '[abi:', this.sourceName(), ']') })
    return name
  }

  protected type(): Part {
    return this.nested(() => this.#type())
  }

  #type(): Part {
    const start = this.peek()
    const builtin = builtinTypes[start]
    if (builtin !== undefined) {
      this.position += 1
      return { left: builtin, right: '' }
    }
    if (/[rVK]/.test(start)) {
      const qualifiers = qualifierText(this.while(/[rVK]/))
      // The qualifiers of a function are a part of its type.
      if (this.#isFunctionType) {
        const type = this.#functionType()
        return this.remember({ ...type, right: this.text(type.right, qualifiers) })
      }
      return this.remember(this.#qualified(this.type(), qualifiers))
    }
    if (this.take('P')) return this.remember(this.#pointer(this.type(), '*'))
    if (this.take('R')) return this.remember(this.#reference(this.type(), '&'))
    if (this.take('O')) return this.remember(this.#reference(this.type(), '&&'))
    if (this.#isFunctionType) return this.remember(this.#functionType())
    if (this.take('A')) return this.remember(this.#array())
    if (this.take('M')) {
      const scope = textOf(this.type())
      return this.remember(this.#memberPointer(scope, this.type()))
    }
    if (this.take('C')) return this.remember({ left: this.text(textOf(this.type()), ' _Complex'), right: '' })
    if (this.take('G')) return this.remember({ left: this.text(textOf(this.type()), ' _Imaginary'), right: '' })
    if (this.take('u')) return this.remember({ left: this.sourceName(), right: '' })
    if (this.take('U')) {
      const qualifier = this.sourceName() + (this.peek() === 'I' ? this.templateArgumentsText() : '')
      const type = this.type()
      return this.remember({ ...type, left: this.text(type.left, ' ', qualifier) })
    }
    if (start === 'D') return this.#extendedType()
    if (start === 'T') return this.#parameterType()
    if (start === 'S' && this.peek(2) !== 'St') {
      const known = this.substitution()
      if (this.peek() !== 'I') return known
      return this.remember(this.#typeInstance(known))
    }
    const outer = this.templateArguments
    const name = this.name()
    this.templateArguments = outer
    return this.remember({ ...name, left: this.text(name.left, name.qualifiers ?? '') })
  }

  #typeInstance(name: Part): Part {
    const args = this.templateArgumentList()
    return { ...name, left: this.text(name.left, argumentsText(name.left, args)) }
  }

  #qualified(type: Part, qualifiers: string): Part {
    if (type.pack !== undefined) return { ...type, pack: type.pack.map((one) => this.#qualified(one, qualifiers)) }
    // A qualifier that the type already has changes nothing.
    const missing = qualifiers.match(/ \w+/g)!.filter((one) => !type.left.endsWith(one))
    return { ...type, left: this.text(type.left, ...missing) }
  }

  #pointer(type: Part, mark: string): Part {
    if (type.pack !== undefined) return { ...type, pack: type.pack.map((one) => this.#pointer(one, mark)) }
    if (type.isFunction === true || type.isArray === true) {
      const right = type.isFunction === true ? type.right.trimStart() : type.right
      return { left: this.text(type.left, ' (', mark), right: this.text(')', right) }
    }
    return { left: this.text(type.left, mark), right: type.right }
  }

  #reference(type: Part, mark: '&' | '&&'): Part {
    if (type.pack !== undefined) return { ...type, pack: type.pack.map((one) => this.#reference(one, mark)) }
    if (type.reference === '&' || (type.reference === '&&' && mark === '&&')) return type
    if (type.reference === '&&') return { ...type, left: type.left.slice(0, -1), reference: '&' }
    return { ...this.#pointer(type, mark), reference: mark }
  }

  #memberPointer(scope: string, type: Part): Part {
    if (type.isFunction !== true) return { left: this.text(type.left, ' ', scope, '::*'), right: type.right }
    return { left: this.text(type.left, ' (', scope, '::*'), right: this.text(')', type.right.trimStart()) }
  }

  get #isFunctionType(): boolean {
    return this.peek() === 'F' || /^D[oOwx]/.test(this.peek(2))
  }

  #functionType(): Part {
    let suffix = ''
    if (this.take('Do')) suffix = ' noexcept'
    else if (this.take('DO')) {
      suffix = this.text(' noexcept(', this.expression(), ')')
      this.expect('E')
    } else if (!this.take('Dx')) this.take('Dw')
    this.expect('F')
    this.take('Y')
    const result = this.type()
    const isEnd = (): boolean => this.peek() === 'E' || /^[RO]E$/.test(this.peek(2))
    const parameters = this.parameters(isEnd)
    const reference = this.take('R') ? ' &' : this.take('O') ? ' &&' : ''
    this.expect('E')
    return {
      left: result.left,
      right: this.text(' ', parameters, reference, suffix, result.right),
      isFunction: true,
    }
  }

  #array(): Part {
    const isNumber = /\d/.test(this.peek())
    const size = isNumber ? String(this.number()) : this.peek() === '_' ? '' : this.expression()
    this.expect('_')
    const element = this.type()
    const right = element.isArray === true ? element.right.trimStart() : element.right
    return { left: element.left, right: this.text(' [', size, ']', right), isArray: true }
  }

  #extendedType(): Part {
    const code = this.peek(2)
    const known = extendedTypes[code.slice(1)]
    this.position += 2
    if (known !== undefined) return { left: known, right: '' }
    switch (code) {
      case 'Dp':
        return this.remember(this.#expansion())
      case 'Dt':
      case 'DT': {
        const text = this.text('decltype (', this.expression(), ')')
        this.expect('E')
        return this.remember({ left: text, right: '' })
      }
      case 'Dv': {
        const size = /\d/.test(this.peek()) ? String(this.number()) : this.take('_') ? this.expression() : ''
        this.expect('_')
        return this.remember({ left: this.text(textOf(this.type()), ` __vector(${size})`), right: '' })
      }
      case 'DF': {
        const bits = this.number()
        if (this.take('b')) return { left: 'std::bfloat16_t', right: '' }
        const isExtended = this.take('x')
        if (!isExtended) this.expect('_')
        return { left: `_Float${bits}${isExtended ? 'x' : ''}`, right: '' }
      }
      default:
        throw new UnknownName(`the unknown type ${code}`)
    }
  }

  /** A pattern that is repeated for each element of the packs in it. */
  #expansion(): Part {
    const start = this.position
    const known = this.parts.length
    const [element, size] = [this.packElement, this.packSize]
    this.packElement = 0
    this.packSize = undefined
    const elements: Part[] = []
    const first = this.type()
    const count = this.packSize as number | undefined
    for (let index = 0; index < (count ?? 0); index += 1) {
      this.position = start
      this.parts.length = known
      this.packElement = index
      elements.push(this.type())
    }
    this.packElement = element
    this.packSize = size
    return count === undefined ? { ...first, right: `${first.right}...` } : { left: '', right: '', pack: elements }
  }

  protected templateParameter(): Part {
    this.expect('T')
    const index = this.sequenceNumber()
    if (this.isConversion && this.templateArguments === undefined)
      return { left: `${LATER}${index}${LATER}`, right: '' }
    const argument = this.#argumentOf(index)
    if (argument === undefined) throw new UnknownName(`no template argument ${index}`)
    return { ...argument, parameter: index }
  }

  /** The template argument to which `T_` refers, which is an element within the expansion of a pack. */
  #argumentOf(index: number): Part | undefined {
    const argument = this.templateArguments?.[index]
    if (argument?.pack === undefined || this.packElement === undefined) return argument
    this.packSize = argument.pack.length
    return argument.pack[this.packElement] ?? { left: '', right: '' }
  }

  #parameterType(): Part {
    const kind = this.peek(2)
    if (kind === 'Ts' || kind === 'Tu' || kind === 'Te') {
      this.position += 2
      return this.name()
    }
    const parameter = this.remember(this.templateParameter())
    // The arguments behind the type of a conversion are those of the conversion.
    const isTemplate = this.peek() === 'I' && !parameter.left.startsWith(LATER)
    return isTemplate ? this.remember(this.#typeInstance(parameter)) : parameter
  }

  protected templateArgumentList(): Part[] {
    this.expect('I')
    return this.nested(() => {
      const args: Part[] = []
      while (!this.take('E')) args.push(this.#templateArgument())
      return args
    })
  }

  protected templateArgumentsText(): string {
    return argumentsText('', this.templateArgumentList())
  }

  #templateArgument(): Part {
    if (this.peek() === 'L') return { left: this.literal(), right: '' }
    if (this.take('X')) {
      const text = this.expression()
      this.expect('E')
      return { left: text, right: '' }
    }
    if (!this.take('J')) return this.type()
    const pack: Part[] = []
    while (!this.take('E')) pack.push(this.#templateArgument())
    return { left: '', right: '', pack: pack.flatMap((one) => one.pack ?? [one]) }
  }
}

export function qualifierText(letters: string): string {
  return [...letters]
    .map((letter) => (letter === 'K' ? ' const' : letter === 'V' ? ' volatile' : ' restrict'))
    .toReversed()
    .join('')
}

/** Template arguments in angle brackets, which are kept apart from others and from the operator `<`. */
export function argumentsText(name: string, args: readonly Part[]): string {
  const text = listOf(args)
  return `${name.endsWith('<') ? ' ' : ''}<${text}${text.endsWith('>') ? ' ' : ''}>`
}
