import type { Body } from '@tenon/bench'

let bodies = 0

/**
 * Returns a body for rows that differ only in their operands. Each is compiled from a source of its own, so bodies do not share
 * the type feedback of the engine.
 *
 * @param names the names of the operands, separated by commas.
 * @param expression the code to measure.
 */
export function bodyOf(names: string, expression: string): (...operands: unknown[]) => Body {
  const source = `return function body${bodies++}() { return ${expression} }`
  return new Function(...names.split(', '), source) as (...operands: unknown[]) => Body
}
