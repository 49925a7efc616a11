import type { Parameter } from '@tenon/core'

/** The tensors of a call by parameter: undefined for one that is omitted, an array for the rest parameter. */
export type Grouped<Value> = readonly (Value | readonly Value[] | undefined)[]

/**
 * Distributes tensors over parameters: the required ones first, then the optional ones, then the rest. The last group has the
 * tensors that are left over.
 */
export function group<Value>(parameters: readonly Parameter[], values: readonly Value[]): Grouped<Value> {
  let next = 0
  const grouped = parameters.map(({ kind }): Value | readonly Value[] | undefined => {
    if (kind === 'remaining') return values.slice(next, (next = values.length))
    return next < values.length ? values[next++] : undefined
  })
  return next < values.length ? [...grouped, ...values.slice(next)] : grouped
}
