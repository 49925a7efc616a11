import type { Model } from '../model/model.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import { ModelStatistics } from './statistics.ts'

/** A model of a server, with the requests that it has and what it has done. */
export class ServedModel {
  readonly model: Model
  readonly scheduler: Scheduler
  readonly statistics: ModelStatistics = new ModelStatistics()

  constructor(model: Model) {
    this.model = model
    this.scheduler = new Scheduler(model, (rows) => this.statistics.addExecution(rows))
  }
}
