import { failed } from '@tenon/pools/internal'
import { PoolsError } from '@tenon/pools'
import type { KernelInput, KernelPlan, KernelRegistry } from '../kernels/kernel.ts'
import type { Operand, Operation, Subgraph } from '../model/model.ts'
import { combineDimensions, operandByteSize, operandTypes } from '../model/operand-types.ts'

/** Plans an operation, and returns the dimensions of its outputs too. @throws {PoolsError} if it cannot work on its inputs */
export function planOperation(
  kernels: KernelRegistry,
  { operands }: Subgraph,
  operation: Operation,
  inputs: readonly KernelInput[],
  path: string,
): { readonly plan: KernelPlan; readonly dimensions: readonly (readonly number[])[] } {
  const kernel = kernels.get(operation.type)
  if (kernel === undefined) throw failed('M19', `the driver does not have the operation ${operation.type}`, path)
  const outputs = operation.outputs.map((i) => operands[i]!)
  let plan: KernelPlan
  try {
    plan = kernel.plan(inputs, outputs)
  } catch (error) {
    if (!(error instanceof PoolsError)) throw error
    throw new PoolsError(error.status, error.sentence, { path, cause: error })
  }
  return { plan, dimensions: outputs.map((output, i) => settledDimensions(output, plan.dimensions[i], path)) }
}

function settledDimensions(
  { type, dimensions }: Operand,
  found: readonly number[] | undefined,
  path: string,
): readonly number[] {
  const combined = found === undefined ? undefined : combineDimensions(dimensions, found)
  if (combined === undefined || (operandTypes[type].isTensor && combined.includes(0))) {
    const sentence = `${path} makes [${found?.join(', ')}], but its output is declared as [${dimensions.join(', ')}]`
    throw new PoolsError('INVALID_ARGUMENT', sentence, { path })
  }
  operandByteSize(type, combined, path)
  return combined
}

/** The error for a number that shapes depend on, and that other operations of the model compute. */
export function notKnownBeforeRun(operand: number): PoolsError {
  const sentence = `operand ${operand} must have a value of numbers that is known before the run`
  return new PoolsError('INVALID_ARGUMENT', sentence)
}
