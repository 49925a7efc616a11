import type { StepObserver } from '../pipeline/pipeline-run.ts'
import type { StepRequest } from '../pipeline/step-request.ts'
import { faultOf } from './fault-of.ts'
import { reasonOf } from './inference-count.ts'
import type { Metrics } from './metrics.ts'

/** Counts and traces the steps of pipelines as requests of their models. */
export class StepCounts implements StepObserver {
  readonly #metrics: Metrics

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  begin(request: StepRequest): ReturnType<StepObserver['begin']> {
    const { served } = request.bound
    return (failure) => {
      const ended = performance.now()
      const computeInfer = 1e6 * (ended - request.begun)
      const queue = 1e6 * (request.begun - request.arrived)
      if (failure === undefined) {
        const times = { queue, computeInput: 0, computeInfer, computeOutput: 0 }
        served.statistics.addSuccess(request.rows, times)
        this.#metrics.addSuccess(served, (ended - request.arrived) / 1000)
        served.fault = undefined
        request.span?.addParts(times)
        request.span?.end()
        return
      }
      const { error } = failure
      served.statistics.addFailure(queue + computeInfer)
      this.#metrics.addFailure(served, reasonOf(error, request.cancellation))
      const fault = faultOf(error)
      if (fault !== undefined) served.fault = fault
      request.span?.end(error)
    }
  }
}
