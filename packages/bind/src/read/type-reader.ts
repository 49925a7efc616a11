import type {
  CType,
  EnumDeclaration,
  EnumeratorDeclaration,
  FunctionCType,
  MemberDeclaration,
  ParameterDeclaration,
  RecordDeclaration,
  TypedefDeclaration,
} from './c-types.ts'
import { withoutTypedefs } from './c-types.ts'
import { isBaseWord, isConst, isStorage, isThreadLocal, scalarName, takeAttributes } from './specifiers.ts'
import type { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'

/** The type and the words before the declarators of a declaration. */
export interface Specifiers {
  readonly type: CType
  readonly isConst: boolean
  readonly isTypedef: boolean
  readonly isStatic: boolean
  readonly isThreadLocal: boolean
}

/** A name with its type. */
export interface Declarator {
  readonly name: Token | undefined
  readonly type: CType
  readonly isConst: boolean
}

interface Base {
  readonly type: CType
  readonly isConst: boolean
}

/** The most levels of structs, parentheses, pointers, arrays and parameters in one another. */
const MOST_LEVELS = 200

/** A declarator in parentheses, as in `(*f)(int)`, or the parameters of a function type without a name, as in `int (int)`. */
const STARTS_GROUP = new Set(['*', '(', '[', '^'])

/** Reads types and declarators, and collects the structs and enumerations in them. */
export class TypeReader {
  readonly #reader: TokenReader
  readonly typedefs: Map<string, TypedefDeclaration> = new Map()
  readonly records: RecordDeclaration[] = []
  readonly enums: EnumDeclaration[] = []
  readonly #recordTags = new Map<string, RecordDeclaration>()
  readonly #enumTags = new Map<string, EnumDeclaration>()
  #level = 0

  constructor(reader: TokenReader) {
    this.#reader = reader
  }

  /** Reads a part that may have others of its kind inside. @throws {SyntaxProblem} if there are too many in one another */
  #nested<Part>(read: () => Part): Part {
    if (this.#level >= MOST_LEVELS) throw this.#reader.problem(`expected at most ${MOST_LEVELS} levels`)
    this.#level++
    try {
      return read()
    } finally {
      this.#level--
    }
  }

  /** The type and the words before the declarators. @throws {SyntaxProblem} */
  specifiers(): Specifiers {
    const reader = this.#reader
    const words: string[] = []
    let type: CType | undefined
    let isConstType = false
    const flags = { isTypedef: false, isStatic: false, isThreadLocal: false }
    let changesType = false
    for (;;) {
      changesType = takeAttributes(reader).changesType || changesType
      const { kind, text } = reader.next
      if (kind !== 'name') break
      if (isConst(text)) {
        isConstType = true
      } else if (text === 'typedef') {
        flags.isTypedef = true
      } else if (isStorage(text)) {
        if (text === 'static') flags.isStatic = true
        if (isThreadLocal(text)) flags.isThreadLocal = true
      } else if (text === '_Atomic') {
        reader.take()
        if (reader.next.text === '(') type = this.#typeInParentheses()
        continue
      } else if (isBaseWord(text) && !this.typedefs.has(text)) {
        // clang has no _Float32, and old headers no bool, so headers define them.
        if (flags.isTypedef && this.#isTypedefName(words, type)) break
        words.push(text)
      } else if (type !== undefined || words.length > 0) {
        break
      } else if (text === 'void') {
        type = { kind: 'void' }
      } else if (text === 'struct' || text === 'union') {
        type = this.#record(text)
        continue
      } else if (text === 'enum') {
        type = this.#enum()
        continue
      } else if (text === '__builtin_va_list' || text === '__gnuc_va_list') {
        type = { kind: 'va_list' }
      } else if (/^(?:typeof|__typeof__|__typeof|typeof_unqual|_BitInt|__auto_type)$/.test(text)) {
        const word = reader.take().text
        const operand = reader.next.text === '(' ? `(${reader.takeBrackets()})` : ''
        type = { kind: 'unsupported', text: `${word}${operand}` }
        continue
      } else {
        const typedef = this.typedefs.get(text)
        if (!typedef) throw reader.problem('expected a type')
        type = { kind: 'typedef', name: text, type: typedef.type, isConst: typedef.isConst }
        isConstType ||= typedef.isConst
      }
      reader.take()
    }
    if (words.length > 0) {
      const name = scalarName(words)
      if (name === undefined || type !== undefined) throw reader.problem(`"${words.join(' ')}" is not a type`)
      type = { kind: 'scalar', name }
    }
    if (!type) throw reader.problem('expected a type')
    if (changesType) type = { kind: 'unsupported', text: 'a vector type' }
    return { type, isConst: isConstType, ...flags }
  }

  /** Whether the next word, which is a type otherwise, is the name that a typedef defines. */
  #isTypedefName(words: readonly string[], type: CType | undefined): boolean {
    const { next, second } = this.#reader
    if (type === undefined && words.length === 0) return false
    return second.text === ';' && (type !== undefined || scalarName([...words, next.text]) === undefined)
  }

  #typeInParentheses(): CType {
    this.#reader.expect('(')
    const { type } = this.declarator(this.specifiers())
    this.#reader.expect(')')
    return type
  }

  /** A name, which may be missing, with the type that the base becomes. @throws {SyntaxProblem} */
  declarator(base: Base): Declarator {
    return this.#nested(() => this.#declarator(base))
  }

  #declarator(base: Base): Declarator {
    const reader = this.#reader
    let { type, isConst: isConstType } = base
    takeAttributes(reader)
    for (let stars = 0; reader.next.text === '*' || reader.next.text === '^'; stars++) {
      if (stars >= MOST_LEVELS) throw reader.problem(`expected at most ${MOST_LEVELS} levels`)
      reader.take()
      type = { kind: 'pointer', to: type, toConst: isConstType }
      isConstType = false
      for (;;) {
        takeAttributes(reader)
        const { text } = reader.next as Token
        if (!isConst(text) && text !== '_Atomic') break
        if (isConst(text)) isConstType = true
        reader.take()
      }
    }
    if (reader.next.text === '(' && this.#isGroup()) {
      // The suffixes behind the parentheses apply to the base, and the declarator inside them to the result.
      reader.take()
      const inside = reader.position
      reader.returnTo(inside - 1)
      reader.takeBrackets()
      const outer = this.#suffixes({ type, isConst: isConstType })
      const end = reader.position
      reader.returnTo(inside)
      const declarator = this.declarator(outer)
      reader.expect(')')
      reader.returnTo(end)
      return declarator
    }
    const name =
      reader.next.kind === 'name' && !/^(?:__asm__|__asm|asm)$/.test(reader.next.text) ? reader.take() : undefined
    if (takeAttributes(reader).changesType) type = { kind: 'unsupported', text: 'a vector type' }
    return { name, ...this.#suffixes({ type, isConst: isConstType }) }
  }

  #isGroup(): boolean {
    const { second } = this.#reader
    if (second.kind === 'punctuator') return STARTS_GROUP.has(second.text)
    return second.kind === 'name' && !this.#isTypeStart(second.text)
  }

  #isTypeStart(word: string): boolean {
    return (
      isBaseWord(word) ||
      isConst(word) ||
      /^(?:void|struct|union|enum|volatile|register|_Atomic|typeof|__typeof__|__builtin_va_list)$/.test(word) ||
      this.typedefs.has(word)
    )
  }

  /** Array sizes and parameters behind a name: `[2][3]` is an array of arrays, `(int)` a function that returns the base. */
  #suffixes(base: Base): Base {
    const reader = this.#reader
    if (reader.next.text === '[') {
      const count = reader
        .takeBrackets()
        .replace(/^(?:(?:static|const|restrict|volatile|__restrict|__restrict__)\s*)+/, '')
        .trim()
      takeAttributes(reader)
      const of = this.#nested(() => this.#suffixes(base))
      return { type: { kind: 'array', of: of.type, count: count === '' ? undefined : count }, isConst: of.isConst }
    }
    if (reader.next.text === '(') {
      const { parameters, isVariadic } = this.#parameters()
      takeAttributes(reader)
      const { type: result } = this.#nested(() => this.#suffixes(base))
      return { type: { kind: 'function', result, parameters, isVariadic }, isConst: false }
    }
    return base
  }

  #parameters(): Pick<FunctionCType, 'parameters' | 'isVariadic'> {
    const reader = this.#reader
    reader.expect('(')
    const parameters: ParameterDeclaration[] = []
    if (reader.takeIf(')')) return { parameters, isVariadic: false }
    for (;;) {
      if (reader.takeIf('...')) {
        reader.expect(')')
        return { parameters, isVariadic: true }
      }
      const { name, type, isConst: isConstType } = this.declarator(this.specifiers())
      const { changesType } = takeAttributes(reader)
      const isOnlyVoid = withoutTypedefs(type).kind === 'void' && parameters.length === 0
      if (isOnlyVoid && reader.takeIf(')')) return { parameters, isVariadic: false }
      parameters.push({
        name: name?.text,
        type: changesType ? { kind: 'unsupported', text: 'a vector type' } : decay(type, isConstType),
      })
      if (reader.takeIf(')')) return { parameters, isVariadic: false }
      reader.expect(',')
    }
  }

  #record(keyword: 'struct' | 'union'): CType {
    const reader = this.#reader
    const place = reader.take()
    takeAttributes(reader)
    const tag = reader.next.kind === 'name' ? reader.take() : undefined
    takeAttributes(reader)
    const { file, line } = tag ?? place
    const key = `${keyword} ${tag?.text}`
    let record = tag && this.#recordTags.get(key)
    if (!record) {
      record = {
        keyword,
        tag: tag?.text,
        members: undefined,
        place: { file, line },
        spelling: tag && key,
        isDefinedTwice: false,
      }
      this.records.push(record)
      if (tag) this.#recordTags.set(key, record)
    }
    if (reader.next.text === '{') {
      const members = this.#nested(() => this.#members())
      if (record.members !== undefined) record.isDefinedTwice = true
      record.members = members
      record.place = { file, line }
      takeAttributes(reader)
    }
    return { kind: 'record', record }
  }

  #members(): MemberDeclaration[] {
    const reader = this.#reader
    const members: MemberDeclaration[] = []
    reader.expect('{')
    while (!reader.takeIf('}')) {
      if (reader.takeIf(';')) continue
      if (/^(?:_Static_assert|static_assert)$/.test(reader.next.text)) {
        reader.take()
        reader.takeBrackets()
        continue
      }
      const specifiers = this.specifiers()
      if (reader.takeIf(';')) {
        // Only a struct or union without a name is a member without a declarator.
        const { type } = specifiers
        if (type.kind === 'record' && type.record.tag === undefined)
          members.push({ name: undefined, type, isConst: specifiers.isConst, bits: undefined })
        continue
      }
      do {
        const {
          name,
          type,
          isConst: isConstMember,
        } = reader.next.text === ':'
          ? { name: undefined, type: specifiers.type, isConst: specifiers.isConst }
          : this.declarator(specifiers)
        const { changesType } = takeAttributes(reader)
        const bits = reader.takeIf(':') ? reader.takeUntil(',', ';', '__attribute__') : undefined
        takeAttributes(reader)
        if (name === undefined && bits === undefined) throw reader.problem('expected a name')
        members.push({
          name: name?.text,
          type: changesType ? { kind: 'unsupported', text: 'a vector type' } : type,
          isConst: isConstMember,
          bits,
        })
      } while (reader.takeIf(','))
      reader.expect(';')
    }
    return members
  }

  #enum(): CType {
    const reader = this.#reader
    const place = reader.take()
    takeAttributes(reader)
    const tag = reader.next.kind === 'name' ? reader.take() : undefined
    // C23: the type that stores the values.
    if (reader.next.text === ':' && reader.second.kind === 'name') {
      reader.take()
      this.specifiers()
    }
    const { file, line } = tag ?? place
    let enumeration = tag && this.#enumTags.get(tag.text)
    if (!enumeration) {
      enumeration = {
        tag: tag?.text,
        enumerators: undefined,
        place: { file, line },
        spelling: tag && `enum ${tag.text}`,
      }
      this.enums.push(enumeration)
      if (tag) this.#enumTags.set(tag.text, enumeration)
    }
    if (reader.takeIf('{')) {
      const enumerators: EnumeratorDeclaration[] = []
      while (!reader.takeIf('}')) {
        const { text: name, ...at } = reader.expectName()
        enumerators.push({ name, place: { file: at.file, line: at.line } })
        takeAttributes(reader)
        if (reader.takeIf('=')) reader.takeUntil(',', '}')
        if (reader.next.text !== '}') reader.expect(',')
      }
      enumeration.enumerators = enumerators
      enumeration.place = { file, line }
      takeAttributes(reader)
    }
    return { kind: 'enum', enumeration }
  }
}

/** The type of a parameter: an array or a function is passed as a pointer, also behind a typedef. */
function decay(type: CType, isConstType: boolean): CType {
  const resolved = withoutTypedefs(type)
  if (resolved.kind === 'array') return { kind: 'pointer', to: resolved.of, toConst: isConstType }
  if (resolved.kind === 'function') return { kind: 'pointer', to: type, toConst: false }
  return type
}
