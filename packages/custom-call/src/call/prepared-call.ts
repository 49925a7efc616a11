import { ArgumentError, type StringTensorLike, type TensorLike, type TensorType } from '@tenon/core'
import { CONSTANTS, inspectAsText, ManagedLifetime, type Gate, type Gated } from '@tenon/core/internal'
import { runLater, traceRun, type LaterRun, type RunAsyncOptions } from './run-later.ts'
import type { CallFrame } from '../native/call-frame.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { haveAliases, isResizable, withSizes } from '../shape/other-sizes.ts'
import { BoundCall } from './bound-call.ts'
import type { CallTarget } from './call-target.ts'
import { fillList, type TensorUser } from './check-tensors.ts'
import type { FrameCall } from './frames.ts'
import { FIRST_TENSOR, listFor } from './operand-list.ts'
import { BoundStrings, preparedStrings, type PreparedStrings } from './prepared-strings.ts'
import { runOn, writePointers } from './run-call.ts'

const { TN_XLA_JOB_TYPED: TYPED } = CONSTANTS

/** The bytes of frames that a call keeps for later asynchronous runs, and the number of frames if they are small. */
const MOST_SPARE_BYTES = 2 ** 22
const MOST_SPARE_FRAMES = 256

/** In place of the spare frames of a call that closes after its asynchronous runs, which needs none. A field of its own would take memory. */
const CLOSING: CallFrame[] = []

/**
 * A custom call that is ready to run. Its frame in native memory is complete except for the pointers to the tensors. Closing
 * the call destroys the state that the handlers keep for it.
 *
 * | form           | what is fixed                                | what it holds open                                                 |
 * | -------------- | -------------------------------------------- | ------------------------------------------------------------------ |
 * | a function     | nothing; it keeps the frames of recent types | the library and its tensors, while it runs                         |
 * | `PreparedCall` | types, layouts and attributes                | the library and its tensors, while it runs                         |
 * | `BoundCall`    | the tensors as well                          | the library, the prepared call and the tensors, until it is closed |
 *
 * @example
 * using call = handler.prepare({ operands: [f32([2, 4])], results: [f32([2, 4])], attrs: { eps: f32(1e-5) } })
 * call.run([x], [y])
 */
export class PreparedCall<
  Operands extends readonly (TensorLike | StringTensorLike)[] = readonly (TensorLike | StringTensorLike)[],
  Results extends readonly TensorLike[] = readonly TensorLike[],
