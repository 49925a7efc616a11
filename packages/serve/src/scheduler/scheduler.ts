import { QueueFullError, type Tensor } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { ParameterValue } from '../model/run-context.ts'
import type { Cancellation } from '../service/cancellation.ts'
import { callLater, deadlineError } from '../service/deadline.ts'
import { formBatch } from './form-batch.ts'
import { keyOf, type Job, type JobOutputs } from './job.ts'
import { JobQueue } from './job-queue.ts'
import { runBatch } from './run-batch.ts'

/** One request for a model, whose inputs were checked. */
export interface ScheduledRequest {
  readonly inputs: readonly Tensor[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** 1 is the highest priority, and 0 that of the model. */
  readonly priority: number
  /** The longest time in the queue in microseconds, or 0 for that of the model. */
  readonly timeout: number
  readonly cancellation: Cancellation
  /** Called when the request leaves the queue for an instance. */
  begin(): void
}

/** Gives the requests of a model to its instances, in batches if the model has them. */
export class Scheduler {
  readonly #model: Model
  readonly #onRun: (rows: number) => void
  readonly #queue = new JobQueue()
  /** The answer before the one of the newest request, if answers keep their order. */
  #previous: Promise<unknown> = Promise.resolve()
  #running = 0
  #takeBack = (): void => {}

  /** @param onRun called with the rows of each batch that starts. */
  constructor(model: Model, onRun: (rows: number) => void) {
    this.#model = model
    this.#onRun = onRun
  }

  /** The requests that wait or run. */
  get pending(): number {
    return this.#queue.size + this.#running
  }

  /**
   * Runs a request when its turn comes.
   *
   * @throws (rejects with) {InvalidRequestError} if it is larger than a batch, or has a priority that the model does not have;
   * {QueueFullError}; {KernelDeadlineError} if it waited or ran too long; the reason of its cancellation; or what the model throws.
   */
  async run(request: ScheduledRequest): Promise<JobOutputs> {
    const { batching, name } = this.#model
    const level = request.priority === 0 ? batching.defaultLevel : request.priority
    if (level > batching.levels) {
      throw new InvalidRequestError(`the priority of a request must be at most ${batching.levels}, got ${level}`)
    }
    const size = batching.maxBatchSize === 0 ? 1 : request.inputs[0]!.shape[0]!
    if (size > Math.max(1, batching.maxBatchSize)) {
      throw new InvalidRequestError(`a request must have at most ${batching.maxBatchSize} rows, got ${size}`)
    }
    const { maxQueueSize } = batching.policyOf(level)
    if (this.#queue.sizeOf(level) >= maxQueueSize) {
      throw new QueueFullError(`the queue of the model ${name} must have at most ${maxQueueSize} requests`, {
        hint: 'Send the request again later.',
      })
    }
    if (request.cancellation.isCancelled) throw request.cancellation.reason
    const answer = this.#add(request, level, size)
    if (!batching.preserveOrdering) return answer
    const previous = this.#previous
    const inOrder = answer.then(
      async (outputs) => (await previous, outputs),
      async (error: unknown) => {
        await previous
        throw error
      },
    )
    this.#previous = inOrder.catch(() => {})
    return inOrder
  }

  #add(
    { inputs, parameters, cancellation, timeout, begin }: ScheduledRequest,
    level: number,
    size: number,
  ): Promise<JobOutputs> {
    const { batching, name } = this.#model
    const policy = batching.policyOf(level)
    const longest = shorterTimeout(policy, timeout) / 1000
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        takeBack()
        cancellation.listener = undefined
      }
      const abort = (): void => {
        leave()
        this.#queue.delete(job)
        reject(cancellation.reason as Error)
      }
      const expire = (): void => {
        if (policy.timeoutAction === 'delay') {
          this.#queue.delay(job)
          return
        }
        leave()
        this.#queue.delete(job)
        reject(deadlineError(name, longest))
      }
      const job: Job = {
        inputs,
        size,
        // Requests are only compared in models with batches.
        key: batching.maxBatchSize > 1 ? keyOf(inputs, parameters) : '',
        level,
        since: performance.now(),
        parameters,
        cancellation,
        begin: () => {
          leave()
          begin()
        },
        resolve,
        reject,
      }
      const takeBack = longest > 0 ? callLater(expire, longest) : () => {}
      cancellation.listener = abort
      this.#queue.add(job)
      this.#startNext()
    })
  }

  /** Starts what can start now, and looks again when a batch has waited long enough. */
  #startNext(): void {
    this.#takeBack()
    while (this.#running < this.#model.instances && this.#queue.size > 0) {
      const decision = formBatch(this.#queue, this.#model.batching, performance.now())
      if ('wait' in decision) {
        this.#takeBack = callLater(() => this.#startNext(), decision.wait)
        return
      }
      for (const job of decision.jobs) {
        this.#queue.delete(job)
        job.begin()
      }
      this.#running++
      this.#onRun(decision.jobs.reduce((sum, { size }) => sum + size, 0))
      void runBatch(this.#model, decision.jobs).finally(() => {
        this.#running--
        this.#startNext()
      })
    }
  }
}

/** A request can only shorten the time in the queue. */
function shorterTimeout(
  {
    allowTimeoutOverride,
    defaultTimeoutMicroseconds,
  }: { allowTimeoutOverride: boolean; defaultTimeoutMicroseconds: number },
  timeout: number,
): number {
  if (!allowTimeoutOverride || timeout === 0) return defaultTimeoutMicroseconds
  return defaultTimeoutMicroseconds === 0 ? timeout : Math.min(timeout, defaultTimeoutMicroseconds)
}
