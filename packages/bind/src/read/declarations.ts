import type {
  CType,
  EnumDeclaration,
  FunctionCType,
  FunctionDeclaration,
  Place,
  RecordDeclaration,
  TypedefDeclaration,
  VariableDeclaration,
} from './c-types.ts'
import { withoutTypedefs } from './c-types.ts'
import { takeAttributes } from './specifiers.ts'
import { SyntaxProblem, TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'
import { type Declarator, type Specifiers, TypeReader } from './type-reader.ts'

/** The declarations of preprocessed headers, in their order. */
export interface Declarations {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>
  readonly variables: ReadonlyMap<string, VariableDeclaration>
  readonly typedefs: ReadonlyMap<string, TypedefDeclaration>
  readonly records: readonly RecordDeclaration[]
  readonly enums: readonly EnumDeclaration[]
  /** Declarations that could not be read, each with its reason. */
  readonly problems: readonly { readonly place: Place; readonly message: string }[]
}

/**
 * Reads the declarations of C that headers have: of functions, variables, types and static assertions. Bodies of functions, initialisers
 * and attributes are skipped. Expressions (sizes of arrays, widths of bit-fields) stay text, because the compiler evaluates them.
 *
 * A declaration that it does not understand is reported in {@link Declarations.problems}, and reading goes on after it.
 */
export function readDeclarations(tokens: readonly Token[]): Declarations {
  return new DeclarationReader(tokens).read()
}

class DeclarationReader {
  readonly #reader: TokenReader
  readonly #types: TypeReader
  readonly #functions = new Map<string, FunctionDeclaration>()
  readonly #variables = new Map<string, VariableDeclaration>()
  readonly #problems: { place: Place; message: string }[] = []

  constructor(tokens: readonly Token[]) {
    this.#reader = new TokenReader(tokens)
    this.#types = new TypeReader(this.#reader)
  }

  read(): Declarations {
    while (!this.#reader.isAtEnd) {
      const start = this.#reader.position
      try {
        this.#external()
      } catch (error) {
        if (!(error instanceof SyntaxProblem)) throw error
        this.#problems.push({ place: error.place, message: error.message })
        this.#reader.returnTo(start)
        this.#skipDeclaration()
      }
    }
    return {
      functions: this.#functions,
      variables: this.#variables,
      typedefs: this.#types.typedefs,
      records: this.#types.records,
      enums: this.#types.enums,
      problems: this.#problems,
    }
  }

  /** Skips what could not be read: to the next semicolon outside brackets, or a body that no semicolon follows. */
  #skipDeclaration(): void {
    while (!this.#reader.isAtEnd) {
      const { text, kind } = this.#reader.next
      if (kind === 'punctuator' && (text === '(' || text === '{' || text === '[')) {
        try {
          this.#reader.takeBrackets()
        } catch (error) {
          if (!(error instanceof SyntaxProblem)) throw error
          return
        }
        if (text === '{' && isDeclarationStart(this.#reader.next)) return
      } else {
        this.#reader.take()
        if (text === ';') return
      }
    }
  }

  #external(): void {
    const reader = this.#reader
    if (reader.takeIf(';')) return
    if (reader.next.kind === 'name' && /^(?:_Static_assert|static_assert|__asm__|__asm|asm)$/.test(reader.next.text)) {
      reader.take()
      takeAttributes(reader)
      reader.takeBrackets()
      reader.takeIf(';')
      return
    }
    const specifiers = this.#types.specifiers()
    if (reader.takeIf(';')) return
    for (;;) {
      const declarator = this.#types.declarator(specifiers)
      const { name } = declarator
      if (!name) throw reader.problem('expected a name')
      const { symbol, changesType } = this.#afterDeclarator()
      const type: CType = changesType ? { kind: 'unsupported', text: 'a vector type' } : declarator.type
      if (reader.next.text === '{') {
        reader.takeBrackets()
        this.#declare(specifiers, { ...declarator, name, type }, symbol, true)
        reader.takeIf(';')
        return
      }
      if (reader.takeIf('=')) reader.takeUntil(',', ';')
      this.#declare(specifiers, { ...declarator, name, type }, symbol, false)
      if (reader.takeIf(';')) return
      reader.expect(',')
    }
  }

  #declare(
    specifiers: Specifiers,
    declarator: Declarator & { name: Token },
    symbol: string | undefined,
    hasBody: boolean,
  ): void {
    const { text: name, file, line } = declarator.name
    const { type } = declarator
    const place = { file, line }
    if (specifiers.isTypedef) {
      if (!this.#types.typedefs.has(name))
        this.#types.typedefs.set(name, { name, type, isConst: declarator.isConst, place })
      // A typedef is how users name the type, also where it has a tag.
      if (type.kind === 'record' && (type.record.spelling ?? tagOf(type.record)) === tagOf(type.record))
        type.record.spelling = name
      if (type.kind === 'enum') type.enumeration.spelling ??= name
      return
    }
    const resolved = withoutTypedefs(type)
    if (resolved.kind === 'function') {
      const known = this.#functions.get(name)
      const isInlineFunction = hasBody || specifiers.isStatic || known?.isInline === true
      // The first place is where the comment is; a later declaration may be the one that names the parameters.
      const best = known && namesParameters(known.type) >= namesParameters(resolved) ? known.type : resolved
      this.#functions.set(name, {
        name,
        type: best,
        place: known?.place ?? place,
        symbol: symbol ?? known?.symbol,
        isInline: isInlineFunction,
      })
      return
    }
    if (specifiers.isStatic && !this.#variables.has(name)) return
    this.#variables.set(name, {
      name,
      type,
      isConst: declarator.isConst,
      isThreadLocal: specifiers.isThreadLocal,
      place,
    })
  }

  /** Takes `__asm__("symbol")` and attributes. */
  #afterDeclarator(): { symbol: string | undefined; changesType: boolean } {
    let { changesType } = takeAttributes(this.#reader)
    let symbol: string | undefined
    while (/^(?:__asm__|__asm|asm)$/.test(this.#reader.next.text)) {
      this.#reader.take()
      symbol = [...this.#reader.takeBrackets().matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]).join('')
      changesType = takeAttributes(this.#reader).changesType || changesType
    }
    return { symbol, changesType }
  }
}

const tagOf = ({ keyword, tag }: RecordDeclaration): string | undefined =>
  tag === undefined ? undefined : `${keyword} ${tag}`

const isDeclarationStart = ({ kind }: Token): boolean => kind === 'name'

const namesParameters = ({ parameters }: FunctionCType): number =>
  parameters.filter(({ name }) => name !== undefined).length
