import type { Model } from '../model/model.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import { RecentPlans } from './recent-plans.ts'
import { ModelStatistics } from './statistics.ts'

/** A model of a server, with the requests that it has and what it has done. */
export class ServedModel {
  readonly model: Model
  readonly scheduler: Scheduler
  /** Those of all models with this name and version that the server has had, because counters never go back. */
  readonly statistics: ModelStatistics
  /** The plans of requests whose head is JSON. */
  readonly jsonPlans: RecentPlans = new RecentPlans()
  /** The plans of requests whose head is a part of a message of gRPC. */
  readonly messagePlans: RecentPlans = new RecentPlans()
  /** The requests between their arrival and the end of their answer. */
  #users = 0
  #onIdle: (() => void) | undefined
  #isCrashed = false
  /** Called when the processes of the model crash so often that none is started any more. */
  onCrashLoop: (() => void) | undefined

  constructor(model: Model, statistics: ModelStatistics = new ModelStatistics()) {
    this.model = model
    this.statistics = statistics
    this.scheduler = new Scheduler(model, (rows) => this.statistics.addExecution(rows))
  }

  /** Whether the processes of the model crashed so often that none is started any more. */
  get isCrashed(): boolean {
    return this.#isCrashed
  }

  set isCrashed(isCrashed: boolean) {
    const wasCrashed = this.#isCrashed
    this.#isCrashed = isCrashed
    if (isCrashed && !wasCrashed) this.onCrashLoop?.()
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
