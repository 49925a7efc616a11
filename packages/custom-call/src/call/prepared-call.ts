import { ArgumentError, type TensorType } from '@tenon/core'
import { enterCall, leaveCall, ManagedLifetime, type Gated } from '@tenon/core/internal'
import { runLater, type RunLaterOptions } from '../async/run-later.ts'
import type { CallMemory } from '../native/call-memory.ts'
import { current } from '../native/current-call.ts'
import { BoundCall } from './bound-call.ts'
import type { CallShape } from '../shape/call-shape.ts'
import type { CallTarget, Tensors } from './call-target.ts'
import { FIRST_TENSOR, patchPointers } from './patch-pointers.ts'

/**
 * A custom call that is ready to run: its frame lies in native memory, with everything in place but the pointers to the
 * tensors. Closing it destroys the state that its handlers keep for it.
 *
 * @example
 * using call = handler.prepare({ operands: [f32([2, 4])], results: [f32([2, 4])], attrs: { eps: f32(1e-5) } })
 * call.run([x], [y])
 */
export class PreparedCall<
  Operands extends Tensors = Tensors,
  Results extends Tensors = Tensors,
> extends ManagedLifetime {
  /** @internal */
  readonly target: CallTarget
  /** @internal */
  readonly shape: CallShape
  /** @internal what a run holds: the call itself, the library, and the tensors; between runs itself in their place */
  readonly held: Gated[]
  /** Memory of asynchronous runs that are over. */
  readonly #spare: CallMemory[] = []

  /** @internal */
  constructor(target: CallTarget, shape: CallShape) {
    super()
    this.target = target
    this.shape = shape
    this.held = [this, target, ...shape.types.map(() => this)]
  }

  protected override get label(): string {
    return `the prepared call of ${this.shape.name}`
  }

  protected override release(): void {
    this.target.close()
  }

  /** The types of the tensors that {@link run} takes. */
  get operandTypes(): readonly TensorType[] {
    return this.shape.types.slice(0, this.shape.operandCount)
  }

  get resultTypes(): readonly TensorType[] {
    return this.shape.types.slice(this.shape.operandCount)
  }

  /**
   * Runs the call on these tensors, and returns when the results are written. Their memory can't be closed meanwhile.
   *
   * @param operands read by the kernel, borrowed for the call; of exactly the types that the call is prepared for.
   * @param results written by the kernel, likewise. After a failure their contents are undefined.
   * @throws {XlaError} if the kernel fails or throws a C++ exception: the subclass of its code.
   * @throws {ArgumentError | ReadOnlyError | AlignmentError | ScopeClosedError} if a tensor can't be passed.
   */
  run(operands: Operands, results: Results): void {
    const { target, held } = this
    const { memory } = target
    if (memory.running || !this.gate.open || !target.gate.open) refuseRun(this)
    patchPointers(this.shape, memory, held, operands, results)
    enterCall(held)
    current.call[0] = memory.pointer
    memory.running = true
    let status: number
    try {
      status = target.execute() as number
    } finally {
      memory.running = false
      leaveCall()
      if (target.stream !== undefined) target.stream.keep?.(held.slice(FIRST_TENSOR))
      // A call that is kept must not keep the memory of its last run.
      for (let i = FIRST_TENSOR; i < held.length; i++) held[i] = this
    }
    if (status !== 0) throw target.failure(memory, status)
  }

  /**
   * Runs the call on a thread of the core, and settles from the event loop. The tensors, the call and the library can't be
   * closed before that. Runs of one call may overlap: give each results of its own.
   *
   * A run that waits for a future of its handler keeps no thread. A TypeScript function can't be called so: it fails with
   * UNAVAILABLE. A thread of JavaScript doesn't end before its runs, also a worker that is terminated.
   *
   * @param options.signal takes the run back if it has not started; then it rejects with the signal's reason.
   * @throws (rejects with) what {@link run} throws; {@link ResourceExhaustedError} if 1024 runs are in flight on this
   * thread; {@link NativeError} on Windows, where it is not supported.
   */
  runAsync(operands: Operands, results: Results, options: RunLaterOptions = {}): Promise<void> {
    return runLater(options, () => {
      const { target } = this
      if (!this.gate.open || !target.gate.open) refuseRun(this)
      const memory = this.#spare.pop() ?? target.extend()
      const held = [...this.held]
      patchPointers(this.shape, memory, held, operands, results)
      return {
        run: target,
        memory,
        held,
        streams: target.stream === undefined ? [] : [target.stream],
        failure: (status) => target.failure(memory, status),
        end: () => void this.#spare.push(memory),
      }
    })
  }

  /**
   * Fixes the tensors, so that each run only calls. Their memory and this call stay open until the binding is closed. It
   * has pointers of its own: several bindings and {@link run} don't disturb each other.
   *
   * @throws as {@link run}, but for the kernel.
   */
  bind(operands: Operands, results: Results): BoundCall {
    if (!this.gate.open || !this.target.gate.open) refuseRun(this)
    const memory = this.target.extend()
    const held = [...this.held]
    patchPointers(this.shape, memory, held, operands, results)
    return new BoundCall(this, memory, held)
  }
}

/** Says why a call can't run. */
function refuseRun(call: PreparedCall<never, never>): never {
  call.checkOpen()
  call.target.gate.owner.checkOpen()
  throw new ArgumentError(`${call.shape.name} is running: a prepared call can't run inside itself`, {
    hint: 'prepare or bind another call for it.',
  })
}
