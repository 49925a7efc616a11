import type { CallTrace } from '@tenon/core'
import { isTraced, newTrace, traceCall, traceLater } from '@tenon/core/internal'
import type { PoolFacts } from '@tenon/pools'
import type { Model } from '../model/model.ts'

/** Makes the message of an execution. A model has no name, so its operations are listed, each once. */
function traceOf({ main }: Model<PoolFacts>, isAsync: boolean): CallTrace {
  const names = new Set(main.operations.map(({ type }) => type))
  const types = main.inputIndexes.map((index) => {
    const { type, dimensions } = main.operands[index]!
    return `${type}[${dimensions.join(', ')}]`
  })
  return newTrace([...names].join(','), 'nnapi', types, isAsync)
}

/** Executes a model, between the events of the call if it is traced. */
export const traceRun = <T>(model: Model<PoolFacts>, run: () => T): T =>
  isTraced() ? traceCall(traceOf(model, false), run) : run()

/** As {@link traceRun}, for an execution with a promise. */
export const traceRunAsync = <T>(model: Model<PoolFacts>, run: () => Promise<T>): Promise<T> =>
  isTraced() ? traceLater(traceOf(model, true), run) : run()
