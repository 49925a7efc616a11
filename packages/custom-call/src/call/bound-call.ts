import { ArgumentError, type Hold, type Tensor } from '@tenon/core'
import {
  callsInProgress,
  enterCall,
  exposures,
  holdAll,
  inspectAsText,
  ManagedLifetime,
  releaseAll,
  type Gated,
} from '@tenon/core/internal'
import { runLater, type RunAsyncOptions } from '../async/run-later.ts'
import type { CallMemory } from '../native/call-memory.ts'
import type { RunCall } from '../native/current-call.ts'
import type { CallTarget, Tensors } from './call-target.ts'
import { ExposedMemory } from './exposed-memory.ts'
import { FIRST_TENSOR } from './taken.ts'
import { copyAgain } from './staged-operands.ts'

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
  // Those of the target. Targets are objects of several shapes, whose members cost more to read.
  /** @internal */
  readonly kind: number
  /** @internal */
  readonly runCall: RunCall
  /** @internal */
  readonly hasStream: boolean
  /** @internal */
  readonly memory: CallMemory
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

  /**
   * @internal `bound` has the call, its library, and the tensors, all checked.
   *
   * @throws {ScopeClosedError} if one of them is closed.
   */
  constructor(target: CallTarget, operandCount: number, memory: CallMemory, bound: readonly Gated[]) {
    super()
    this.target = target
    this.kind = target.kind
    this.runCall = target.run
    this.hasStream = target.stream !== undefined
    this.memory = memory
    const firstResult = FIRST_TENSOR + operandCount
    this.bound = bound
    this.exposed = new ExposedMemory(bound)
    this.checkedUntil = -1
    this.operands = bound.slice(FIRST_TENSOR, firstResult) as Tensor[]
    this.results = bound.slice(firstResult) as Tensor[]
    // Not frozen, because reading an element of a frozen array costs 5 ns more.
    this.held = [this]
    this.holds = holdAll(bound)
  }

  protected override get label(): string {
    return `the bound call of ${this.target.name}`
  }

  protected override release(): void {
    releaseAll(this.holds)
  }

  /**
   * Runs the call on the bound tensors, and returns when the results are written.
   *
   * @throws {XlaError} if the kernel fails or throws. @throws {ScopeClosedError} after close, or if the buffer of a tensor's view
   * was transferred.
   */
  run(): void {
    runBound(this)
  }

  /**
   * Runs the call on a thread of the core. Runs of the same bound call cannot overlap.
   *
   * @throws (rejects with) the errors of {@link PreparedCall.runAsync}.
   */
  runAsync(options?: RunAsyncOptions): Promise<void> {
    return runLater(options, () => {
      const { target, memory } = this
      if (memory.running || !this.gate.open) refuseRun(this)
      this.prepareRun()
      return {
        run: target,
        memory,
        held: this.held,
        streams: target.stream === undefined ? [] : [target.stream],
      }
    })
  }

  /**
   * @internal Checks the tensors before a run, and copies those again that are not in the layouts of the call.
   *
   * @returns as {@link ExposedMemory.check}
   */
  prepareRun(): number {
    const until = this.exposed.check()
    if (this.memory.staged === undefined) return until
    copyAgain(this.memory, this.operands)
    return -1
  }

  override toString(): string {
    return `BoundCall ${this.target.name}${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(BoundCall)

/** Makes the function that runs a bound call, whose constants are part of the compiled code. */
function makeRunBound(): (bound: BoundCall) => void {
  const enter = enterCall
  const calls = callsInProgress
  const exposed = exposures
  const end = (bound: BoundCall): void => {
    if (bound.hasStream) bound.target.stream?.keep?.(bound.bound.slice(FIRST_TENSOR))
  }
  return (bound) => {
    const { memory } = bound
    if (memory.running || !bound.gate.open) refuseRun(bound)
    if (bound.checkedUntil !== exposed.count) bound.checkedUntil = bound.prepareRun()
    const place = enter(bound.held)
    memory.running = true
    let status: number
    try {
      status = bound.runCall(bound.kind, memory)
    } catch (error) {
      memory.running = false
      calls.depth = place
      calls.lists[place] = undefined
      end(bound)
      throw error
    }
    // Before anything is called, because the stack of JavaScript may be full.
    memory.running = false
    calls.depth = place
    calls.lists[place] = undefined
    end(bound)
    if (status !== 0) throw bound.target.failure(memory, status)
  }
}

const runBound = makeRunBound()

function refuseRun(bound: BoundCall): never {
  bound.checkOpen()
  throw new ArgumentError(`${bound.target.name} is running: a bound call cannot run inside or beside its own run`, {
    hint: 'Bind another call for it.',
  })
}
