/** How often something happened, and how long it took in all. */
export interface Duration {
  readonly count: number
  readonly ns: number
}

/** The times of one inference in nanoseconds. */
export interface InferenceTimes {
  readonly queue: number
  readonly computeInput: number
  readonly computeInfer: number
  readonly computeOutput: number
}

type Part = 'success' | 'fail' | keyof InferenceTimes

/** What one model has done, counted as Triton counts it (`extension_statistics.md`): failures are no inferences. */
export class ModelStatistics {
  readonly #durations: Readonly<Record<Part, { count: number; ns: number }>> = {
    success: { count: 0, ns: 0 },
    fail: { count: 0, ns: 0 },
    queue: { count: 0, ns: 0 },
    computeInput: { count: 0, ns: 0 },
    computeInfer: { count: 0, ns: 0 },
    computeOutput: { count: 0, ns: 0 },
  }
  #last = 0
  #inferences = 0
  /** The number of runs by their rows. */
  readonly #executions = new Map<number, number>()
  /** The times of the steps of a pipeline. */
  readonly #steps = new Map<number, Map<Part, Duration>>()

  /** @param rows those of the request: the size along the first axis of a model with batches, or 1. */
  addSuccess(rows: number, times: InferenceTimes): void {
    const { queue, computeInput, computeInfer, computeOutput } = times
    this.#last = Date.now()
    this.#inferences += rows
    this.#add('success', queue + computeInput + computeInfer + computeOutput)
    this.#add('queue', queue)
    this.#add('computeInput', computeInput)
    this.#add('computeInfer', computeInfer)
    this.#add('computeOutput', computeOutput)
  }

  /** Counts a step of a pipeline. @param step its number, from 1. The times are in nanoseconds. */
  addStep(step: number, isSuccess: boolean, queue: number, computeInfer: number): void {
    let times = this.#steps.get(step)
    if (times === undefined) this.#steps.set(step, (times = new Map()))
    const add = (part: Part, ns: number): void => {
      const before = times.get(part) ?? { count: 0, ns: 0 }
      times.set(part, { count: before.count + 1, ns: before.ns + ns })
    }
    add(isSuccess ? 'success' : 'fail', queue + computeInfer)
    if (!isSuccess) return
    add('queue', queue)
    add('computeInfer', computeInfer)
  }

  /** The times of a step of a pipeline. */
  durationOfStep(step: number, part: 'success' | 'fail' | 'queue' | 'computeInfer'): Duration {
    return this.#steps.get(step)?.get(part) ?? { count: 0, ns: 0 }
  }

  /** @param rows those of all requests that run together. */
  addExecution(rows: number): void {
    this.#executions.set(rows, (this.#executions.get(rows) ?? 0) + 1)
  }

  addFailure(ns: number): void {
    this.#add('fail', ns)
  }

  #add(part: Part, ns: number): void {
    const duration = this.#durations[part]
    duration.count++
    duration.ns += ns
  }

  get inferenceCount(): number {
    return this.#inferences
  }

  get executionCount(): number {
    return this.executionsByRows.reduce((sum, [, count]) => sum + count, 0)
  }

  /** The number of runs for each number of rows, the smallest first. */
  get executionsByRows(): readonly (readonly [rows: number, count: number])[] {
    return [...this.#executions].toSorted(([a], [b]) => a - b)
  }

  /** The time of the last inference in milliseconds since 1970, or 0. */
  get lastInference(): number {
    return this.#last
  }

  durationOf(part: Part): Duration {
    return this.#durations[part]
  }
}
