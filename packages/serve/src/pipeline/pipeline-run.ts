import { StringTensor } from 'tenon/tstring'
import { InvalidRequestError, PipelineStepError } from '../errors.ts'
import { typeOfTensor, type ModelTensor } from '../model/model-tensor.ts'
import type { JobOutputs, ScheduledRequest } from '../scheduler/job.ts'
import { Cancellation } from '../service/cancellation.ts'
import { closeWhenFree, type RequestMemory } from '../model/request-memory.ts'
import type { BoundStep } from './bound-steps.ts'
import { waitingTensors, type PipelineGraph } from './pipeline-graph.ts'
import { StepRequest } from './step-request.ts'

/** Counts and traces the steps of a pipeline. */
export interface StepObserver {
  /** Called when a step begins. @returns a function that is called with its end, and its error if it failed. */
  begin(request: StepRequest): (failure?: { readonly error: unknown }) => void
}

/** The memory of the outputs of one step, which is freed when nothing uses them any more. */
interface StepOutputs {
  /** The number of the steps and the outputs of the pipeline that use them. */
  users: number
  /** @returns the tensors that only they have kept. */
  free(): readonly number[]
}

const NONE: readonly number[] = []

/** One request of a pipeline, whose steps run as soon as their inputs are there. */
export class PipelineRun {
  /** The outputs of the pipeline. Rejects with the error of the step that failed first, or the reason of the cancellation. */
  readonly outputs: Promise<JobOutputs>
  readonly #graph: PipelineGraph
  readonly #steps: readonly BoundStep[]
  readonly #request: ScheduledRequest
  readonly #observer: StepObserver
  readonly #onEnd: () => void
  readonly #tensors: (ModelTensor | undefined)[]
  /** The outputs to which each tensor belongs; undefined for those of the request. */
  readonly #owners: (StepOutputs | undefined)[] = []
  readonly #live = new Set<StepOutputs>()
  /** The number of tensors that each step waits for. */
  readonly #waiting: Uint32Array
  readonly #ready: number[]
  readonly #running = new Map<BoundStep, Cancellation>()
  readonly #resolve: (outputs: JobOutputs) => void
  readonly #reject: (reason: unknown) => void
  #left: number
  /** The number of memories that a worker which was left alone still holds. */
  #closing = 0
  #isStarting = false
  #isFailed = false
  #hasEnded = false

  /** @param onEnd called once, when the request does not need its models any more. */
  constructor(
    graph: PipelineGraph,
    steps: readonly BoundStep[],
    request: ScheduledRequest,
    observer: StepObserver,
    onEnd: () => void,
  ) {
    this.#graph = graph
    this.#steps = steps
    this.#request = request
    this.#observer = observer
    this.#onEnd = onEnd
    this.#tensors = [...request.inputs]
    this.#waiting = waitingTensors(steps.length, graph.tensors)
    this.#ready = Array.from(steps.keys()).filter((i) => this.#waiting[i] === 0)
    this.#left = steps.length
    let settle: { resolve: (outputs: JobOutputs) => void; reject: (reason: unknown) => void }
    this.outputs = new Promise((resolve, reject) => (settle = { resolve, reject }))
    this.#resolve = settle!.resolve
    this.#reject = settle!.reject
  }

  /** The step that has run for the longest time, if one runs. */
  get current(): BoundStep | undefined {
    return this.#running.keys().next().value
  }

