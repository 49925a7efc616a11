import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { ToolError } from '@tenon/build'
import { NAME_PART, NAME_START } from '../read/c-names.ts'
import type { HeaderCompiler } from '../read/preprocess.ts'
import { expandLines } from './expand-lines.ts'

/** A question whose answer is a constant of 8 bytes, written in C. `word` is an integer; `double` a floating-point number. */
export interface NumberQuestion {
  readonly kind: 'word' | 'double'
  readonly expression: string
}

/** A question whose answer is the bytes of an object. `declaration` declares {@link OBJECT} as it would be a variable. */
export interface BytesQuestion {
  readonly kind: 'bytes'
  readonly declaration: string
  readonly initialiser: string
}

export type Question = NumberQuestion | BytesQuestion

/** The answers in the order of the questions. Undefined for those that the compiler refuses. */
export type Answer = bigint | number | Uint8Array | undefined

/** The name of the object in the declaration of a {@link BytesQuestion}. */
export const OBJECT = 'tenon_object'

const MARKER_SIZE = 16
const MOST_ROUNDS = 16

/**
 * Asks the compiler for constants. All answers lie in one object behind a random marker, so that the object file of any format is read
 * without its symbol table, and nothing is run: the same works for other platforms.
 *
 * Questions are expanded by the preprocessor before they are compiled, so that an error in a macro is reported at the line of its question.
 * A question that the compiler refuses is left out, and the others are asked again.
 *
 * @param before C code before the questions, after the headers.
 * @throws {ToolError} if the compiler refuses what is left.
 */
export async function askCompiler(
  compiler: HeaderCompiler,
  questions: readonly Question[],
  before = '',
): Promise<Answer[]> {
  if (questions.length === 0) return []
  const expanded = await expandQuestions(compiler, questions, before)
  const isDeclared = declaredNames(expanded.headers)
  const isAsked = questions.map((_, index) => {
    const text = expanded.texts.get(index)
    return text !== undefined && isDeclared(text.value)
  })
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const unit = writeUnit(questions, expanded, isAsked, round === 0)
    const object = compiler.file('.o')
    const { code, stderr } = await compiler.compile(unit.code, [...COMPILE, compiler.allErrors, '-o', object])
    if (code === 0) return readAnswers(await readFile(object), questions, isAsked, unit.marker)
    const refused = refusedQuestions(stderr, unit.lines)
    if (refused.size === 0)
      throw new ToolError(`the compiler refuses a question about the headers:\n${stderr.slice(0, 2000)}`)
    for (const index of refused) isAsked[index] = false
  }
  throw new ToolError(`the compiler still refuses questions about the headers after ${MOST_ROUNDS} rounds`)
}

const COMPILE = ['-c', '-O0', '-g0', '-w', '-fno-lto']

interface ExpandedQuestion {
  readonly declaration: string
  readonly value: string
}

const WORD = new RegExp(`(?<![${NAME_PART}.])[${NAME_START}][${NAME_PART}]*`, 'g')
/** Texts, characters, and members, whose names need not be declared. */
const NOT_A_NAME = /(?:u8|[LuU])?"(?:[^"\\]|\\.)*"|(?:u8|[LuU])?'(?:[^'\\]|\\.)*'|(?:->|\.)\s*[\w\u0080-\uffff]+/g
const KEYWORDS = new Set(
  (
    'auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short ' +
    'signed sizeof static struct switch typedef union unsigned void volatile while asm typeof alignof true false nullptr bool'
  ).split(' '),
)

/**
 * Tells whether all names in an expression occur in the headers. Others cannot be declared, and gcc takes milliseconds for each to find names
 * that resemble it. Names with two underscores, or one and a capital letter, may belong to the compiler.
 */
function declaredNames(headers: string): (expression: string) => boolean {
  const names = new Set(headers.match(WORD))
  return (expression) =>
    (expression.replaceAll(NOT_A_NAME, ' ').match(WORD) ?? []).every(
      (name) => names.has(name) || KEYWORDS.has(name) || /^_[_A-Z]/.test(name),
    )
}

/** Between the declaration and the value of a question while the preprocessor expands both. */
const VALUE = 'tenon_question_value'

interface ExpandedQuestions {
  readonly headers: string
  readonly texts: ReadonlyMap<number, ExpandedQuestion>
}

