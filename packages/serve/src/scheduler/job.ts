import type { RequestMemory } from '../model/request-memory.ts'
import type { ModelTensor } from '../model/model-tensor.ts'
import type { ModelContext, ParameterValue } from '../model/run-context.ts'
import type { TraceContext } from '../tracing/trace-context.ts'
import type { RequestTrace } from '../tracing/tracing.ts'
import type { Cancellation } from '../service/cancellation.ts'
import type { SequenceTurn } from './sequence.ts'

/** One request for a model, whose inputs were checked. */
export interface ScheduledRequest {
  readonly inputs: readonly ModelTensor[]
  /** Where its inputs lie, and its outputs if it runs alone; undefined for memory of the garbage collector. */
  readonly memory: RequestMemory | undefined
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** 1 is the highest priority, and 0 that of the model. */
  readonly priority: number
  /** The longest time in the queue in microseconds, or 0 for that of the model. */
  readonly timeout: number
  readonly cancellation: Cancellation
  readonly trace: TraceContext | undefined
  /** The trace itself, of which steps of a pipeline are parts; undefined if nobody looks at it. */
  readonly span: RequestTrace | undefined
  /** The key of the worker that must run it, if it runs alone; undefined for any worker. */
  readonly affinity: string | undefined
  /** Its turn in a sequence; undefined for a model without sequences. */
  readonly turn: SequenceTurn | undefined
  /** When all of it had come, in milliseconds of `performance.now()`. */
  readonly arrived: number
  /** Called when the request leaves the queue for an instance. One that finds an instance free does not wait in the queue. */
  begin(): void
}

/** One request that waits for its turn, or runs. */
export class Job {
  readonly request: ScheduledRequest
  /** The size along the first axis in a model with batches, or 1. */
  readonly size: number
  /** Requests with the same key can be one batch. */
  readonly key: string
  readonly level: number
  /** Called when the request leaves the queue. Undefined unless it waits there. */
  onBegin: (() => void) | undefined
  /** Takes it out of the queue, and fails it with a reason. */
  refuse: (reason: unknown) => void = () => {}
  #outputs: JobOutputs | undefined
  #resolve: ((outputs: JobOutputs) => void) | undefined
  #reject: ((reason: unknown) => void) | undefined

  constructor(request: ScheduledRequest, size: number, key: string, level: number) {
    this.request = request
    this.size = size
    this.key = key
    this.level = level
  }

  get isWaiting(): boolean {
    return this.onBegin !== undefined
  }

  /** The outputs if they are there, or a promise. Called once, when the request was given to an instance or the queue. */
  answer(): JobOutputs | Promise<JobOutputs> {
    if (this.#outputs !== undefined) return this.#outputs
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  resolve(outputs: JobOutputs): void {
    if (this.#resolve === undefined) this.#outputs = outputs
    else this.#resolve(outputs)
  }

  /** Must be called after {@link answer}. */
  reject(reason: unknown): void {
    this.#reject!(reason)
  }
}

/** The outputs of one request. */
export interface JobOutputs {
  readonly tensors: readonly ModelTensor[]
  /** Called once when the tensors are not used any more. */
  release(): void
}

/** Requests with equal keys have the same shapes behind the first axis, and the same parameters. */
export function keyOf(inputs: readonly ModelTensor[], parameters: Readonly<Record<string, ParameterValue>>): string {
  const shapes = inputs.map(({ shape }) => shape.slice(1).join('x'))
  const given = Object.entries(parameters).map(([name, value]) => [name, typeof value, String(value)])
  return JSON.stringify([shapes, given.toSorted(([a], [b]) => (a! < b! ? -1 : 1))])
}

/** The requests of one run, at least one. */
export type Requests = readonly { readonly request: ScheduledRequest }[]

/**
 * The requests of a run, for its function. It is a class, because every object literal with a getter has a hidden class of its own,
 * which keeps its request in memory until the next full garbage collection.
 */
export class BatchContext implements ModelContext {
  readonly #jobs: Requests
  readonly #cancellation: Cancellation

  constructor(jobs: Requests, cancellation: Cancellation) {
    this.#jobs = jobs
    this.#cancellation = cancellation
  }

  get parameters(): ModelContext['parameters'] {
    return this.#jobs[0]!.request.parameters
  }

  get traces(): ModelContext['traces'] {
    return this.#jobs.flatMap(({ request }) => request.trace ?? [])
  }

  get affinity(): string | undefined {
    return this.#jobs[0]!.request.affinity
  }

  get sequence(): ModelContext['sequence'] {
    return this.#jobs[0]!.request.turn?.context
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal
  }
}
