import { ArgumentError, type Hold } from '@tenon/core'
import { callStack, ManagedLifetime, NO_OPERANDS, type Gated } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import type { CallTarget } from './call-target.ts'
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
    this.bound = bound
    this.held = Object.freeze([this])
    this.holds = acquireAll(bound)
  }

  protected override get label(): string {
    return `the bound call of ${this.target.name}`
  }

  protected override release(): void {
    for (const hold of this.holds) hold.release()
  }

  /**
   * Runs the call on the bound tensors, and returns when the results are written.
   *
   * @throws {XlaError} if the kernel fails or throws. @throws {ScopeClosedError} after close.
   */
  run(): void {
    const { target, memory } = this
    if (memory.running || !this.gate.alive) this.#refuse()
    callStack.frames[callStack.depth++] = this.held
    memory.running = true
    let status: number
    try {
      status = target.execute(memory.address)
    } finally {
      memory.running = false
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
    if (status !== 0) throw target.failure(memory, status)
  }

  #refuse(): never {
    this.checkAlive()
    throw new ArgumentError(`${this.target.name} is running: a bound call can't run inside itself`, {
      hint: 'bind another call for it.',
    })
  }
}

/** Holds all of them open, or none. */
function acquireAll(bound: readonly Gated[]): Hold[] {
  const holds: Hold[] = []
  try {
    for (const { gate } of bound) holds.push(gate.owner.acquire())
    return holds
  } catch (error) {
    for (const hold of holds) hold.release()
    throw error
  }
}