  /** Starts the steps whose inputs are there. Functions may end at once, so that further steps are ready meanwhile. */
  start(): void {
    if (this.#isStarting) return
    this.#isStarting = true
    for (let i = this.#ready.pop(); i !== undefined; i = this.#ready.pop()) if (!this.#isFailed) this.#startStep(i)
    this.#isStarting = false
  }

  /** Cancels the steps that run, and starts no others. */
  cancel(reason: unknown): void {
    this.#isFailed = true
    this.#reject(reason)
    for (const cancellation of this.#running.values()) cancellation.cancel(reason)
    this.#endIfIdle()
  }

  #startStep(i: number): void {
    const bound = this.#steps[i]!
    const { model, scheduler } = bound.served
    // Functions make the memory of their outputs themselves.
    const memory = model.kernel === undefined ? undefined : model.memory?.arena()
    const request = new StepRequest(this.#request, bound, {
      inputs: bound.inputs.map((tensor) => this.#tensors[tensor]!),
      memory,
      cancellation: new Cancellation(),
    })
    this.#running.set(bound, request.cancellation)
    const end = this.#observer.begin(request)
    const succeed = (made: JobOutputs): void => {
      end()
      this.#succeed(bound, memory, made)
    }
    const fail = (error: unknown): void => {
      end({ error })
      this.#fail(bound, memory, error)
    }
    try {
      checkInputs(bound, request.inputs)
      const outputs = scheduler.run(request)
      if (outputs instanceof Promise) void outputs.then(succeed, fail).then(() => this.start())
      else succeed(outputs)
    } catch (error) {
      fail(error)
    }
  }

  #succeed(bound: BoundStep, memory: RequestMemory | undefined, made: JobOutputs): void {
    this.#running.delete(bound)
    const { tensors, outputs } = this.#graph
    // The outputs of a function can lie in the memory of its inputs.
    const keepsInputs = bound.served.model.kernel === undefined
    const own: StepOutputs = {
      users: 0,
      free: () => {
        // After a failure, all are freed at once, whoever uses them.
        if (!this.#live.delete(own)) return NONE
        made.release()
        this.#close(memory)
        return keepsInputs ? bound.inputs : NONE
      },
    }
    this.#live.add(own)
    for (const { from, to } of bound.outputs) {
      const { consumers } = tensors[to]!
      this.#tensors[to] = made.tensors[from]!
      this.#owners[to] = own
      own.users += consumers.length
      for (const output of outputs) if (output === to) own.users++
      for (const consumer of consumers) if (--this.#waiting[consumer]! === 0) this.#ready.push(consumer)
    }
    if (!keepsInputs) this.#leaveAll(bound.inputs)
    this.#left--
    if (this.#isFailed) this.#endIfIdle()
    else if (this.#left === 0) this.#finish()
  }

  #fail(bound: BoundStep, memory: RequestMemory | undefined, error: unknown): void {
    this.#running.delete(bound)
    this.#close(memory)
    if (this.#isFailed) this.#endIfIdle()
    else this.cancel(stepError(this.#graph.name, bound, error))
  }

  /** Passes the outputs on. They stay until they are released. */
  #finish(): void {
    const { outputs } = this.#graph
    const tensors = outputs.map((output) => this.#tensors[output]!)
    // While a slow client reads, only the answer is needed.
    this.#tensors.length = 0
    const release = (): void => {
      this.#leaveAll(outputs)
      this.#endIfIdle()
    }
    this.#resolve({ tensors, release })
  }

  /** The outputs to which some tensors belong have a user less for each of them. */
  #leaveAll(tensors: readonly number[]): void {
    // A loop, because thousands of steps can keep each other's outputs.
    const left = [tensors]
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      for (const tensor of new Set(next)) {
        const owner = this.#owners[tensor]
        if (owner !== undefined && --owner.users === 0) left.push(owner.free())
      }
    }
  }

  #close(memory: RequestMemory | undefined): void {
    const closing = memory && closeWhenFree(memory)
    if (closing === undefined) return
    this.#closing++
    const freed = (): void => {
      this.#closing--
      this.#endIfIdle()
    }
    void closing.then(freed)
  }

  #endIfIdle(): void {
    if (this.#hasEnded || this.#running.size > 0) return
    if (this.#isFailed) for (const own of this.#live) own.free()
    if (this.#live.size > 0 || this.#closing > 0) return
    this.#hasEnded = true
    this.#onEnd()
  }
}

/** The error of a step, which names it. */
export function stepError(pipeline: string, { step, served }: BoundStep, cause: unknown): PipelineStepError {
  const { name, version } = served.model
  const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
  return new PipelineStepError(`step ${step.number} (${step.model}) of the pipeline ${pipeline} failed: ${reason}`, {
    details: { pipeline, step: step.number, model: name, version },
    cause,
  })
}

/** @throws {InvalidRequestError} if a tensor does not fit the model of a step. */
function checkInputs({ served: { model } }: BoundStep, inputs: readonly ModelTensor[]): void {
  for (const [i, input] of inputs.entries()) {
    const { name, dtype } = model.inputs[i]!
    if ((dtype === 'string') === input instanceof StringTensor) continue
    throw new InvalidRequestError(`the input ${name} must be ${dtype === 'string' ? 'strings' : 'numbers'}`)
  }
  model.check(inputs.map(typeOfTensor))
}
