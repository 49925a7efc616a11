import { ArgumentError, ArgumentRangeError, type TensorType } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/** A result that lies where an operand does. Both are counted among the tensors that a run is given. */
export interface Alias {
  readonly operand: number
  readonly result: number
}

/**
 * Checks which results lie where operands do.
 *
 * @throws {ArgumentError} if an index is out of range or named twice, or the two are not of one type: layouts can't
 * differ, because every tensor of a call is row-major.
 */
export function checkAliases(
  name: string,
  aliases: unknown,
  operands: readonly TensorType[],
  results: readonly TensorType[],
): readonly Alias[] {
  if (!Array.isArray(aliases)) {
    throw new ArgumentError(`the aliases of ${name} must be an array, got ${describe(aliases)}`, {
      hint: 'write aliases: [{ operand: 0, result: 0 }].',
    })
  }
  const aliased = new Set<number>()
  return aliases.map((alias: Partial<Alias> | null | undefined, i) => {
    const place = `alias ${i} of ${name}`
    const operand = checkIndex(alias?.operand, operands, `${place}: operand`)
    const result = checkIndex(alias?.result, results, `${place}: result`)
    if (operands[operand] !== results[result]) {
      throw new ArgumentError(
        `${place}: operand ${operand} and result ${result} must be of one type, they are ${operands[operand]} and ${results[result]}`,
      )
    }
    if (aliased.has(result)) throw new ArgumentError(`${place}: result ${result} has an alias already`)
    aliased.add(result)
    return { operand, result }
  })
}

function checkIndex(value: unknown, among: readonly TensorType[], place: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < among.length) return value
  throw new ArgumentRangeError(`${place} must be the index of one of ${among.length} tensors, got ${describe(value)}`)
}
