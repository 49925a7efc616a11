import { ArgumentError, type TensorType } from '@tenon/core'
import { enterCall, inspectAsText, leaveCall, ManagedLifetime, type Gated } from '@tenon/core/internal'
import { runLater, type RunAsyncOptions } from '../async/run-later.ts'
import type { CallMemory } from '../native/call-memory.ts'
import { current } from '../native/current-call.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { BoundCall } from './bound-call.ts'
import type { CallTarget, Tensors } from './call-target.ts'
import { FIRST_TENSOR, patchPointers } from './patch-pointers.ts'

/**
 * A custom call that is ready to run. Its frame is complete in native memory except for the pointers to the tensors. Closing
 * it destroys the state that its handlers keep for it.
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
  /** @internal the operands of a run: the call itself, the library, and the tensors; between runs itself in their place */
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

  /** The types of the operands that {@link run} takes. */
  get operandTypes(): readonly TensorType[] {
    return this.shape.types.slice(0, this.shape.operandCount)
  }

  /** The types of the results that {@link run} takes. */
  get resultTypes(): readonly TensorType[] {
    return this.shape.types.slice(this.shape.operandCount)
  }

  /**
   * Runs the call on these tensors, and returns when the results are written. Their memory cannot be closed meanwhile.
   *
   * @param operands tensors that the kernel reads, borrowed for the call, of exactly the types that it was prepared for.
   * @param results tensors that the kernel writes, likewise. After a failure their contents are undefined.
   * @throws {XlaError} if the kernel fails or throws a C++ exception, in the subclass of its code.
   * @throws {ArgumentError | ReadOnlyError | AlignmentError | ScopeClosedError} if a tensor cannot be passed.
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
   * Runs the call on a thread of the core and settles from the event loop. The tensors, the call and the library stay open
   * until then. Runs of one call may overlap if each has results of its own.
   *
   * A run that waits for a future of its handler occupies no thread. A TypeScript function fails with UNAVAILABLE, because
   * only its own thread can call it. A JavaScript thread does not end before its runs, even if the worker is terminated.
   *
   * @param options.signal cancels the run if it has not started; the promise rejects with the signal's reason.
   * @throws (rejects with) the errors of {@link run}; {@link ResourceExhaustedError} if 1024 runs are in flight on this
   * thread; {@link NativeError} on Windows, where asynchronous runs are not supported.
   */
  runAsync(operands: Operands, results: Results, options?: RunAsyncOptions): Promise<void> {
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
        takeBack: () => void this.#spare.push(memory),
      }
    })
  }

  /**
   * Binds the call to tensors, so that each run only calls. Their memory and this call stay open until the bound call is
   * closed. Bound calls have pointers of their own, so they do not disturb each other or {@link run}.
   *
   * @throws as {@link run}, except for the errors of the kernel.
   */
  bind(operands: Operands, results: Results): BoundCall {
    if (!this.gate.open || !this.target.gate.open) refuseRun(this)
    const memory = this.target.extend()
    const held = [...this.held]
    patchPointers(this.shape, memory, held, operands, results)
    return new BoundCall(this.target, this.shape.operandCount, memory, held)
  }

  override toString(): string {
    const { name } = this.shape
    const types = (list: readonly TensorType[]): string => `(${list.join(', ')})`
    return `PreparedCall ${name}${types(this.operandTypes)} -> ${types(this.resultTypes)}${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(PreparedCall)

/** Throws the reason why a call cannot run. */
function refuseRun(call: PreparedCall<never, never>): never {
  call.checkOpen()
  call.target.gate.owner.checkOpen()
  throw new ArgumentError(`${call.shape.name} is running: a prepared call cannot run inside itself`, {
    hint: 'Prepare or bind another call for it.',
  })
}
