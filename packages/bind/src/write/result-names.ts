import type { CallPlan } from '../model/call-plan.ts'

/** The names of parameters as results: one that is called as the value that C returns, or errno, gets a final _. */
export function namesOfResults({ omitsValue, errno, parameters }: CallPlan, names: readonly string[]): string[] {
  const reserved = new Set([...(omitsValue ? [] : ['value']), ...(errno ? ['errno'] : [])])
  return names.map((name, i) => {
    const { kind } = parameters[i]!
    const isResult = kind === 'out' || kind === 'struct' || kind === 'inout'
    return isResult && reserved.has(name) ? `${name}_` : name
  })
}