async function expandQuestions(
  compiler: HeaderCompiler,
  questions: readonly Question[],
  before: string,
): Promise<ExpandedQuestions> {
  const { headers, lines } = await expandLines(
    compiler,
    questions.map((question) =>
      question.kind === 'bytes'
        ? `${question.declaration} ${VALUE} ${question.initialiser}`
        : `${VALUE} ${question.expression}`,
    ),
    before,
  )
  const texts = new Map<number, ExpandedQuestion>()
  for (const [index, line] of lines) {
    const [declaration = '', value = ''] = line.split(VALUE)
    texts.set(index, { declaration, value })
  }
  return { headers, texts }
}

interface ProbeUnit {
  readonly code: string
  readonly marker: Uint8Array
  /** The question at each line that has one. */
  readonly lines: ReadonlyMap<number, number>
}

/**
 * Every question has a member and a value, each on a line of its own that belongs to it. In the first round each is also in a function of
 * its own, because gcc reports a name that is not declared once in a function, and once in the whole file elsewhere.
 */
function writeUnit(
  questions: readonly Question[],
  { headers, texts }: ExpandedQuestions,
  isAsked: readonly boolean[],
  isFirst: boolean,
): ProbeUnit {
  const marker = randomBytes(MARKER_SIZE)
  const asked = questions.flatMap(({ kind }, index) => (isAsked[index] ? [{ kind, index, ...texts.get(index)! }] : []))
  const lines = new Map<number, number>()
  const code: string[] = ['# 1 "tenon_probe"']
  const add = (text: string, index?: number): void => {
    if (index !== undefined) lines.set(code.length, index)
    code.push(text)
  }
  if (isFirst)
    for (const { index, kind, value } of asked)
      if (kind !== 'bytes') add(`static inline void tenon_check${index}(void) { (void)(${value}); }`, index)
  const bytes = asked.filter(({ kind }) => kind === 'bytes')
  for (const { index, declaration } of bytes)
    add(`typedef ${declaration.replaceAll(OBJECT, `tenon_type${index}`)};`, index)
  add(`struct tenon_probe { unsigned char marker[${MARKER_SIZE}];`)
  for (const { index, kind } of asked) {
    if (kind === 'bytes') add(`unsigned long long offset${index}, size${index};`, index)
    else add(`${kind === 'word' ? 'unsigned long long' : 'double'} q${index};`, index)
  }
  for (const { index } of bytes) add(`tenon_type${index} q${index};`, index)
  add('};')
  add(
    `extern const struct tenon_probe tenon_probe; const struct tenon_probe tenon_probe = { { ${[...marker].join(',')} },`,
  )
  for (const { index, kind, value } of asked) {
    if (kind === 'bytes') add(`__builtin_offsetof(struct tenon_probe, q${index}), sizeof(tenon_type${index}),`, index)
    else add(`(${kind === 'word' ? 'unsigned long long' : 'double'})(${value}),`, index)
  }
  for (const { index, value } of bytes) add(`${value},`, index)
  add('};')
  return { code: `${headers}\n${code.join('\n')}\n`, marker, lines }
}

function refusedQuestions(stderr: string, lines: ReadonlyMap<number, number>): Set<number> {
  const refused = new Set<number>()
  for (const [, line] of stderr.matchAll(/^tenon_probe:(\d+):(?:\d+:)? (?:fatal )?error:/gm)) {
    const index = lines.get(Number(line))
    if (index !== undefined) refused.add(index)
  }
  return refused
}

/**
 * Reads the answers behind the marker in an object file.
 *
 * @throws {ToolError} if the file does not have the marker once, or ends before the answers
 */
export function readAnswers(
  object: Buffer,
  questions: readonly Question[],
  isAsked: readonly boolean[],
  marker: Uint8Array,
): Answer[] {
  const start = object.indexOf(marker)
  if (start === -1 || object.indexOf(marker, start + 1) !== -1) throw unreadable()
  const view = new DataView(object.buffer, object.byteOffset + start, object.length - start)
  let at = MARKER_SIZE
  const next = (): number => {
    at += 8
    if (at > view.byteLength) throw unreadable()
    return at - 8
  }
  return questions.map(({ kind }, index) => {
    if (!isAsked[index]) return undefined
    if (kind !== 'bytes') return kind === 'word' ? view.getBigUint64(next(), true) : view.getFloat64(next(), true)
    const [offset, size] = [view.getBigUint64(next(), true), view.getBigUint64(next(), true)]
    if (offset + size > view.byteLength) throw unreadable()
    return new Uint8Array(object.subarray(start + Number(offset), start + Number(offset + size)))
  })
}

const unreadable = (): ToolError => new ToolError('the answers are not in the object file of the compiler')
