import type { Body } from './suite.ts'

let bodies = 0

/**
 * Compiles the source of a body, for rows that one function makes. Bodies of one function literal would share type feedback.
 *
 * @param source a function expression: `() => call(memory)`.
 * @param scope the values of the names in the source.
 * @example
 * const ours = separateBody('() => call(memory)', { call, memory })
 */
export function separateBody(source: string, scope: Readonly<Record<string, unknown>>): Body {
  // Equal sources would be compiled once, so each has a number.
  const make = new Function(...Object.keys(scope), `return ${source} // ${bodies++}`)
  return (make as (...values: readonly unknown[]) => Body)(...Object.values(scope))
}
