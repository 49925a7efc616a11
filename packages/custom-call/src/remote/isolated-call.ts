import type { Tensor, TensorType } from '@tenon/core'
import {
  Cleaner,
  RUN_OPTIONS,
  type Gate,
  type Gated,
  type IsolatedRunOptions,
  type RemoteAnswer,
  type RemoteCall,
  type RemoteHost,
  type RemoteKernel,
  type RemoteOperand,
} from '@tenon/core/internal'
import type { Callee } from '../call/callee.ts'
import { checkTensors, type TensorUser } from '../call/check-tensors.ts'
import type { FrameCall } from '../call/frames.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { Temp, token } from '../shape/leaf.ts'
import { haveAliases, isResizable, withSizes } from '../shape/other-sizes.ts'

/** A prepared call whose runs are calls of another process. */
export interface RemoteFrame extends FrameCall {
  /**
   * Makes one run of the call.
   *
   * @param list places for the call and its library, the operands, and the results. @param options all options, which were read once.
   * @throws {TenonError} if a tensor is not valid.
   */
  begin(list: readonly Gated[], options: object): RemoteCall
}

/** A kernel in another process, and the error for an answer of it. */
export interface IsolatedKernelFacts {
  readonly kernel: RemoteKernel
  readonly shape: CallShape
  /** Whether runs can have other sizes than the shape, if all buffers are row-major tensors. */
  readonly isResizable: boolean
  /** Whether the kernel needs the dimensions of each run, and not only addresses. */
  readonly hasDims: boolean
  /** See {@link RemoteCall.failure}. */
  failure(answer: RemoteAnswer): Error | undefined
}

/** Lets the host forget the kernels of calls that were collected. */
const collected = new Cleaner<{ readonly host: RemoteHost; readonly kernel: RemoteKernel }>(({ host, kernel }) =>
  host.forget(kernel),
)

const nothing = (): void => {}

/** The kernel of calls that differ only in sizes. The host forgets it, and the state of its handlers, when it is closed and no run uses it. */
class CalledKernel {
  readonly host: RemoteHost
  readonly kernel: RemoteKernel
  readonly ended = (): void => this.#runEnded()
  isAlive = true
  #runs = 0

  constructor(host: RemoteHost, kernel: RemoteKernel) {
    this.host = host
    this.kernel = kernel
    collected.watch(this, { host, kernel }, this)
  }

  begin(): void {
    this.#runs++
  }

  closeAfterRuns(): void {
    if (!this.isAlive) return
    this.isAlive = false
    collected.forget(this)
    if (this.#runs === 0) this.host.forget(this.kernel)
  }

  #runEnded(): void {
    this.#runs--
    if (!this.isAlive && this.#runs === 0) this.host.forget(this.kernel)
  }
}

/** A prepared call of an isolated kernel, or the same one for tensors of other sizes. Several runs can be in progress at the same time. */
export class IsolatedCall implements RemoteFrame, TensorUser {
  readonly gate: Gate
  readonly target: RemoteHost
  readonly frame: { running: boolean }
  readonly shape: CallShape
  readonly #facts: IsolatedKernelFacts
  readonly #called: CalledKernel
  /** The dimensions of all tensors, for a kernel that may have run other sizes before. */
  readonly #dims: Uint8Array | undefined

  /** @param of the call for other sizes of the same kernel. */
  constructor(host: RemoteHost, facts: IsolatedKernelFacts, of?: IsolatedCall) {
    this.#facts = facts
    this.gate = host.gate
    this.target = host
    this.frame = of?.frame ?? { running: false }
    this.#called = of === undefined ? new CalledKernel(host, facts.kernel) : of.#called
    const { shape, hasDims } = facts
    this.shape = of === undefined && this.#isResizable ? withSizes(shape, shape.types, hasDims) : shape
    const { dims } = this.shape
    this.#dims = dims.length === 0 ? undefined : new Uint8Array(Int32Array.from(dims).buffer)
  }

  get isAlive(): boolean {
    return this.#called.isAlive
  }

  get #isResizable(): boolean {
    return this.#facts.isResizable && isResizable(this.#facts.shape)
  }

  /** Closes the call, and those for other sizes. */
  closeAfterRuns(): void {
    this.#called.closeAfterRuns()
  }

  withTypes(types: readonly TensorType[]): IsolatedCall | undefined {
    const { shape } = this
    if (!this.#isResizable || !haveAliases(shape, types)) return undefined
    const resized = withSizes(shape, types, this.#facts.hasDims)
    return new IsolatedCall(this.#called.host, { ...this.#facts, shape: resized }, this)
  }

  begin(list: readonly Gated[], options: object): RemoteCall {
    const { kernel, failure } = this.#facts
    const { ended } = this.#called
    const operands = operandsOf(this.shape, checkTensors(this, list))
    this.#called.begin()
    const runOptions = options as IsolatedRunOptions
    return { kernel, operands, body: this.#dims, options: runOptions, read: nothing, failure, ended }
  }
}

/** Distributes the tensors of a run over the buffers of the call. */
function operandsOf(
  { leaves, operandCount, types }: CallShape,
  tensors: readonly Tensor[],
): readonly (RemoteOperand | null)[] {
  let next = 0
  return leaves.map((leaf) => {
    if (leaf === token) return null
    if (leaf instanceof Temp) return { tensor: undefined, type: leaf.type, isWritten: true }
    const isWritten = next >= operandCount
    const type = types[next]!
    return { tensor: tensors[next++]!, type, isWritten }
  })
}

/** Makes the part of a callee that is the same for all conventions. */
export function runsRemotely<Call extends RemoteFrame>(
  host: RemoteHost,
): Pick<Required<Callee<Call>>, 'run' | 'runAsync' | 'remote'> {
  return {
    run: (call, list, options) => {
      // Kernels that the run calls back may use the call as well.
      call.frame.running = false
      host.run(call.begin(list, options))
    },
    runAsync: (call, list, options) => host.runAsync(call.begin(list, options)),
    remote: {
      allocator: host.allocator,
      newTensor: (type) => host.newTensor(type),
      options: RUN_OPTIONS,
      runBatch: (runs) =>
        host.runBatch(
          runs.map(
            ({ call, list, options }) =>
              () =>
                call.begin(list, options),
          ),
        ),
    },
  }
}
