import { ArgumentError, type TensorType } from '@tenon/core'
import { wrongType, wrongValue } from '@tenon/core/internal'

/** A result that shares memory with an operand. Both numbers are indices into the tensors of a run. */
export interface Alias {
  readonly operand: number
  readonly result: number
}

/** @throws {ArgumentError} if an index is out of range, a result is named twice, or the two types differ. */
export function checkAliases(
  name: string,
  aliases: unknown,
  operands: readonly TensorType[],
  results: readonly TensorType[],
): readonly Alias[] {
  if (!Array.isArray(aliases)) {
    throw wrongType(`the aliases of ${name}`, 'an array', aliases, 'Write aliases: [{ operand: 0, result: 0 }].')
  }
  const aliased = new Set<number>()
  return Array.from(aliases as (Partial<Alias> | null | undefined)[], (alias, i) => {
    const place = `alias ${i} of ${name}`
    const operand = checkIndex(alias?.operand, operands, `${place}: operand`)
    const result = checkIndex(alias?.result, results, `${place}: result`)
    const [expected, received] = [operands[operand], results[result]]
    if (expected !== received) {
      throw new ArgumentError(
        `${place}: operand ${operand} and result ${result} must have one type, got ${expected} and ${received}`,
        { details: { path: place, expected: String(expected), received: String(received) } },
      )
    }
    if (aliased.has(result)) throw new ArgumentError(`${place}: result ${result} has an alias already`)
    aliased.add(result)
    return { operand, result }
  })
}

function checkIndex(value: unknown, among: readonly TensorType[], place: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < among.length) return value
  throw wrongValue(place, `the index of one of ${among.length} tensors`, value)
}
