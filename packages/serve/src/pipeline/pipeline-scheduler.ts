import { KernelDeadlineError } from 'tenon/isolate'
import type { Model } from '../model/model.ts'
import type { RequestMemory } from '../model/request-memory.ts'
import { limit } from '../scheduler/limit.ts'
import type { JobOutputs, ScheduledRequest } from '../scheduler/job.ts'
import { RunDeadlines } from '../scheduler/run-deadlines.ts'
import { Cancellation } from '../service/cancellation.ts'
import type { ModelStatistics } from '../service/statistics.ts'
import { StepBinder, type BoundStep } from './bound-steps.ts'
import type { PipelineGraph } from './pipeline-graph.ts'
import { PipelineRun, stepError, type StepObserver } from './pipeline-run.ts'
import type { StepModel, StepModels } from './step-model.ts'
import type { StepRequest } from './step-request.ts'

/** The models of a server, and the counts of the requests of steps. */
export interface PipelineModels extends StepModels {
  readonly observer: StepObserver | undefined
}

/** Runs the requests of a pipeline at once. They wait in the queues of the models of their steps. */
export class PipelineScheduler {
  readonly #model: Model
  readonly #graph: PipelineGraph
  readonly #models: PipelineModels
  readonly #statistics: ModelStatistics
  readonly #binder: StepBinder
  readonly #deadlines: RunDeadlines
  #running = 0
  /** A pipeline has no sequences. */
  readonly sequences = 0

  constructor(model: Model, graph: PipelineGraph, models: PipelineModels, statistics: ModelStatistics) {
    this.#model = model
    this.#graph = graph
    this.#models = models
    this.#statistics = statistics
    this.#binder = new StepBinder(model, graph, models)
    this.#deadlines = new RunDeadlines(model.deadline)
  }

  /** The requests that wait or run. */
  get pending(): number {
    return this.#running
  }

  endSequences(): void {}

  /** Why requests fail; undefined if they need not. */
  get fault(): string | undefined {
    return this.#binder.fault
  }

  /** Compares the steps with their models. @throws see {@link StepBinder.check} */
  check(): void {
    this.#binder.check()
  }

  /** The models of the steps. @throws {ModelUnavailableError} */
  stepModels(): StepModel[] {
    return this.#binder.find().map(({ served }) => served)
  }

  /** Memory for the inputs of a request, from which the first kernel that needs them does not copy. */
  arena(): RequestMemory | undefined {
    const { tensors } = this.#graph
    for (const { inputs, served } of this.#binder.find()) {
      const isFirst = inputs.some((input) => tensors[input]!.producer === undefined)
      const { kernel, graph, memory } = served.model
      if (isFirst && (graph !== undefined || (kernel !== undefined && memory !== undefined))) return served.arena()
    }
    return this.#model.memory?.arena()
  }

  /**
   * Runs all steps.
   *
   * @throws {ModelUnavailableError} if a model is not loaded.
   * @throws (rejects with) {PipelineStepError} for the step that failed first or missed the deadline; the reason of the cancellation.
   */
  run(request: ScheduledRequest): Promise<JobOutputs> {
    if (request.cancellation.isCancelled) return Promise.reject(request.cancellation.reason)
    const steps = this.#binder.next()
    for (const { served } of steps) served.enter()
    this.#running++
    this.#statistics.addExecution(1)
    const run = new PipelineRun(this.#graph, steps, request, { begin: (step) => this.#observe(step) }, () => {
      this.#running--
      for (const { served } of steps) served.leave()
    })
    const own = new Cancellation()
    let late: BoundStep | undefined
    own.listener = () => {
      late = run.current
      run.cancel(own.reason)
    }
    const outputs = limit(this.#model, [{ request }], this.#deadlines, own, run.outputs)
    run.start()
    return outputs.catch((error: unknown) => {
      const isLate = error === own.reason && error instanceof KernelDeadlineError && late !== undefined
      throw isLate ? stepError(this.#graph.name, late!, error) : error
    })
  }

  #observe(request: StepRequest): ReturnType<StepObserver['begin']> {
    const end = this.#models.observer?.begin(request)
    const { number } = request.bound.step
    return (failure) => {
      const queue = 1e6 * (request.begun - request.arrived)
      this.#statistics.addStep(number, failure === undefined, queue, 1e6 * (performance.now() - request.begun))
      end?.(failure)
    }
  }
}
