import type { Tensor, TensorType } from '@tenon/core'
import { Cleaner, type Gated } from '@tenon/core/internal'
import { FIRST_TENSOR, type Callee, type FrameCall } from '@tenon/custom-call/internal'
import type { Answer, WorkerCall, WorkerDetails, WorkerKernel, Workers } from '@tenon/isolate/internal'
import type { IsolatedContext } from './isolated-context.ts'
import type { IsolatedRunOptions } from './isolated-kernel.ts'
import { checkRunOptions, RUN_OPTIONS } from './run-options.ts'
import { StagedOperands, type OperandPlan } from './staged-operands.ts'

/** What the calls of a kernel's convention do. */
export interface IsolatedCallFacts {
  readonly kernel: WorkerKernel
  /** The types of the tensors, operands before results. */
  readonly shape: { readonly types: readonly TensorType[] }
  /**
   * Checks the tensors of a call, and says how the worker needs them.
   *
   * @throws {ArgumentError | ReadOnlyError | AlignmentError | ScopeClosedError} if one cannot be passed.
   */
  plan(tensors: readonly Tensor[]): CallPlan
  /** Returns the error that the kernel reported. */
  failure(answer: Answer, details: WorkerDetails): Error
}

/** The operands of a worker, and the values besides them. */
export interface CallPlan {
  readonly operands: readonly (OperandPlan | null)[]
  readonly body?: Uint8Array
}

/** A prepared call whose runs are calls of workers. */
export interface RemoteCall extends FrameCall {
  /**
   * Makes one run of the call.
   *
   * @param tensors the operands before the results. @param options all options, which were read once.
   * @throws {TenonError} if an option or a tensor is not valid.
   */
  begin(tensors: readonly Tensor[], options: object): WorkerCall<void>
}

/** Lets the workers forget the kernels of calls that were collected. */
const collected = new Cleaner<{ readonly workers: Workers; readonly kernel: WorkerKernel }>(({ workers, kernel }) =>
  workers.forget(kernel),
)

/** A prepared call of an isolated kernel. Several runs can be in progress at the same time. */
export class IsolatedCall implements RemoteCall {
  readonly frame = { running: false }
  readonly shape: IsolatedCallFacts['shape']
  isAlive = true
  /** @internal */
  readonly context: IsolatedContext
  /** @internal */
  readonly facts: IsolatedCallFacts
  #runs = 0

  constructor(context: IsolatedContext, facts: IsolatedCallFacts) {
    this.context = context
    this.facts = facts
    this.shape = facts.shape
    collected.watch(this, { workers: context.workers, kernel: facts.kernel }, this)
  }

  /** Closes the call. Workers forget the kernel, and the state of its handlers, when no run uses it. */
  closeAfterRuns(): void {
    if (!this.isAlive) return
    this.isAlive = false
    collected.forget(this)
    this.#forgetUnused()
  }

  #forgetUnused(): void {
    if (!this.isAlive && this.#runs === 0) this.context.workers.forget(this.facts.kernel)
  }

  begin(tensors: readonly Tensor[], options: object): WorkerCall<void> {
    const { memory } = this.context
    const runOptions = checkRunOptions(options)
    const { operands, body } = this.facts.plan(tensors)
    const staged = new StagedOperands(memory, operands)
    this.#runs++
    return new IsolatedRun(this, tensors, staged, body, runOptions)
  }

  /** @internal A run is over. */
  ended(): void {
    this.#runs--
    this.#forgetUnused()
  }
}

/** One run of a call. */
class IsolatedRun implements WorkerCall<void> {
  readonly kernel: WorkerKernel
  readonly operands: WorkerCall['operands']
  readonly body: Uint8Array | undefined
  readonly gated: readonly Gated[]
  readonly copiedBytes: number
  readonly deadline: IsolatedRunOptions['deadline']
  readonly signal: IsolatedRunOptions['signal']
  readonly priority: IsolatedRunOptions['priority']
  readonly affinity: IsolatedRunOptions['affinity']
  readonly idempotent: IsolatedRunOptions['idempotent']
  readonly #call: IsolatedCall
  readonly #staged: StagedOperands

  constructor(
    call: IsolatedCall,
    tensors: readonly Tensor[],
    staged: StagedOperands,
    body: Uint8Array | undefined,
    { deadline, signal, priority, affinity, idempotent }: IsolatedRunOptions,
  ) {
    this.kernel = call.facts.kernel
    this.operands = staged.operands
    this.body = body
    this.gated = [call.context, ...tensors]
    this.copiedBytes = staged.copiedBytes
    this.deadline = deadline
    this.signal = signal
    this.priority = priority
    this.affinity = affinity
    this.idempotent = idempotent
    this.#call = call
    this.#staged = staged
  }

  read(): void {
    this.#staged.copyBack()
  }

  failure(answer: Answer, details: WorkerDetails): Error {
    return this.#call.facts.failure(answer, details)
  }

  released(): void {
    this.#staged.free()
    this.#call.ended()
  }
}

/** Makes the part of a callee that is the same for all conventions. */
export function runsInWorkers<Call extends RemoteCall>({
  workers,
  memory,
}: IsolatedContext): Pick<Required<Callee<Call>>, 'run' | 'runAsync' | 'remote'> {
  const tensorsOf = (list: readonly Gated[]): Tensor[] => list.slice(FIRST_TENSOR) as readonly Gated[] as Tensor[]
  return {
    run: (call, list, options) => {
      // Kernels that the run calls back may use the call as well.
      call.frame.running = false
      workers.run(call.begin(tensorsOf(list), options))
    },
    runAsync: (call, list, options) => workers.runAsync(call.begin(tensorsOf(list), options)),
    remote: {
      allocator: memory,
      options: RUN_OPTIONS,
      runBatch: (runs) =>
        settleAll(
          workers,
          runs.map(
            ({ call, tensors, options }) =>
              () =>
                call.begin(tensors, options),
          ),
        ),
    },
  }
}

/** Runs calls that are begun one after the other. One that cannot begin is rejected alone. */
export async function settleAll<T>(
  workers: Workers,
  calls: readonly (() => WorkerCall<T>)[],
): Promise<PromiseSettledResult<T>[]> {
  const begun = calls.map((begin): WorkerCall<T> | PromiseRejectedResult => {
    try {
      return begin()
    } catch (reason) {
      return { status: 'rejected', reason }
    }
  })
  const settled = await workers.runBatch(begun.filter((one): one is WorkerCall<T> => !('status' in one)))
  let next = 0
  return begun.map((one) => ('status' in one ? one : settled[next++]!))
}
