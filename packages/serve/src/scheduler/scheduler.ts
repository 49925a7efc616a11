import { QueueFullError } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { ModelTensor } from '../model/model-tensor.ts'
import { callLater } from '../service/call-later.ts'
import { deadlineError } from '../service/deadline.ts'
import { formBatch, type Decision } from './form-batch.ts'
import { Job, keyOf, type JobOutputs, type ScheduledRequest } from './job.ts'
import { JobQueue } from './job-queue.ts'
import { runBatch } from './run-batch.ts'
import { RunDeadlines } from './run-deadlines.ts'
import { runStream } from './run-stream.ts'
import { Sequences } from './sequences.ts'

/** Gives the requests of a model to its instances, in batches if the model has them. */
export class Scheduler {
  readonly #model: Model
  readonly #onRun: (rows: number) => void
  readonly #queue = new JobQueue()
  readonly #deadlines: RunDeadlines
  /** The answer before the one of the newest request, if answers keep their order. */
  #previous: Promise<unknown> = Promise.resolve()
  readonly #sequences: Sequences | undefined
  #running = 0
  #takeBack = (): void => {}

  /** @param onRun called with the rows of each batch that starts. */
  constructor(model: Model, onRun: (rows: number) => void) {
    this.#model = model
    this.#onRun = onRun
    this.#deadlines = new RunDeadlines(model.deadline)
    const { name, sequence } = model
    if (sequence !== undefined) this.#sequences = new Sequences(name, sequence, () => this.#startNext())
  }

  /** The requests that wait or run. */
  get pending(): number {
    return this.#queue.size + this.#running
  }

  /** The sequences that have not ended. */
  get sequences(): number {
    return this.#sequences?.size ?? 0
  }

  /** Ends all sequences. Called when no further requests come. */
  endSequences(): void {
    this.#sequences?.endAll()
  }

