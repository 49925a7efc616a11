import { wrongType } from '../errors/check-arguments.ts'
import { DEFAULT_STRING_LAYOUT, stringName, type StringLayout } from '../strings/string-layout.ts'
import { formatShape } from './dimension.ts'
import { shortName } from './element-names.ts'
import {
  isSignature,
  type AttributeLiteral,
  type AttributeParameter,
  type AttributeType,
  type KernelSignature,
  type Parameter,
} from './kernel-signature.ts'
import { formatExpression } from './size-expression.ts'
import { isName } from './tokens.ts'
import { quote } from './quote.ts'

/**
 * Returns the text of a signature. {@link parseSignature} reads the same signature from this text.
 *
 * @throws {ArgumentError} if the argument is not a signature.
 * @example
 * formatSignature(parseSignature('add', '(a:T[n],b:T[n])->(c:T[n]);where T in float32|float64'))
 * // '(a: T[n], b: T[n]) -> (c: T[n]); where T in f32 | f64'
 */
export function formatSignature(signature: KernelSignature): string {
  if (!isSignature(signature)) {
    throw wrongType('signature', 'the signature of a kernel', signature, 'Pass what parseSignature() returns.')
  }
  const { operands, results, temps, attributes, conditions, stages, isAsync, packedOrder, doc } = signature
  const clauses = [`${formatParameters(operands)} -> ${formatParameters(results)}`]
  if (attributes.length > 0) clauses.push(attributes.map(formatAttribute).join(', '))
  const where = [
    ...variablesOf([...operands, ...results, ...temps]),
    ...conditions.map(
      ({ comparison, left, right }) => `${formatExpression(left)} ${comparison} ${formatExpression(right)}`,
    ),
  ]
  if (where.length > 0) clauses.push(`where ${where.join(', ')}`)
  if (temps.length > 0) clauses.push(`temps ${formatParameters(temps)}`)
  if (isAsync) clauses.push('async')
  const handlers = Object.entries(stages)
  if (handlers.length > 0) {
    clauses.push(`stages (${handlers.map(([stage, symbol]) => `${stage}: ${symbol}`).join(', ')})`)
  }
  if (packedOrder !== undefined) clauses.push(`packed (${packedOrder.map(formatName).join(', ')})`)
  return clauses.join('; ') + (doc === '' ? '' : ` -- ${doc}`)
}

function formatParameters(parameters: readonly Parameter[]): string {
  return `(${parameters.map(formatParameter).join(', ')})`
}

function formatParameter(parameter: Parameter): string {
  const { name, kind, isToken, stringLayout, dtypes, variable, shape, alias, isDonated, layout, notation } = parameter
  if (notation !== undefined) return `${name}: ${notation}`
  const start = `${kind === 'remaining' ? '...' : ''}${name}${kind === 'optional' ? '?' : ''}: `
  if (isToken) return `${start}token`
  const elements =
    stringLayout === undefined ? (variable ?? (dtypes.map(shortName).join(' | ') || 'any')) : stringsText(stringLayout)
  const axes = shape?.length === 0 ? '' : `[${formatShape(shape)}]`
  const notes = [
    alias === undefined ? '' : ` @alias(${alias})`,
    isDonated ? ' @donated' : '',
    layout === undefined ? '' : layout === 'cm' ? ' @cm' : ` @layout(${layout.join(', ')})`,
  ]
  return `${start}${elements}${axes}${notes.join('')}`
}

const stringsText = (layout: StringLayout): string => (layout === DEFAULT_STRING_LAYOUT ? 'string' : stringName(layout))

function variablesOf(parameters: readonly Parameter[]): string[] {
  const variables = new Map<string, string>()
  for (const { variable, dtypes } of parameters) {
    if (variable !== undefined && dtypes.length > 0) {
      variables.set(variable, `${variable} in ${dtypes.map(shortName).join(' | ')}`)
    }
  }
  return [...variables.values()]
}

function formatAttribute({ name, type, isOptional, fallback }: AttributeParameter): string {
  const isOpen = isOptional && fallback === undefined && !(typeof type === 'object' && 'notation' in type)
  const start = `${formatName(name)}${isOpen ? '?' : ''}: ${formatType(type)}`
  return fallback === undefined ? start : `${start} = ${formatLiteral(fallback)}`
}

function formatName(name: string): string {
  return isName(name) ? name : quote(name)
}

/** Returns the type of an attribute as it is written in a signature. */
export function formatType(type: AttributeType): string {
  if (typeof type === 'string') return type
  if ('notation' in type) return type.notation
  if ('enum' in type) return `enum(${type.enum.map((value) => quote(value)).join(', ')})`
  return type.members.length === 0 ? '{}' : `{ ${type.members.map(formatAttribute).join(', ')} }`
}

/** Returns a default as it is written in a signature. */
export function formatLiteral(value: AttributeLiteral): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'object') return value instanceof Uint8Array ? formatBytes(value) : formatArray(value)
  return String(value)
}

function formatArray(values: readonly (number | bigint)[]): string {
  return `[${values.map(formatLiteral).join(', ')}]`
}

function formatBytes(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return quote(text)
  } catch {
    return formatArray([...bytes])
  }
}

function formatNumber(value: number): string {
  if (Object.is(value, -0)) return '-0'
  if (Number.isNaN(value)) return 'nan'
  return Number.isFinite(value) ? String(value) : value > 0 ? 'inf' : '-inf'
}
