import { ArgumentError, type TensorType } from '@tenon/core'
import { callsInProgress, enterCall, inspectAsText, ManagedLifetime, type Gated } from '@tenon/core/internal'
import { runLater, type RunAsyncOptions } from '../async/run-later.ts'
import type { CallMemory } from '../native/call-memory.ts'
import type { RunCall } from '../native/current-call.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { BoundCall } from './bound-call.ts'
import type { CallTarget, Tensors } from './call-target.ts'
import { FIRST_TENSOR, makeList } from './taken.ts'
import type { InPlaceRuns } from './kept-frames.ts'
import { fillHeld, patchEach, patchHeld, patchPointers } from './patch-pointers.ts'

/**
 * A custom call that is ready to run. Its frame in native memory is complete except for the pointers to the tensors. Closing
 * the call destroys the state that the handlers keep for it.
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
  // Those of the target. Targets are objects of several shapes, whose members cost more to read.
  /** @internal */
  readonly kind: number
  /** @internal */
  readonly runCall: RunCall
  /** @internal */
  readonly memory: CallMemory
  /** @internal */
  readonly hasStream: boolean
  /** @internal */
  readonly shape: CallShape
  /** @internal the operands of a run: the call itself, the library, and the tensors; between runs itself in their place */
  readonly held: Gated[]
  /** Memory of asynchronous runs that are over. */
  #spare: CallMemory[] | undefined
  #closesAfterRun = false

  /** @internal */
  constructor(target: CallTarget, shape: CallShape) {
    super()
    this.target = target
    this.kind = target.kind
    this.runCall = target.run
    this.memory = target.memory
    this.hasStream = target.stream !== undefined
    this.shape = shape
    this.held = makeList(shape.types.length)
    this.held.fill(this)
    this.held[1] = target
  }

  protected override get label(): string {
    return `the prepared call of ${this.shape.name}`
  }

  protected override release(): void {
    this.target.close()
  }

  /** The types of the operands of {@link run}. */
  get operandTypes(): readonly TensorType[] {
    return this.shape.types.slice(0, this.shape.operandCount)
  }

  /** The types of the results of {@link run}. */
  get resultTypes(): readonly TensorType[] {
    return this.shape.types.slice(this.shape.operandCount)
  }

  /**
   * Runs the call on these tensors, and returns when the results are written. During the run, the memory of the tensors
   * cannot be closed.
   *
   * @param operands tensors that the kernel reads. They must have exactly the types that the call was prepared for.
   * @param results tensors that the kernel writes, also of exactly these types. After a failure, their contents are undefined.
   * @throws {XlaError} if the kernel fails or throws a C++ exception. The class of the error depends on its code.
   * @throws {ArgumentError | ReadOnlyError | AlignmentError | ScopeClosedError} if a tensor cannot be passed.
   */
  run(operands: Operands, results: Results): void {
    runPrepared(this, operands, results)
  }

  /**
   * Runs the call on a thread of the core. The promise settles from the event loop, and the tensors, the call and the
   * library are held open until then. Runs of one call may overlap if they write to different results.
   *
   * At most `TENON_THREADS` runs execute at the same time, by default the larger of 4 and the processors that the process
   * may use, and further runs wait for a thread. Runs that wait for each other must therefore not be more than that. A run
   * that waits for its handler's future occupies no thread. If the target is a TypeScript function, the run fails with
   * UNAVAILABLE, because only the function's own thread can call it. A JavaScript thread waits for its runs before it ends,
   * even if the worker is terminated.
   *
   * @param options a signal and a deadline, see {@link RunAsyncOptions}.
   * @throws (rejects with) the errors of {@link run}, {@link ArgumentError} if the value of `TENON_THREADS` is not an
   * integer from 1 to 1024, or a `NativeError` if the system has no thread left.
   */
  runAsync(operands: Operands, results: Results, options?: RunAsyncOptions): Promise<void> {
    return runLater(options, () => {
      const { target } = this
      if (!this.gate.open || !target.gate.open) refuseRun(this)
      const memory = this.#spare?.pop() ?? target.extend()
      const held = [...this.held]
      patchPointers(this, memory, held, operands, results)
      return {
        run: target,
        memory,
        held,
        streams: target.stream === undefined ? [] : [target.stream],
        takeBack: () => {
          this.#spare ??= []
          this.#spare.push(memory)
          if (this.#closesAfterRun) this.#closeQuietly()
        },
      }
    })
  }

  /** @internal Closes the call after its only asynchronous run, which may go on although its promise has settled. */
  closeAfterRun(): void {
    if (this.gate.holds === 0) this.close()
    else this.#closesAfterRun = true
  }

  /** The promise of the run has rejected already, so that no caller is left for a failure of a deleter. */
  #closeQuietly(): void {
    try {
      this.close()
    } catch {
      // The call is closed all the same.
    }
  }

  /**
   * Binds the call to tensors, so that a run does not have to check them or write pointers. The memory of the tensors and this
   * call are held open until the bound call is closed. Bound calls have separate frames, so they do not affect each other or
   * {@link run}.
   *
   * @throws the errors of {@link run}, except those of the kernel.
   */
  bind(operands: Operands, results: Results): BoundCall {
    if (!this.gate.open || !this.target.gate.open) refuseRun(this)
    const memory = this.target.extend()
    const held = [...this.held]
    patchPointers(this, memory, held, operands, results)
    return new BoundCall(this.target, this.shape.operandCount, memory, held)
  }

  override toString(): string {
    const { name } = this.shape
    const types = (list: readonly TensorType[]): string => `(${list.join(', ')})`
    return `PreparedCall ${name}${types(this.operandTypes)} -> ${types(this.resultTypes)}${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(PreparedCall)

type AnyCall = PreparedCall<never, never>

/** Makes the functions that run a call, whose constants are part of the compiled code. */
function makeRuns(): {
  runPrepared: (call: AnyCall, operands: Tensors, results: Tensors) => void
  runHeld: (call: AnyCall, isRequired: boolean) => boolean
  leave: (call: AnyCall) => void
} {
  const enter = enterCall
  const calls = callsInProgress
  const fill = fillHeld
  const patch = patchHeld
  const first = FIRST_TENSOR

  /** Ends a run. A call that is kept must not keep the memory of its last run. */
  const leave = (call: AnyCall): void => {
    call.memory.running = false
    const { held } = call
    for (let i = first; i < held.length; i++) held[i] = call
  }

  const keepForStream = (call: AnyCall): void => {
    call.target.stream?.keep?.(call.held.slice(first))
  }

  const runHeld = (call: AnyCall, isRequired: boolean): boolean => {
    const { memory, held } = call
    let place = -1
    let status: number
    try {
      if (!patch(call, memory, held)) {
        if (!isRequired) return false
        patchEach(call, memory, held)
      }
      place = enter(held)
      status = call.runCall(call.kind, memory)
    } catch (error) {
      memory.running = false
      if (place !== -1) {
        calls.depth = place
        calls.lists[place] = undefined
        if (call.hasStream) keepForStream(call)
      }
      leave(call)
      throw error
    }
    // Before anything is called, because the stack of JavaScript may be full.
    memory.running = false
    calls.depth = place
    calls.lists[place] = undefined
    if (call.hasStream) keepForStream(call)
    leave(call)
    if (status !== 0) throw call.target.failure(memory, status)
    return true
  }

  const runPrepared = (call: AnyCall, operands: Tensors, results: Tensors): void => {
    const { memory, held } = call
    if (memory.running) refuseRun(call)
    // First, because reading the arrays can run code of the user, which must not run this call.
    memory.running = true
    try {
      fill(call.shape, held, operands, results)
      runHeld(call, true)
    } catch (error) {
      // First, because leave() throws too if the stack is full.
      memory.running = false
      leave(call)
      throw error
    }
  }

  return { runPrepared, runHeld, leave }
}

const { runPrepared, runHeld, leave } = makeRuns()

/** @internal Runs calls for functions that keep them. */
export const inPlaceRuns: InPlaceRuns<PreparedCall> = {
  tensorsOf: ({ held }) => held,
  tryRun: (call) => runHeld(call, false),
  leave,
}

/** @internal Runs a call, which is marked as running, on tensors that were taken. @throws the errors of {@link PreparedCall.run} */
export function runTaken(call: PreparedCall, taken: readonly Gated[]): void {
  const { held } = call
  for (let i = FIRST_TENSOR; i < held.length; i++) held[i] = taken[i]!
  runHeld(call, true)
}

function refuseRun(call: AnyCall): never {
  call.checkOpen()
  call.target.gate.owner.checkOpen()
  throw new ArgumentError(`${call.shape.name} is running: a prepared call cannot run inside itself`, {
    hint: 'Prepare or bind another call for it.',
  })
}