> extends ManagedLifetime {
  /** @internal */
  readonly target: CallTarget
  /** @internal the frame of runs on this thread */
  readonly frame: CallFrame
  /** @internal */
  readonly shape: CallShape
  /** @internal the list of operands of runs on this thread; between runs, the call itself is in the places of the tensors */
  readonly list: Gated[]
  /** Frames of asynchronous runs that are over, or {@link CLOSING}. */
  #spare: CallFrame[] | undefined
  /** Undefined for a call without operands of strings. */
  readonly #strings: PreparedStrings | undefined

  /** @internal */
  constructor(target: CallTarget, shape: CallShape) {
    super()
    this.target = target
    this.frame = target.frame
    this.shape = shape
    this.list = listFor(shape.types.length)
    this.list.fill(this)
    this.#strings = preparedStrings(this)
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
   * @param operands tensors that the kernel reads. They must have exactly the types that the call was prepared for. Those of strings must
   * have its layout and shape; their elements are checked in each run.
   * @param results tensors that the kernel writes, also of exactly these types. After a failure, their contents are undefined.
   * @throws {XlaError} if the kernel fails or throws a C++ exception. The class of the error depends on its code.
   * @throws {ArgumentError | ReadOnlyError | AlignmentError | ScopeClosedError} if a tensor cannot be passed.
   */
  run(operands: Operands, results: Results): void {
    const list = this.list
    const { frame } = this
    if (frame.running) refuseRun(this)
    // First, because reading the arrays can run code of the user, which must not run this call.
    frame.running = true
    try {
      fillList(this.shape, list, operands, results)
      if (this.#strings === undefined) runOn(this, list)
      else this.#strings.run(list)
    } finally {
      // Without a function, because the stack of JavaScript may be full.
      frame.running = false
      for (let i = FIRST_TENSOR; i < list.length; i++) list[i] = this
    }
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
    return traceRun(this, () =>
      runLater(options, () => {
        const list = this.listOf(operands, results)
        this.#strings?.read(list)
        return this.runOf(list, this.#strings?.check(list, true).user)
      }),
    )
  }

  /** @internal Returns the operands of a run. Reading the arrays can run code of the user. */
  listOf(operands: readonly unknown[], results: readonly unknown[]): Gated[] {
    const list = listFor(this.shape.types.length)
    fillList(this.shape, list, operands, results)
    list[0] = this
    list[1] = this.target
    return list
  }

  /**
   * @internal Makes an asynchronous run of a list of operands.
   *
   * @param user this call, or one for other sizes of it. @throws as {@link run}
   */
  runOf(list: Gated[], user: TensorUser = this): LaterRun {
    const { target } = this
    list[0] = user
    list[1] = target
    const frame = this.#spare?.pop() ?? this.newFrame()
    try {
      writePointers(user, frame, list)
    } catch (error) {
      this.#keep(frame)
      throw error
    }
    return { target, frame, held: list, end: () => this.#endRun(frame) }
  }

  /** @internal Returns the call for tensors of other sizes, or undefined if the frame cannot have them. Both run in the same frame. */
  withTypes(types: readonly TensorType[]): ResizedCall | undefined {
    const { shape, target } = this
    if (!isResizable(shape) || !target.isResizable || !haveAliases(shape, types)) return undefined
    return new ResizedCall(this, withSizes(shape, types, target.kind === TYPED))
  }

  /** @internal Lays out another frame of the call. @throws {ScopeClosedError} if the call or its library is closed. */
  newFrame(): CallFrame {
    this.checkOpen()
    this.target.gate.owner.checkOpen()
    return this.target.extend()
  }

  #endRun(frame: CallFrame): void {
    this.#keep(frame)
    if (this.#spare !== CLOSING || this.gate.holds > 0) return
    try {
      this.close()
    } catch {
      // The promise of the run has settled already, so no caller is left for a failure of a deleter. The call is closed all the same.
    }
  }

  /** Keeps a frame for later asynchronous runs. */
  #keep(frame: CallFrame): void {
    const spare = (this.#spare ??= [])
    const { length } = spare
    if (spare !== CLOSING && length < MOST_SPARE_FRAMES && (length + 1) * frame.byteSize <= MOST_SPARE_BYTES)
      spare.push(frame)
    else this.target.drop(frame)
  }

  /** @internal Closes the call after its asynchronous runs, which may go on although their promises have settled. */
  closeAfterRuns(): void {
    if (this.gate.holds === 0) this.close()
    else this.#spare = CLOSING
  }

  /**
   * Binds the call to tensors, so that a run does not have to check them or write pointers. The memory of the tensors and this
   * call are held open until the bound call is closed. Bound calls have separate frames, so they do not affect each other or
   * {@link run}.
   *
   * @throws the errors of {@link run}, except those of the kernel.
   */
  bind(operands: Operands, results: Results): BoundCall {
    const list = this.listOf(operands, results)
    const frame = this.newFrame()
    try {
      const strings = this.#strings && new BoundStrings(this.#strings, frame, list)
      const bound = strings?.check(strings.read(), false) ?? list
      if (strings === undefined) writePointers(this, frame, list)
      return new BoundCall(this.target, this.shape, frame, bound, strings)
    } catch (error) {
      this.target.drop(frame)
      throw error
    }
  }

  override toString(): string {
    const { name } = this.shape
    const types = (list: readonly TensorType[]): string => `(${list.join(', ')})`
    return `PreparedCall ${name}${types(this.operandTypes)} -> ${types(this.resultTypes)}${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(PreparedCall)

/** A prepared call that a function keeps for tensors of other sizes. It has the lifetime and the frames of that call. */
export class ResizedCall implements FrameCall {
  readonly gate: Gate
  readonly target: CallTarget
  readonly frame: CallFrame
  readonly shape: CallShape
  readonly #call: PreparedCall

  constructor(call: PreparedCall, shape: CallShape) {
    this.gate = call.gate
    this.target = call.target
    this.frame = call.frame
    this.shape = shape
    this.#call = call
  }

  get isAlive(): boolean {
    return this.#call.isAlive
  }

  closeAfterRuns(): void {
    this.#call.closeAfterRuns()
  }

  withTypes(types: readonly TensorType[]): ResizedCall | undefined {
    return this.#call.withTypes(types)
  }

  runOf(list: Gated[]): LaterRun {
    return this.#call.runOf(list, this)
  }
}

function refuseRun(call: PreparedCall<never, never>): never {
  call.checkOpen()
  call.target.gate.owner.checkOpen()
  throw new ArgumentError(`${call.shape.name} is running: a prepared call cannot run inside itself`, {
    hint: 'Prepare or bind another call for it.',
  })
}
