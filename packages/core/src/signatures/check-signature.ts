import type { DType } from '../types/dtype.ts'
import type { AttributeType, Dimension, KernelSignature, Parameter } from './kernel-signature.ts'
import { isGroup } from './dimension.ts'
import type { ReadParameter } from './parse-parameter.ts'
import type { ReadSignature } from './read-signature.ts'
import { linearForm } from './size-expression.ts'
import type { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'

const MOST_PARAMETERS = 256

/** Checks the names of a signature, and returns its form. @throws {SignatureError} */
export function checkSignature(reader: TokenReader, read: ReadSignature): KernelSignature {
  const { name, convention, source, conditions, stages, isAsync, doc } = read
  const all = [...read.operands, ...read.results, ...read.temps]
  if (all.length > MOST_PARAMETERS) {
    const sentence = `a signature must have at most ${MOST_PARAMETERS} parameters, got ${all.length}`
    throw reader.error(all[MOST_PARAMETERS]!.token, sentence)
  }
  checkUnique(
    reader,
    [...all, ...read.attributes].map(({ token }) => token),
  )
  checkSizes(reader, read)
  checkAliases(reader, read)
  checkPacked(reader, read)
  const variables = checkVariables(reader, read, all)
  const withTypes = (parameters: readonly ReadParameter[]): Parameter[] =>
    parameters.map(({ parameter }) => {
      const dtypes = parameter.variable === undefined ? undefined : variables.get(parameter.variable)
      return dtypes === undefined ? parameter : { ...parameter, dtypes }
    })
  const operands = withTypes(read.operands)
  const results = withTypes(read.results)
  const temps = withTypes(read.temps)
  read.temps.forEach(({ token }, i) => {
    if (isInferred(temps[i]!, operands)) return
    throw reader.error(token, `the type of the temporary ${token.text} cannot be inferred`, {
      hint: 'Use one element type, or a variable of a required operand, and sizes with names.',
    })
  })
  return {
    name,
    convention,
    source,
    operands,
    results,
    temps,
    attributes: read.attributes.map(({ attribute }) => attribute),
    conditions,
    stages,
    isAsync,
    packedOrder: read.packed?.names.map(({ text }) => text),
    doc,
    isComplete: results.every((result) => isInferred(result, operands)),
  }
}

/** Whether operands and attributes determine the type of a result or temporary. */
function isInferred(parameter: Parameter, operands: readonly Parameter[]): boolean {
  const { kind, isToken, alias, dtypes, variable, shape } = parameter
  if (isToken) return true
  if (kind !== 'one') return false
  if (alias !== undefined) return true
  const isBound = variable !== undefined && operands.some((operand) => operand.variable === variable)
  return (dtypes.length === 1 || isBound) && shape !== undefined && !shape.includes(null)
}

/** Whether an attribute of a type is a size. */
export function isSizeType(type: AttributeType): boolean {
  return typeof type === 'string' && /^[su]\d+$/.test(type)
}

function checkUnique(reader: TokenReader, tokens: readonly Token[]): void {
  const known = new Set<string>()
  for (const token of tokens) {
    if (known.has(token.text)) {
      throw reader.error(token, `${token.text} is the name of two parameters`, {
        hint: 'Give each operand, result, temporary and attribute a name of its own.',
      })
    }
    known.add(token.text)
  }
}

/** Returns the name that a size binds in an operand, or undefined. */
function boundName(size: Dimension): string | undefined {
  if (typeof size === 'string') return size
  return size === null || typeof size === 'number' || isGroup(size) ? undefined : linearForm(size)?.name
}

function checkSizes(reader: TokenReader, read: ReadSignature): void {
  const sizes = new Set<string>()
  const groups = new Set<string>()
  for (const { attribute } of read.attributes) if (isSizeType(attribute.type)) sizes.add(attribute.name)
  for (const { parameter } of read.operands) {
    for (const size of parameter.shape ?? []) {
      const name = boundName(size)
      if (name !== undefined) sizes.add(name)
      else if (isGroup(size)) groups.add(size.group)
    }
  }
  const check = (tokens: readonly Token[], owner: string): void => {
    const unknown = tokens.find(({ text }) => !sizes.has(text))
    if (unknown === undefined) return
    throw reader.error(unknown, `${owner} uses ${unknown.text}, which no operand and no integer attribute determines`, {
      hint: `Use ${unknown.text} as the size of an operand, or declare an attribute: ${unknown.text}: s64.`,
    })
  }
  for (const { token, parameter, sizes: used, group } of [...read.operands, ...read.results, ...read.temps]) {
    check(used, token.text)
    const axes = parameter.shape?.find(isGroup)
    if (group === undefined || axes === undefined || groups.has(axes.group)) continue
    throw reader.error(group, `${token.text} uses ...${axes.group}, which no operand has`, {
      hint: `Use ...${axes.group} in the shape of an operand.`,
    })
  }
  check(read.conditionSizes, 'the condition')
}

function checkVariables(
  reader: TokenReader,
  { variables }: ReadSignature,
  all: readonly ReadParameter[],
): ReadonlyMap<string, readonly DType[]> {
  const used = new Set(all.map(({ parameter }) => parameter.variable))
  const known = new Map<string, readonly DType[]>()
  for (const { token, dtypes } of variables) {
    if (known.has(token.text)) throw reader.error(token, `${token.text} must have one condition "in", got a second`)
    if (!used.has(token.text)) throw reader.error(token, `${token.text} is not the element type of a parameter`)
    known.set(token.text, dtypes)
  }
  return known
}

function checkAliases(reader: TokenReader, { operands, results }: ReadSignature): void {
  const aliased = new Set<string>()
  for (const { alias, parameter } of results) {
    if (alias === undefined) continue
    const operand = operands.find(({ token }) => token.text === alias.text)?.parameter
    if (operand === undefined || operand.isToken || operand.kind !== 'one') {
      throw reader.error(alias, `@alias must name a required operand, got ${alias.text}`)
    }
    if (aliased.has(alias.text)) throw reader.error(alias, `${alias.text} must have one alias, got a second`)
    if (String(operand.layout) !== String(parameter.layout)) {
      throw reader.error(alias, `${parameter.name} must have the layout of ${alias.text}, because it shares its memory`)
    }
    if (!canShareMemory(operand, parameter)) {
      throw reader.error(alias, `${parameter.name} must have the type of ${alias.text}, because it shares its memory`)
    }
    aliased.add(alias.text)
  }
  const unused = operands.find(({ token, parameter }) => parameter.isDonated && !aliased.has(token.text))
  if (unused === undefined) return
  throw reader.error(unused.token, `${unused.token.text} is donated, and no result shares its memory`, {
    hint: `Write @alias(${unused.token.text}) on the result that overwrites it, or remove @donated.`,
  })
}

/** Whether a tensor can have the types of two parameters. */
function canShareMemory(one: Parameter, other: Parameter): boolean {
  if (one.stringLayout !== other.stringLayout) return false
  const isFree = one.dtypes.length === 0 || other.dtypes.length === 0
  if (!isFree && !one.dtypes.some((dtype) => other.dtypes.includes(dtype))) return false
  const { shape = [{ group: '' }] } = one
  const { shape: otherShape = [{ group: '' }] } = other
  if (shape.some(isGroup) || otherShape.some(isGroup)) return true
  return (
    shape.length === otherShape.length &&
    shape.every((size, axis) => {
      const otherSize = otherShape[axis]
      return typeof size !== 'number' || typeof otherSize !== 'number' || size === otherSize
    })
  )
}

function checkPacked(reader: TokenReader, { packed, operands, results, temps, attributes }: ReadSignature): void {
  if (packed === undefined) return
  const passed = [...operands, ...results, ...temps].filter(({ parameter }) => !parameter.isToken)
  const missing = new Set([...passed, ...attributes].map(({ token }) => token.text))
  for (const token of packed.names) {
    if (missing.delete(token.text)) continue
    throw reader.error(token, `packed must name each operand, result and attribute once, got ${token.text}`)
  }
  const [first] = missing
  if (first !== undefined) throw reader.error(packed.token, `packed must name ${first}, which it leaves out`)
}
