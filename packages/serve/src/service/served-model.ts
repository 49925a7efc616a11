import type { Model } from '../model/model.ts'
import type { RequestMemory } from '../model/request-memory.ts'
import { PipelineScheduler, type PipelineModels } from '../pipeline/pipeline-scheduler.ts'
import type { StepModel } from '../pipeline/step-model.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import type { Fault } from './fault-of.ts'
import { RecentPlans } from './recent-plans.ts'
import { ModelStatistics } from './statistics.ts'

/** A model of a server, with the requests that it has and what it has done. */
export class ServedModel implements StepModel {
  readonly model: Model
  readonly scheduler: Scheduler | PipelineScheduler
  /** The scheduler of a pipeline; undefined for other models. */
  readonly #pipeline: PipelineScheduler | undefined
  /** Those of all models with this name and version that the server has had, because counters never go back. */
  readonly statistics: ModelStatistics
  /** The plans of requests whose head is JSON. */
  readonly jsonPlans: RecentPlans = new RecentPlans()
  /** The plans of requests whose head is a part of a message of gRPC. */
  readonly messagePlans: RecentPlans = new RecentPlans()
  /** The requests between their arrival and the end of their answer. */
  #users = 0
  #onIdle: (() => void) | undefined
  #fault: Fault | undefined
  /** Called when requests begin to fail until the model is loaded again. */
  onFault: (() => void) | undefined
  /** Ends the warm-ups of later workers. */
  endWarmUp: () => void = () => {}

  /** @param models those of the server, which the steps of a pipeline need. */
  constructor(model: Model, statistics: ModelStatistics = new ModelStatistics(), models?: PipelineModels) {
    this.model = model
    this.statistics = statistics
    const { graph } = model
    this.#pipeline =
      graph === undefined || models === undefined ? undefined : new PipelineScheduler(model, graph, models, statistics)
    this.scheduler = this.#pipeline ?? new Scheduler(model, (rows) => this.statistics.addExecution(rows))
  }

  /** Memory for the inputs of a request; undefined for that of the garbage collector. */
  arena(): RequestMemory | undefined {
    return this.#pipeline === undefined ? this.model.memory?.arena() : this.#pipeline.arena()
  }

  /** Compares the steps of a pipeline with their models. @throws {ModelUnavailableError | ArgumentError} */
  checkSteps(): void {
    this.#pipeline?.check()
  }

  /** The models of the steps of a pipeline. @throws {ModelUnavailableError} */
  stepModels(): StepModel[] {
    return this.#pipeline?.stepModels() ?? []
  }

  /** Why requests fail until the model, or one of a step, is loaded again; undefined if they do not. */
  get fault(): string | undefined {
    return this.#fault ?? this.#pipeline?.fault
  }

  set fault(fault: Fault | undefined) {
    const before = this.#fault
    this.#fault = fault
    if (fault !== undefined && before === undefined) this.onFault?.()
  }

  /** Counts a request, which calls {@link leave} once when its answer does not need the memory of the model any more. */
  enter(): void {
    this.#users++
  }

  leave(): void {
    if (--this.#users === 0) this.#onIdle?.()
  }

  /** Resolves when no request uses the model. Called once, when no new request can reach it. */
  async whenIdle(): Promise<void> {
    if (this.#users > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }
}
