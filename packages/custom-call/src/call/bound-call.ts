import { ArgumentError, type Hold, type Tensor } from '@tenon/core'
import { enterCall, holdAll, leaveCall, ManagedLifetime, releaseAll, type Gated } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import { current } from '../native/current-call.ts'
import type { CallTarget, Tensors } from './call-target.ts'
import { FIRST_TENSOR } from './patch-pointers.ts'
import type { PreparedCall } from './prepared-call.ts'

/**
 * A prepared call with its tensors fixed: the cheapest way to call. The memory of the tensors, the prepared call and the
 * library stay open until it is closed.
 *
 * @example
 * using bound = call.bind([x], [y])
 * bound.run()
 */
export class BoundCall extends ManagedLifetime {
  /** @internal */
  readonly target: CallTarget
  /** @internal */
  readonly memory: CallMemory
  /** @internal Holds keep lifetimes open; the tensors themselves keep memory of the garbage collector. */
  readonly bound: readonly Gated[]
  /** @internal what a TypeScript function is given, without making arrays at each run */
  readonly operands: Tensors
  /** @internal likewise */
  readonly results: Tensors
  /** @internal */
  readonly holds: readonly Hold[]
  /** @internal */
  readonly held: readonly Gated[]

  /**
   * @internal `bound` is what it holds: the call, its library, and the tensors, all checked.
   *
   * @throws {ScopeClosedError} if one of them is being closed.
   */
  constructor(call: PreparedCall, memory: CallMemory, bound: readonly Gated[]) {
    super()
    this.target = call.target
    this.memory = memory
    const firstResult = FIRST_TENSOR + call.shape.operandCount
    this.bound = bound
    this.operands = bound.slice(FIRST_TENSOR, firstResult) as Tensor[]
    this.results = bound.slice(firstResult) as Tensor[]
    // Not frozen: reading an element of a frozen array costs 5 ns more.
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
   * @throws {XlaError} if the kernel fails or throws. @throws {ScopeClosedError} after close.
   */
  run(): void {
    const { target, memory } = this
    if (memory.running || !this.gate.open) this.#refuse()
    enterCall(this.held)
    current.call[0] = memory.pointer
    memory.running = true
    let status: number
    try {
      status = target.execute() as number
    } finally {
      memory.running = false
      leaveCall()
      if (target.stream !== undefined) target.stream.keep?.(this.bound.slice(FIRST_TENSOR))
    }
    if (status !== 0) throw target.failure(memory, status)
  }

  #refuse(): never {
    this.checkOpen()
    throw new ArgumentError(`${this.target.name} is running: a bound call can't run inside itself`, {
      hint: 'bind another call for it.',
    })
  }
}
