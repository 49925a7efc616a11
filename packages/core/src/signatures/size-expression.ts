import type { SizeExpression, SizeOperator } from './kernel-signature.ts'

const PRECEDENCE: Readonly<Partial<Record<SizeOperator, number>>> = { '+': 1, '-': 1, '*': 2, '/': 2, '%': 2 }

/** Returns the expression as it is written in a signature, with no more parentheses than it needs. */
export function formatExpression(expression: SizeExpression): string {
  if (typeof expression !== 'object') return String(expression)
  const { operator, left, right } = expression
  const own = PRECEDENCE[operator]
  if (own === undefined) return `${operator}(${formatExpression(left)}, ${formatExpression(right)})`
  return `${formatPart(left, own)}${operator}${formatPart(right, own + 1)}`
}

function formatPart(part: SizeExpression, least: number): string {
  const text = formatExpression(part)
  const own = typeof part === 'object' ? PRECEDENCE[part.operator] : undefined
  return own !== undefined && own < least ? `(${text})` : text
}

/** Adds the names of an expression to a set. */
export function collectNames(expression: SizeExpression, names: Set<string>): void {
  if (typeof expression === 'string') names.add(expression)
  else if (typeof expression === 'object') {
    collectNames(expression.left, names)
    collectNames(expression.right, names)
  }
}

/** The reason why an expression has no value. */
export class NoSize {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

/**
 * Evaluates an expression. The arithmetic is exact: results beyond 2^53 - 1 are refused.
 *
 * @param sizeOf returns the value of a name, or undefined if it is unknown.
 * @returns the value; undefined if a name is unknown; the reason as text if the value cannot be computed.
 */
export function evaluate(
  expression: SizeExpression,
  sizeOf: (name: string) => number | undefined,
): number | undefined | NoSize {
  if (typeof expression === 'number') return expression
  if (typeof expression === 'string') return sizeOf(expression)
  const left = evaluate(expression.left, sizeOf)
  if (typeof left !== 'number') return left
  const right = evaluate(expression.right, sizeOf)
  if (typeof right !== 'number') return right
  const { operator } = expression
  if (right === 0 && (operator === '/' || operator === '%' || operator === 'ceildiv')) {
    return new NoSize(`${formatExpression(expression)} is a division of ${left} by 0`)
  }
  if (operator === '/' && left % right !== 0) {
    return new NoSize(`${formatExpression(expression)} is ${left}/${right}, which is not a whole number`)
  }
  const value = OPERATIONS[operator](left, right)
  if (!Number.isSafeInteger(value)) return new NoSize(`${formatExpression(expression)} is beyond 2^53 - 1`)
  return value + 0 // no negative zero
}

/** Returns the value of an expression for the values of names, or NaN if it does not have one. */
export type SizeOf = (values: readonly number[]) => number

/**
 * Compiles an expression for {@link evaluate} with many values of its names, but without reasons.
 *
 * @param placeOf returns the index of the value of a name, or undefined if it is unknown. @returns undefined if a name is unknown.
 */
export function compileSize(
  expression: SizeExpression,
  placeOf: (name: string) => number | undefined,
): SizeOf | undefined {
  if (typeof expression === 'number') return () => expression
  if (typeof expression === 'string') {
    const place = placeOf(expression)
    return place === undefined ? undefined : (values) => values[place]!
  }
  const { operator } = expression
  const left = compileSize(expression.left, placeOf)
  const right = compileSize(expression.right, placeOf)
  if (left === undefined || right === undefined) return undefined
  return (values) => {
    const [a, b] = [left(values), right(values)]
    if (b === 0 && (operator === '/' || operator === '%' || operator === 'ceildiv')) return Number.NaN
    if (operator === '/' && a % b !== 0) return Number.NaN
    const value = OPERATIONS[operator](a, b)
    return Number.isSafeInteger(value) ? value + 0 : Number.NaN
  }
}

const OPERATIONS: Readonly<Record<SizeOperator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => {
    const remainder = left % right
    return remainder !== 0 && remainder < 0 !== right < 0 ? remainder + right : remainder
  },
  ceildiv: (left, right) => {
    const remainder = left % right
    return (left - remainder) / right + (remainder !== 0 && remainder < 0 === right < 0 ? 1 : 0)
  },
  min: Math.min,
  max: Math.max,
}

/** An expression that is `coefficient * name + constant`. */
export interface LinearExpression {
  readonly name: string
  readonly coefficient: number
  readonly constant: number
}

/**
 * Returns the linear form of an expression with one occurrence of one name and otherwise whole numbers under `+`, `-` and
 * `*`, so that the size of an axis determines the name. Returns undefined for any other expression.
 */
export function linearForm(expression: SizeExpression): LinearExpression | undefined {
  const { name, coefficient, constant } = linearParts(expression)
  if (name === undefined || coefficient === 0 || Number.isNaN(coefficient)) return undefined
  return { name, coefficient, constant }
}

interface LinearParts {
  readonly name: string | undefined
  readonly coefficient: number
  readonly constant: number
}

const NOT_LINEAR = { coefficient: Number.NaN, constant: Number.NaN }

/** The coefficients are NaN if the expression is not linear, or a number exceeds 2^53 - 1. */
function linearParts(expression: SizeExpression): LinearParts {
  if (typeof expression === 'number') return { name: undefined, coefficient: 0, constant: expression }
  if (typeof expression === 'string') return { name: expression, coefficient: 1, constant: 0 }
  const { operator } = expression
  const left = linearParts(expression.left)
  const right = linearParts(expression.right)
  const name = left.name ?? right.name
  if (left.name !== undefined && right.name !== undefined) return { name, ...NOT_LINEAR }
  if (operator === '+' || operator === '-') {
    const sign = operator === '+' ? 1 : -1
    return exactParts(name, left.coefficient + sign * right.coefficient, left.constant + sign * right.constant)
  }
  if (operator !== '*') return { name, ...NOT_LINEAR }
  const [linear, factor] = left.name === undefined ? [right, left.constant] : [left, right.constant]
  return exactParts(name, linear.coefficient * factor, linear.constant * factor)
}

function exactParts(name: string | undefined, coefficient: number, constant: number): LinearParts {
  const isExact = Number.isSafeInteger(coefficient) && Number.isSafeInteger(constant)
  return isExact ? { name, coefficient, constant } : { name, ...NOT_LINEAR }
}

/** Returns the whole number from 0 for which the expression has the value, or undefined if there is none. */
export function solve({ coefficient, constant }: LinearExpression, value: number): number | undefined {
  const difference = value - constant
  if (!Number.isSafeInteger(difference) || difference % coefficient !== 0) return undefined
  const solution = difference / coefficient + 0
  return solution >= 0 ? solution : undefined
}
