import { PoolsError, type Pool } from '@tenon/pools'
import type { KernelInput, KernelRegistry } from '../kernels/kernel.ts'
import type { Model, Subgraph } from '../model/model.ts'
import { isFullySpecified, operandTypes } from '../model/operand-types.ts'
import { numbersOf } from '../model/values.ts'
import { notKnownBeforeRun, planOperation } from './plan-operation.ts'

/** Returns the bytes of a constant of a model. */
export type ConstantBytes = (operand: number) => Buffer | undefined

/** A size or a value that comes with a request. */
class OpenUntilRequest extends Error {}

/**
 * Finds the operations that no request can run. Sizes and values that come with requests stay open: a kernel that asks for one
 * passes, after it has checked what it knows, which are at least the number, the types and the ranks of its operands.
 *
 * @returns the error of each operation, or undefined
 */
export function checkGraph(
  kernels: KernelRegistry,
  graph: Subgraph,
  constantBytes: ConstantBytes,
): (PoolsError | undefined)[] {
  const known = graph.operands.map(({ type, dimensions, lifetime }) =>
    lifetime !== 'NO_VALUE' && isFullySpecified(type, dimensions) ? dimensions : undefined,
  )
  return graph.operations.map((operation, i) => {
    const inputs = operation.inputs.map((index) => partialInput(graph, known, index, constantBytes))
    try {
      const { dimensions } = planOperation(kernels, graph, operation, inputs, `main.operations[${i}]`)
      operation.outputs.forEach((operand, at) => (known[operand] = dimensions[at]))
      return undefined
    } catch (error) {
      if (error instanceof OpenUntilRequest) return undefined
      if (error instanceof PoolsError) return error
      throw error
    }
  })
}

function partialInput(
  { operands }: Subgraph,
  known: readonly (readonly number[] | undefined)[],
  index: number,
  constantBytes: ConstantBytes,
): KernelInput {
  const operand = operands[index]!
  const { type, lifetime } = operand
  const sizes = known[index]
  const declared =
    operand.dimensions.length === 0 && operandTypes[type].isTensor ? undefined : operand.dimensions.length
  return {
    ...operand,
    rank: sizes?.length ?? declared,
    isPresent: lifetime !== 'NO_VALUE',
    get dimensions() {
      if (sizes === undefined) throw new OpenUntilRequest()
      return sizes
    },
    numbers: () => {
      if (lifetime === 'SUBGRAPH_INPUT') throw new OpenUntilRequest()
      const bytes = constantBytes(index)
      const numbers = bytes === undefined ? undefined : numbersOf(type, bytes)
      if (numbers === undefined) throw notKnownBeforeRun(index)
      return numbers
    },
  }
}

/** Returns a copy of the value of a constant of a model that was checked; undefined for other operands. */
export function readConstant({ main, operandValues, pools }: Model<Pool>, operand: number): Buffer | undefined {
  const { lifetime, location } = main.operands[operand]!
  if (!lifetime.startsWith('CONSTANT')) return undefined
  const { poolIndex, offset, length } = location
  if (lifetime === 'CONSTANT_COPY') return Buffer.from(operandValues.subarray(offset, offset + length))
  const bytes = Buffer.alloc(length)
  pools[poolIndex]!.copyOut(offset, bytes)
  return bytes
}
