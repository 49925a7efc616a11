import { ArgumentError, type CallTrace, type Hold, type Tensor } from '@tenon/core'
import {
  exposures,
  holdAll,
  inspectAsText,
  isTraced,
  ManagedLifetime,
  newTrace,
  releaseAll,
  traceAgain,
  traceLater,
  type Gated,
} from '@tenon/core/internal'
import { runLater, type RunAsyncOptions } from './run-later.ts'
import type { CallFrame } from '../native/call-frame.ts'
import type { CallTarget, Tensors } from './call-target.ts'
import { ExposedMemory } from './exposed-memory.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { FIRST_TENSOR } from './operand-list.ts'
import type { BoundStrings } from './prepared-strings.ts'
import { runHeld } from './run-call.ts'

/**
 * A prepared call with fixed tensors, which runs with the least overhead. The bound call holds the memory of the tensors,
 * the prepared call and the library open until you close it. Created by {@link PreparedCall.bind}.
 *
 * @example
 * using bound = call.bind([x], [y])
 * bound.run()
 */
export class BoundCall extends ManagedLifetime {
  /** @internal */
  readonly target: CallTarget
  /** @internal */
  readonly frame: CallFrame
  /** @internal the call, its library and the tensors; the tensors keep memory of the garbage collector reachable */
  readonly bound: readonly Gated[]
  /** @internal */
  readonly exposed: ExposedMemory
  /** @internal */
  checkedUntil: number
  /** @internal the operands of a TypeScript function, so that no run makes an array of them */
  readonly operands: Tensors
  /** @internal likewise the results */
  readonly results: Tensors
  /** @internal */
  readonly holds: readonly Hold[]
  /** @internal */
  readonly held: readonly Gated[]
  /** @internal Undefined for a call without operands of strings. */
  readonly strings: BoundStrings | undefined

  /**
   * @internal `bound` has the call, its library, the tensors, all checked, and other memory that the call holds.
   *
   * @throws {ScopeClosedError} if one of them is closed.
   */
  constructor(
    target: CallTarget,
    { types, operandCount }: CallShape,
    frame: CallFrame,
    bound: readonly Gated[],
    strings: BoundStrings | undefined,
  ) {
    super()
    this.target = target
    this.frame = frame
    this.strings = strings
    const firstResult = FIRST_TENSOR + operandCount
    this.bound = bound
    this.exposed = new ExposedMemory(bound)
    this.checkedUntil = -1
    this.operands = bound.slice(FIRST_TENSOR, firstResult) as Tensor[]
    this.results = bound.slice(firstResult, FIRST_TENSOR + types.length) as Tensor[]
    // Not frozen, because reading an element of a frozen array costs 5 ns more.
    this.held = [this]
    this.holds = holdAll(bound)
  }

  protected override get label(): string {
    return `the bound call of ${this.target.name}`
  }

  protected override release(): void {
    this.target.drop(this.frame)
    releaseAll(this.holds)
  }

  /**
   * Runs the call on the bound tensors, and returns when the results are written.
   *
   * @throws {XlaError} if the kernel fails or throws. @throws {ScopeClosedError} after close, or if the buffer of a tensor's view
   * was transferred.
   */
  run(): void {
    if (isTraced()) return runTraced(this)
    const { frame } = this
    if (frame.running || !this.gate.open) refuseRun(this)
    if (this.checkedUntil !== exposures.count) {
      if (this.strings !== undefined) return runWithStrings(this, this.strings)
      this.checkedUntil = this.prepareRun()
    }
    runHeld(this.target, frame, this.held, this.bound)
  }

  /**
   * Runs the call on a thread of the core. Runs of the same bound call cannot overlap.
   *
   * @throws (rejects with) the errors of {@link PreparedCall.runAsync}.
   */
  runAsync(options?: RunAsyncOptions): Promise<void> {
    const run = (): Promise<void> =>
      runLater(options, () => {
        const { target, frame, held } = this
        if (frame.running || !this.gate.open) refuseRun(this)
        if (this.strings !== undefined)
          return { target, frame, held: [this, ...this.strings.check(this.readStrings(), true)] }
        this.prepareRun()
        return { target, frame, held }
      })
    return isTraced() ? traceLater(traceOf(this, true), run) : run()
  }

  /**
   * @internal Checks the tensors before a run, and copies those again that are not in the layouts of the call.
   *
   * @returns as {@link ExposedMemory.check}
   */
  prepareRun(): number {
    const until = this.exposed.check()
    if (this.frame.staged === undefined) return until
    this.frame.stageAgain(this.operands)
    return -1
  }

  /** @internal Reads the operands of a call with strings, whose elements `strings.check()` checks. Code of the user may run. */
  readStrings(): Gated[] {
    const { frame } = this
    frame.running = true
    try {
      return this.strings!.read()
    } finally {
      frame.running = false
      this.checkOpen()
    }
  }

  override toString(): string {
    return `BoundCall ${this.target.name}${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(BoundCall)

/** A function of its own, because a method that contains a closure allocates memory in each call. */
const runTraced = (call: BoundCall): void => traceAgain(traceOf(call, false), () => call.run())

function traceOf({ target, operands, frame }: BoundCall, isAsync: boolean): CallTrace {
  const types = operands.map(({ type }) => type)
  const trace = newTrace(target.name, target.convention, types, isAsync)
  // Each run copies the same operands.
  frame.staged?.forEach((copy) => (trace.copiedBytes += copy?.type.byteSize ?? 0))
  return trace
}

/** Runs a call with strings, which are checked each time: its `checkedUntil` stays -1. */
function runWithStrings(bound: BoundCall, strings: BoundStrings): void {
  const held = [bound, ...strings.check(bound.readStrings(), false)]
  runHeld(bound.target, bound.frame, held, held)
}

function refuseRun(bound: BoundCall): never {
  bound.checkOpen()
  throw new ArgumentError(`${bound.target.name} is running: a bound call cannot run inside or beside its own run`, {
    hint: 'Bind another call for it.',
  })
}
