import { scalarKind, type ScalarKind } from '../model/model.ts'
import { NAME_PART, NAME_START } from '../read/c-names.ts'
import type { MacroDefinition } from '../read/c-types.ts'
import type { HeaderCompiler } from '../read/preprocess.ts'
import { askCompiler, OBJECT, type Question } from './probe-object.ts'

/** The value of an object-like macro. */
export type MacroValue =
  | { readonly kind: 'integer'; readonly value: bigint; readonly byteSize: number; readonly isSigned: boolean }
  | { readonly kind: 'real'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string }
  /** Text that is not UTF-8. */
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  /** A pointer that is an integer, such as `(void *)-1`. */
  | { readonly kind: 'pointer'; readonly value: bigint }
  /** An expression whose value is only known when the program runs. `as` is undefined for one that is not a number, pointer or text. */
  | { readonly kind: 'run-time'; readonly as: RunTimeType | undefined }

/** The type of an expression that is evaluated when the program runs. A text is a `const char *`. */
export type RunTimeType = ScalarKind | 'pointer' | 'text'

/** Why a macro has no value. */
export type MacroRefusal =
  | 'has a reserved name'
  | 'depends on the compiler'
  | 'is not an expression'
  | 'has a value of more than 64 bits'

// The classes of `__builtin_classify_type`, which gcc and clang have in common.
const INTEGER_CLASSES = new Set([1, 2, 3, 4])
const POINTER_CLASS = 5
const REAL_CLASS = 8

const COMPILER_WORDS = /\b(?:__GNUC\w*|__clang\w*|__VERSION__|__INTEL\w*|_MSC_VER)\b/
const PLACE_WORDS = /\b(?:__LINE__|__FILE__|__DATE__|__TIME__|__COUNTER__|__func__|__FUNCTION__|__INCLUDE_LEVEL__)\b/
const WORD = new RegExp(`[${NAME_START}][${NAME_PART}]*`, 'g')

/**
 * Evaluates object-like macros with the compiler. A macro without a value is in the result with the reason.
 *
 * @param exact names of macros that are evaluated although their value depends on the compiler.
 */
export async function evaluateMacros(
  compiler: HeaderCompiler,
  candidates: readonly MacroDefinition[],
  macros: ReadonlyMap<string, MacroDefinition>,
  exact: ReadonlySet<string> = new Set(),
): Promise<Map<string, MacroValue | MacroRefusal>> {
  const values = new Map<string, MacroValue | MacroRefusal>()
  const asked = candidates.filter((macro) => {
    const refusal = refusalOf(macro, macros)
    if (!refusal || (refusal === 'depends on the compiler' && exact.has(macro.name))) return true
    values.set(macro.name, refusal)
    return false
  })
  const kinds = await askCompiler(
    compiler,
    asked.map(({ name }) => ({ kind: 'word', expression: kindExpression(name) })),
  )
  const constants: { name: string; kind: MacroKind; question: Question }[] = []
  for (const [index, { name }] of asked.entries()) {
    const answer = kinds[index]
    if (typeof answer !== 'bigint') {
      values.set(name, 'is not an expression')
      continue
    }
    const kind = readKind(answer)
    const question = questionFor(name, kind)
    if (question) constants.push({ name, kind, question })
    else
      values.set(name, isInteger(kind) && kind.byteSize > 8 ? 'has a value of more than 64 bits' : runTimeValue(kind))
  }
  const answers = await askCompiler(
    compiler,
    constants.map(({ question }) => question),
  )
  for (const [index, { name, kind }] of constants.entries()) {
    const answer = answers[index]
    values.set(name, answer === undefined ? runTimeValue(kind) : valueOf(kind, answer))
  }
  // The order of the headers.
  return new Map(candidates.map(({ name }) => [name, values.get(name)!]))
}

/**
 * Macros that the compiler cannot be asked, or whose answer another compiler would not give. C reserves names with two underscores for the
 * compiler and its library, whose values depend on both.
 */
