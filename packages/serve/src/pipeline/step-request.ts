import type { RequestMemory } from '../model/request-memory.ts'
import type { ModelTensor } from '../model/model-tensor.ts'
import type { ScheduledRequest } from '../scheduler/job.ts'
import type { Cancellation } from '../service/cancellation.ts'
import type { RequestTrace } from '../tracing/tracing.ts'
import type { BoundStep } from './bound-steps.ts'

/** The request of a step of a pipeline for its model. It has the parameters, the priority and the longest time in the queue of the pipeline's request. */
export class StepRequest implements ScheduledRequest {
  readonly bound: BoundStep
  readonly inputs: readonly ModelTensor[]
  readonly memory: RequestMemory | undefined
  readonly cancellation: Cancellation
  readonly parameters: ScheduledRequest['parameters']
  readonly priority: number
  readonly timeout: number
  readonly affinity: undefined
  readonly turn: undefined
  /** A part of the trace of the pipeline's request. */
  readonly span: RequestTrace | undefined
  readonly arrived: number = performance.now()
  /** When it left the queue, in milliseconds of `performance.now()`. */
  begun: number = this.arrived

  constructor(
    { parameters, priority, timeout, span }: ScheduledRequest,
    bound: BoundStep,
    { inputs, memory, cancellation }: Pick<StepRequest, 'inputs' | 'memory' | 'cancellation'>,
  ) {
    const { model } = bound.served
    this.bound = bound
    this.inputs = inputs
    this.memory = memory
    this.cancellation = cancellation
    this.parameters = parameters
    // The models of a pipeline can have fewer priorities than others.
    this.priority = Math.min(priority, model.batching.levels)
    this.timeout = timeout
    this.span = span?.step(`step ${bound.step.number} ${model.name}`, model)
  }

  get trace(): ScheduledRequest['trace'] {
    return this.span?.context
  }

  /** The size along the first axis in a model with batches, or 1. */
  get rows(): number {
    const [first] = this.inputs
    return this.bound.served.model.batching.maxBatchSize === 0 ? 1 : (first?.shape[0] ?? 1)
  }

  begin(): void {
    this.begun = performance.now()
  }
}
