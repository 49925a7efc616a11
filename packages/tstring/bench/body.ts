import type { Body } from '@tenon/bench'

let bodies = 0

/**
 * A body for rows that differ in their operands alone: compiled from a source of its own, so that no two share what the
 * engine learns of their types.
 *
 * @param names of the operands, with commas between them.
 * @param expression what is measured.
 */
export function bodyOf(names: string, expression: string): (...operands: unknown[]) => Body {
  const source = `return function body${bodies++}() { return ${expression} }`
  return new Function(...names.split(', '), source) as (...operands: unknown[]) => Body
}
