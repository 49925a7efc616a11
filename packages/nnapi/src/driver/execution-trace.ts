import type { CallTrace } from '@tenon/core'
import { isTraced, newTrace, traceCall, traceLater } from '@tenon/core/internal'
import type { PoolFacts } from '@tenon/pools'
import type { Model } from '../model/model.ts'
import type { FencedExecution } from './fenced-execution.ts'

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

/** Launches a fenced execution, whose call ends when the execution is over. The promise is that of the launch. */
export function traceFenced(model: Model<PoolFacts>, launch: () => Promise<FencedExecution>): Promise<FencedExecution> {
  if (!isTraced()) return launch()
  let launched: Promise<FencedExecution> | undefined
  const over = traceLater(traceOf(model, true), async () => {
    launched = launch()
    const { error } = await (await launched).info
    if (error !== undefined) throw error
  })
  // The caller gets the errors of the launch, and those of the execution with its outcome.
  over.catch(() => {})
  return launched!
}