function refusalOf(
  { name, body }: MacroDefinition,
  macros: ReadonlyMap<string, MacroDefinition>,
): MacroRefusal | undefined {
  if (name.startsWith('__')) return 'has a reserved name'
  if (!isBalanced(body)) return 'is not an expression'
  const seen = new Set([name])
  const bodies = [body]
  for (let text = bodies.pop(); text !== undefined; text = bodies.pop()) {
    if (PLACE_WORDS.test(text)) return 'is not an expression'
    if (COMPILER_WORDS.test(text)) return 'depends on the compiler'
    for (const [word] of text.matchAll(WORD)) {
      if (seen.has(word)) continue
      seen.add(word)
      const macro = macros.get(word)
      if (macro) bodies.push(macro.body)
    }
  }
  return undefined
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

function isBalanced(body: string): boolean {
  const open: string[] = []
  for (const [token] of body.matchAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^]/g)) {
    if (token === '"' || token === "'" || token === ';') return false
    if (token in CLOSING) open.push(CLOSING[token]!)
    else if ((token === ')' || token === ']' || token === '}') && open.pop() !== token) return false
  }
  return open.length === 0
}

interface MacroKind {
  readonly type: number
  readonly byteSize: number
  readonly isConstant: boolean
  readonly isSigned: boolean
  /** Whether the macro is a string literal of `char`. */
  readonly isText: boolean
  /** Whether the macro is a `const char *`. */
  readonly isTextPointer: boolean
}

/**
 * One word with all that {@link readKind} reads. The parentheses refuse types and lists in braces. Without them, `__builtin_constant_p` gets
 * too many arguments from a list with commas, whose last element would be the value otherwise.
 */
function kindExpression(name: string): string {
  const integer = `__builtin_choose_expr(__builtin_classify_type((${name})) >= 1 && __builtin_classify_type((${name})) <= 4, (${name}), 0)`
  return (
    `(unsigned long long)sizeof((${name})) << 16 | (__builtin_classify_type((${name})) & 255) | ` +
    `(__builtin_constant_p(${name}) ? 256 : 0) | ((__typeof__(${integer}))-1 < 0 ? 512 : 0) | ` +
    `(__builtin_types_compatible_p(__typeof__((${name})), char[sizeof((${name}))]) ? 1024 : 0) | ` +
    `(__builtin_types_compatible_p(__typeof__((${name})), const char *) ? 2048 : 0)`
  )
}

const readKind = (answer: bigint): MacroKind => {
  const bits = Number(answer & 0xffffn)
  return {
    type: bits & 255,
    byteSize: Number(answer >> 16n),
    isConstant: (bits & 256) !== 0,
    isSigned: (bits & 512) !== 0,
    isText: (bits & 1024) !== 0,
    isTextPointer: (bits & 2048) !== 0,
  }
}

const isInteger = ({ type }: MacroKind): boolean => INTEGER_CLASSES.has(type)

function questionFor(name: string, kind: MacroKind): Question | undefined {
  if (!kind.isConstant) return undefined
  if (kind.isText) return { kind: 'bytes', declaration: `char ${OBJECT}[sizeof((${name}))]`, initialiser: name }
  if (kind.type === REAL_CLASS) return { kind: 'double', expression: `(${name})` }
  if ((isInteger(kind) || kind.type === POINTER_CLASS) && kind.byteSize <= 8)
    return { kind: 'word', expression: `(${name})` }
  return undefined
}

function runTimeValue(kind: MacroKind): MacroValue {
  const { type, byteSize, isSigned, isTextPointer } = kind
  const isNumber = byteSize <= 8 && (isInteger(kind) || type === REAL_CLASS)
  const as = isNumber
    ? scalarKind(byteSize, isSigned, type === REAL_CLASS)
    : type === POINTER_CLASS
      ? 'pointer'
      : undefined
  return { kind: 'run-time', as: isTextPointer ? 'text' : as }
}

function valueOf(kind: MacroKind, answer: bigint | number | Uint8Array): MacroValue {
  if (typeof answer === 'number') return { kind: 'real', value: answer }
  if (typeof answer === 'bigint') {
    if (kind.type === POINTER_CLASS) return { kind: 'pointer', value: answer }
    const { byteSize, isSigned } = kind
    return { kind: 'integer', value: isSigned ? BigInt.asIntN(64, answer) : answer, byteSize, isSigned }
  }
  // Without the zero that ends a string literal.
  const bytes = answer.subarray(0, -1)
  try {
    return { kind: 'text', value: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { kind: 'bytes', value: bytes }
  }
}
