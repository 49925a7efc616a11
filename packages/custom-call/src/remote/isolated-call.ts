import type { Tensor, TensorType } from '@tenon/core'
import {
  Cleaner,
  globalGate,
  RUN_OPTIONS,
  type Gated,
  type IsolatedRunOptions,
  type RemoteAnswer,
  type RemoteCall,
  type RemoteHost,
  type RemoteKernel,
  type RemoteOperand,
} from '@tenon/core/internal'
import type { Callee } from '../call/callee.ts'
import { checkTensors } from '../call/check-tensors.ts'
import type { FrameCall } from '../call/frames.ts'
import { FIRST_TENSOR } from '../call/operand-list.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { Temp, token } from '../shape/leaf.ts'

/** A prepared call whose runs are calls of another process. */
export interface RemoteFrame extends FrameCall {
  /**
   * Makes one run of the call.
   *
   * @param tensors the operands before the results. @param options all options, which were read once.
   * @throws {TenonError} if a tensor is not valid.
   */
  begin(tensors: readonly Tensor[], options: object): RemoteCall
}

/** A kernel in another process, and the error for an answer of it. */
export interface IsolatedKernelFacts {
  readonly kernel: RemoteKernel
  readonly shape: CallShape
  /** See {@link RemoteCall.failure}. */
  failure(answer: RemoteAnswer): Error | undefined
}

/** Lets the host forget the kernels of calls that were collected. */
const collected = new Cleaner<{ readonly host: RemoteHost; readonly kernel: RemoteKernel }>(({ host, kernel }) =>
  host.forget(kernel),
)

const nothing = (): void => {}

/** A prepared call of an isolated kernel. Several runs can be in progress at the same time. */
export class IsolatedCall implements RemoteFrame {
  readonly frame = { running: false }
  readonly shape: { readonly types: readonly TensorType[] }
  isAlive = true
  readonly #host: RemoteHost
  readonly #facts: IsolatedKernelFacts
  readonly #ended = (): void => this.#runEnded()
  #runs = 0

  constructor(host: RemoteHost, facts: IsolatedKernelFacts) {
    this.#host = host
    this.#facts = facts
    this.shape = facts.shape
    collected.watch(this, { host, kernel: facts.kernel }, this)
  }

  /** Closes the call. The host forgets the kernel, and the state of its handlers, when no run uses it. */
  closeAfterRuns(): void {
    if (!this.isAlive) return
    this.isAlive = false
    collected.forget(this)
    if (this.#runs === 0) this.#host.forget(this.#facts.kernel)
  }

  begin(tensors: readonly Tensor[], options: object): RemoteCall {
    const { kernel, shape, failure } = this.#facts
    const operands = operandsOf(this.#host, shape, tensors)
    this.#runs++
    return { kernel, operands, options: options as IsolatedRunOptions, read: nothing, failure, ended: this.#ended }
  }

  #runEnded(): void {
    this.#runs--
    if (!this.isAlive && this.#runs === 0) this.#host.forget(this.#facts.kernel)
  }
}

const NO_OWNER: Gated = { gate: globalGate }

/** Checks the tensors of a run, and distributes them over the buffers of the call. @throws as a call in this process */
function operandsOf(
  { gate }: RemoteHost,
  shape: CallShape,
  tensors: readonly Tensor[],
): readonly (RemoteOperand | null)[] {
  const checked = checkTensors({ gate, target: { gate }, shape }, [NO_OWNER, NO_OWNER, ...tensors])
  let next = 0
  return shape.leaves.map((leaf) => {
    if (leaf === token) return null
    if (leaf instanceof Temp) return { tensor: undefined, type: leaf.type, isWritten: true }
    const isWritten = next >= shape.operandCount
    const type = shape.types[next]!
    return { tensor: checked[next++]!, type, isWritten }
  })
}

/** Makes the part of a callee that is the same for all conventions. */
export function runsRemotely<Call extends RemoteFrame>(
  host: RemoteHost,
): Pick<Required<Callee<Call>>, 'run' | 'runAsync' | 'remote'> {
  const tensorsOf = (list: readonly Gated[]): Tensor[] => list.slice(FIRST_TENSOR) as readonly Gated[] as Tensor[]
  return {
    run: (call, list, options) => {
      // Kernels that the run calls back may use the call as well.
      call.frame.running = false
      host.run(call.begin(tensorsOf(list), options))
    },
    runAsync: (call, list, options) => host.runAsync(call.begin(tensorsOf(list), options)),
    remote: {
      allocator: host.allocator,
      options: RUN_OPTIONS,
      runBatch: (runs) =>
        host.runBatch(
          runs.map(
            ({ call, tensors, options }) =>
              () =>
                call.begin(tensors, options),
          ),
        ),
    },
  }
}
