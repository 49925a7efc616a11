import type { Comparison, Condition, SizeExpression, SizeOperator } from './kernel-signature.ts'
import type { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'

const FUNCTIONS: readonly string[] = ['ceildiv', 'min', 'max'] satisfies SizeOperator[]
const COMPARISONS: readonly string[] = ['==', '!=', '<', '<=', '>', '>='] satisfies Comparison[]

/** An expression, and the number of operations that nest in it. */
interface Parsed {
  readonly expression: SizeExpression
  readonly levels: number
}

/** Reads one expression. @param names receives the token of each name. @throws {SignatureError} */
export function parseExpression(reader: TokenReader, names: Token[]): SizeExpression {
  return sum(reader, names, 0).expression
}

/** Reads the comparison of two sizes. @throws {SignatureError} */
export function parseComparison(reader: TokenReader, names: Token[]): Condition {
  const left = parseExpression(reader, names)
  const { kind, text } = reader.current
  if (kind !== 'symbol' || !COMPARISONS.includes(text)) throw reader.unexpected('==, !=, <, <=, > or >=')
  reader.take()
  return { comparison: text as Comparison, left, right: parseExpression(reader, names) }
}

/** Reads a whole number from 0 to 2^53 - 1. @throws {SignatureError} */
export function parseWholeNumber(reader: TokenReader, what: string): number {
  const token = reader.current
  if (token.kind !== 'number') throw reader.unexpected(what)
  const value = Number(token.text)
  if (!/^\d+$/.test(token.text) || !Number.isSafeInteger(value)) {
    throw reader.error(token, `${what} must be a whole number from 0 to 2^53 - 1, got ${token.text.slice(0, 40)}`)
  }
  reader.take()
  return value
}

function sum(reader: TokenReader, names: Token[], level: number): Parsed {
  let left = product(reader, names, level)
  while (reader.at('+') || reader.at('-')) {
    const operator = reader.take()
    left = operation(reader, operator, left, product(reader, names, level))
  }
  return left
}

function product(reader: TokenReader, names: Token[], level: number): Parsed {
  let left = factor(reader, names, level)
  while (reader.at('*') || reader.at('/') || reader.at('%')) {
    const operator = reader.take()
    left = operation(reader, operator, left, factor(reader, names, level))
  }
  return left
}

function operation(reader: TokenReader, operator: Token, left: Parsed, right: Parsed): Parsed {
  const levels = 1 + Math.max(left.levels, right.levels)
  reader.checkLevel(levels, operator)
  const parts = { left: left.expression, right: right.expression }
  return { expression: { operator: operator.text as SizeOperator, ...parts }, levels }
}

function factor(reader: TokenReader, names: Token[], level: number): Parsed {
  const token = reader.current
  if (token.kind === 'number') return { expression: parseWholeNumber(reader, 'a size'), levels: 0 }
  reader.checkLevel(level, token)
  if (token.kind === 'name') {
    reader.take()
    if (FUNCTIONS.includes(token.text) && reader.skip('(')) {
      const left = sum(reader, names, level + 1)
      reader.expect(',')
      const right = sum(reader, names, level + 1)
      reader.expect(')')
      return operation(reader, token, left, right)
    }
    names.push(token)
    return { expression: token.text, levels: 0 }
  }
  if (!reader.skip('(')) throw reader.unexpected('a size')
  const inner = sum(reader, names, level + 1)
  reader.expect(')')
  return inner
}
