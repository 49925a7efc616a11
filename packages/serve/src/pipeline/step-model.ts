import type { Model } from '../model/model.ts'
import type { RequestMemory } from '../model/request-memory.ts'
import type { JobOutputs, ScheduledRequest } from '../scheduler/job.ts'
import type { Fault } from '../service/fault-of.ts'
import type { ModelStatistics } from '../service/statistics.ts'

/** A version of a model of a server, as far as steps of pipelines need it. */
export interface StepModel {
  readonly model: Model
  readonly scheduler: { run(request: ScheduledRequest): JobOutputs | Promise<JobOutputs> }
  readonly statistics: ModelStatistics
  /** Why requests fail until a model is loaded again; undefined if they do not. */
  get fault(): string | undefined
  set fault(fault: Fault | undefined)
  /** Counts a request, which calls {@link leave} once when it does not need the model any more. */
  enter(): void
  leave(): void
  /** Memory for the inputs of a request; undefined for that of the garbage collector. */
  arena(): RequestMemory | undefined
  /** The models of the steps of a pipeline. @throws {ModelUnavailableError} */
  stepModels(): StepModel[]
}

/** The models of a server. */
export interface StepModels {
  /** The model of a version, or that about which questions without a version are. @throws {ModelNotFoundError | ModelUnavailableError} */
  find(name: string, version?: string): StepModel
  /** The model that answers the next request. @throws as {@link find} */
  next(name: string, version?: string): StepModel
}
