import type { Pool } from '@tenon/pools'
import type { Operand } from '../model/model.ts'
import type { Request, RequestArgument } from '../request/request.ts'
import type { DeviceMemory } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'

export type EnginePool = Pool | DeviceMemory

/** An input or output of a request, with its operand. */
export interface Use {
  readonly argument: RequestArgument
  /** Undefined for an argument that is left out. */
  readonly pool: EnginePool | undefined
  readonly operand: Operand
  readonly operandIndex: number
  readonly isInput: boolean
  /** The index among the inputs or outputs. */
  readonly index: number
  readonly path: string
}

/** Returns the inputs, then the outputs, of a request that was checked. */
export function usesOf({ model }: EngineModel, request: Request<EnginePool>): readonly Use[] {
  const { operands, inputIndexes, outputIndexes } = model.main
  const usesIn = (list: 'inputs' | 'outputs', operandIndexes: readonly number[]): Use[] =>
    request[list].map((argument, index) => {
      const operandIndex = operandIndexes[index]!
      const pool = argument.hasNoValue ? undefined : request.pools[argument.location.poolIndex]!
      const isInput = list === 'inputs'
      return {
        argument,
        pool,
        operand: operands[operandIndex]!,
        operandIndex,
        isInput,
        index,
        path: `${list}[${index}]`,
      }
    })
  return [...usesIn('inputs', inputIndexes), ...usesIn('outputs', outputIndexes)]
}
