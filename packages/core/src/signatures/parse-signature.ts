import { checkName, wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { checkSignature } from './check-signature.ts'
import {
  isSignature,
  KERNEL_CONVENTIONS,
  type Condition,
  type KernelConvention,
  type KernelSignature,
  type SignatureSource,
  type SignatureStage,
} from './kernel-signature.ts'
import { parseAttribute } from './parse-attribute.ts'
import { parseComparison } from './parse-expression.ts'
import { printedAsText } from './printed-signature.ts'
import { isVariable, parseDTypes, parseParameters } from './parse-parameter.ts'
import type { ReadAttribute, ReadClauses, ReadVariable } from './read-signature.ts'
import { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'

const SOURCES: readonly SignatureSource[] = ['option', 'library', 'sidecar', 'tvm-ffi', 'templates', 'none']
const STAGES: readonly SignatureStage[] = ['instantiate', 'prepare', 'initialize']

/** The origin of a signature's text. */
export interface ParseSignatureOptions {
  /** The convention by which the kernel is called. Default: `typed`. */
  readonly convention?: KernelConvention
  /** The place that the text comes from. Default: `option`. */
  readonly source?: SignatureSource
}

/**
 * Reads the signature of a kernel from a text in the signature language, which `docs/signatures.md` describes.
 *
 * @param name the name of the kernel.
 * @param text at most 65,536 bytes of UTF-8.
 * @throws {SignatureError} if the text is invalid. `column` is the place.
 * @throws {ArgumentError} if an argument has another type.
 * @example
 * const softmax = parseSignature('softmax', '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1')
 * softmax.attributes[0].fallback // 1
 * softmax.isComplete // true
 */
export function parseSignature(name: string, text: string, options?: ParseSignatureOptions): KernelSignature {
  const kernel = checkName(name, 'name')
  if (typeof text !== 'string') throw wrongType('text', 'the text of a signature', text)
  const given = checkOptions<ParseSignatureOptions>(options, ['convention', 'source'])
  const convention = checkChoice(given.convention ?? 'typed', KERNEL_CONVENTIONS, 'convention')
  const source = checkChoice(given.source ?? 'option', SOURCES, 'source')
  const reader = new TokenReader(text)
  const operands = parseParameters(reader, 'operand')
  reader.expect('->')
  const results = parseParameters(reader, 'result')
  const clauses = parseClauses(reader)
  return printedAsText(checkSignature(reader, { name: kernel, convention, source, operands, results, ...clauses }))
}

/**
 * Returns the signature that a caller passed, or reads the text of one.
 *
 * @param name the name of a kernel whose signature is a text.
 * @throws {SignatureError} if the text is invalid. @throws {ArgumentError} if the value is neither.
 */
export function readSignature(name: string, given: unknown, hint?: string): KernelSignature {
  if (typeof given === 'string') return parseSignature(name, given)
  if (isSignature(given)) return given
  throw wrongType('signature', 'the text of a signature', given, hint)
}

function checkChoice<Choice extends string>(value: Choice, choices: readonly Choice[], name: string): Choice {
  if (choices.includes(value)) return value
  throw wrongType(name, `one of ${choices.join(', ')}`, value)
}

function parseClauses(reader: TokenReader): ReadClauses {
  const attributes: ReadAttribute[] = []
  const total = { count: 0 }
  const conditions: Condition[] = []
  const conditionSizes: Token[] = []
  const variables: ReadVariable[] = []
  const once = new Set<string>()
  let temps: ReadClauses['temps'] = []
  let stages: ReadClauses['stages'] = {}
  let isAsync = false
  let packed: ReadClauses['packed']
  while (reader.skip(';')) {
    const token = reader.current
    if (token.kind === 'doc' || token.kind === 'end') break
    if (!isClause(reader)) {
      do attributes.push(parseAttribute(reader, total, 0))
      while (reader.skip(','))
      continue
    }
    reader.take()
    if (token.text === 'where') {
      do parseCondition(reader, conditions, conditionSizes, variables)
      while (reader.skip(','))
      continue
    }
    if (once.has(token.text))
      throw reader.error(token, `a signature must have one clause "${token.text}", got a second`)
    once.add(token.text)
    if (token.text === 'temps') temps = parseParameters(reader, 'temporary')
    else if (token.text === 'async') isAsync = true
    else if (token.text === 'stages') stages = parseStages(reader)
    else packed = { token, names: parsePackedOrder(reader) }
  }
  const doc = reader.current.kind === 'doc' ? reader.take().text : ''
  if (reader.current.kind !== 'end') throw reader.unexpected('";", "--" or the end of the text')
  return { attributes, conditions, conditionSizes, variables, temps, stages, isAsync, packed, doc }
}

const CLAUSES = new Set(['where', 'temps', 'async', 'stages', 'packed'])

/** Whether a clause other than attributes begins. Attributes can have the name of a clause. */
function isClause(reader: TokenReader): boolean {
  const { current, next } = reader
  if (current.kind !== 'name' || !CLAUSES.has(current.text)) return false
  return next.kind !== 'symbol' || (next.text !== ':' && next.text !== '?')
}

function parseCondition(reader: TokenReader, conditions: Condition[], sizes: Token[], variables: ReadVariable[]): void {
  const { current, next } = reader
  if (current.kind !== 'name' || next.kind !== 'name' || next.text !== 'in') {
    conditions.push(parseComparison(reader, sizes))
    return
  }
  if (!isVariable(current.text)) {
    throw reader.error(current, `"${current.text}" cannot be a variable`, {
      hint: 'Begin the name of a variable with a capital letter.',
    })
  }
  reader.take()
  reader.take()
  variables.push({ token: current, dtypes: parseDTypes(reader) })
}

function parseStages(reader: TokenReader): KernelSignature['stages'] {
  const stages: Partial<Record<SignatureStage, string>> = {}
  reader.expect('(')
  reader.list(')', () => {
    const token = reader.name('a stage')
    const stage = STAGES.find((one) => one === token.text)
    if (stage === undefined) {
      throw reader.error(token, `"${token.text}" is not a stage`, { hint: `Use ${STAGES.join(', ')}.` })
    }
    if (stages[stage] !== undefined) throw reader.error(token, `the stage ${stage} must have one handler, got a second`)
    reader.expect(':')
    stages[stage] = reader.name('the symbol of a handler').text
  })
  return stages
}

function parsePackedOrder(reader: TokenReader): Token[] {
  const names: Token[] = []
  reader.expect('(')
  reader.list(')', () => {
    if (reader.current.kind !== 'string') names.push(reader.name('the name of an argument'))
    else names.push(reader.take())
  })
  return names
}