  /**
   * Runs a request when its turn comes.
   *
   * @throws {InvalidRequestError} if it is larger than a batch, or has a priority that the model does not have. or is in a sequence that was not started.
   * @throws {QueueFullError}
   * @returns the outputs of a function that a free instance has run at once, or a promise. For a stream, there are no tensors, and its instance is
   * taken until the release.
   * @throws (rejects with) {KernelDeadlineError} if it waited or ran too long; the reason of its cancellation; or what the model throws.
   */
  run(request: ScheduledRequest): JobOutputs | Promise<JobOutputs> {
    const { batching } = this.#model
    const level = request.priority === 0 ? batching.defaultLevel : request.priority
    if (level > batching.levels) {
      throw new InvalidRequestError(`the priority of a request must be at most ${batching.levels}, got ${level}`)
    }
    const size = batching.maxBatchSize === 0 ? 1 : request.inputs[0]!.shape[0]!
    if (size > Math.max(1, batching.maxBatchSize)) {
      throw new InvalidRequestError(`a request must have at most ${batching.maxBatchSize} rows, got ${size}`)
    }
    if (this.#queue.size > 0) this.#checkSpace(level)
    if (request.cancellation.isCancelled) return Promise.reject(request.cancellation.reason)
    const answer = this.#add(request, level, size)
    if (!batching.preserveOrdering) return answer
    const previous = this.#previous
    const inOrder = Promise.resolve(answer).then(
      async (outputs) => (await previous, outputs),
      async (error: unknown) => {
        // Nobody sees the order of an answer that nobody waits for.
        if (!request.cancellation.isCancelled) await previous
        throw error
      },
    )
    this.#previous = inOrder.catch(() => previous)
    return inOrder
  }

  /**
   * Runs a request of a model that answers with streams when its turn comes. Its instance is free when the stream has ended.
   *
   * @throws (rejects with) what {@link run} throws.
   */
  async *stream(request: ScheduledRequest): AsyncGenerator<readonly ModelTensor[], void, undefined> {
    const turn = await this.run(request)
    try {
      yield* runStream(this.#model, this.#model.stream!, request, this.#deadlines)
    } finally {
      turn.release()
    }
  }

  /** @throws {QueueFullError} if as many requests of a priority wait as may. */
  #checkSpace(level: number): void {
    const { batching, name } = this.#model
    const { maxQueueSize } = batching.policyOf(level)
    if (this.#queue.sizeOf(level) < maxQueueSize) return
    throw new QueueFullError(`the queue of the model ${name} must have at most ${maxQueueSize} requests`, {
      hint: 'Send the request again later.',
    })
  }

  #add(request: ScheduledRequest, level: number, size: number): JobOutputs | Promise<JobOutputs> {
    const { batching, instances } = this.#model
    // Requests are only compared in models with batches.
    const key = batching.maxBatchSize > 1 ? keyOf(request.inputs, request.parameters) : ''
    const job = new Job(request, size, key, level)
    this.#sequences?.add(job)
    // A free instance takes a request that waits for nothing.
    const isFree = batching.maxBatchSize <= 1 && this.#running < instances && this.#queue.size === 0
    if (isFree && canRun(job)) this.#start([job])
    else this.#enqueue(job)
    return job.answer()
  }

  #enqueue(job: Job): void {
    const { batching, name } = this.#model
    const { cancellation, timeout } = job.request
    const policy = batching.policyOf(job.level)
    const longest = shorterTimeout(policy, timeout) / 1000
    const leave = (): void => {
      takeBack()
      cancellation.listener = undefined
      job.onBegin = undefined
    }
    const refuse = (reason: unknown): void => {
      leave()
      this.#queue.delete(job)
      job.reject(reason)
      this.#sequences?.drop(job)
    }
    job.refuse = refuse
    const expire = (): void => {
      if (policy.timeoutAction === 'delay') this.#queue.delay(job)
      else refuse(deadlineError(name, longest))
    }
    const takeBack = longest > 0 ? callLater(expire, longest) : () => {}
    const cancel = (): void => refuse(cancellation.reason)
    // Not at once: V8 would make it an old object, with which the request would stay until the next full collection.
    cancellation.listener = cancel
    job.onBegin = leave
    this.#queue.add(job)
    this.#startNext()
  }

  /** Starts what can start now, and looks again when a batch has waited long enough. */
  #startNext(): void {
    this.#takeBack()
    while (this.#running < this.#model.instances && this.#queue.size > 0) {
      const decision = this.#decide()
      if (decision === undefined) return
      if ('wait' in decision) {
        this.#takeBack = callLater(() => this.#startNext(), decision.wait)
        return
      }
      for (const job of decision.jobs) {
        this.#queue.delete(job)
        job.onBegin?.()
        job.request.begin()
      }
      this.#start(decision.jobs)
    }
  }

  /** The next work of a free instance, or undefined if all requests wait for others of their sequences. */
  #decide(): Decision | undefined {
    if (this.#sequences === undefined) return formBatch(this.#queue, this.#model.batching, performance.now())
    for (const job of this.#queue) if (canRun(job)) return { jobs: [job] }
    return undefined
  }

  #start(jobs: readonly Job[]): void {
    let rows = 0
    for (const { size } of jobs) rows += size
    this.#onRun(rows)
    this.#running++
    if (this.#sequences !== undefined) for (const job of jobs) this.#sequences.begin(job)
    const end = (): void => {
      this.#running--
      if (this.#sequences !== undefined) for (const job of jobs) this.#sequences.finish(job)
    }
    if (this.#model.stream !== undefined) {
      const release = (): void => (end(), this.#startNext())
      for (const job of jobs) job.resolve({ tensors: [], release })
      return
    }
    const running = runBatch(this.#model, jobs, this.#deadlines)
    if (running === undefined) end()
    else void running.finally(end).then(() => this.#startNext())
  }
}

/** Whether a request waits for no other one of its sequence. */
const canRun = (job: Job): boolean => job.request.turn?.sequence?.canRun(job) !== false

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
