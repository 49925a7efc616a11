import { inspectAsText } from '../errors/inspect.ts'
import { wrongType } from '../errors/check-arguments.ts'
import { markCopy } from '../errors/other-copy.ts'
import { ScopeClosedError, ScopeHeldError } from '../errors/kinds.ts'
import { detachBuffer } from './array-buffer.ts'
import type { Block } from './block.ts'
import { callsInProgress, takeReleasedHolds, usersOf } from './call-stack.ts'
import { Gate, Hold, type Lifetime } from './lifetime.ts'

/** The gates whose close actions run now, the innermost last. */
const closing: Gate[] = []

/**
 * Checks that code of an owner may be called now. The close actions of the owner may call the code, which frees what the code made.
 *
 * @throws {ScopeClosedError | WrongThreadError} if it may not.
 */
export function checkCallable(gate: Gate): void {
  if (!closing.includes(gate)) gate.owner.checkOpen()
}

/**
 * A lifetime that is closed explicitly, in two phases. First, new users are refused, and the close actions run, the last one
 * added first. They may still read the resources, and call functions of the lifetime. Then the gate is no longer alive, and {@link release} frees the resources.
 */
export abstract class ManagedLifetime implements Lifetime {
  static {
    inspectAsText(this)
    markCopy(this)
  }
  // `declare`, and nothing private: class fields and private methods of a base class make opening a scope up to three times
  // slower.
  /** @internal */
  declare readonly gate: Gate
  /** @internal */
  declare actions: (() => void)[] | undefined

  constructor() {
    this.gate = new Gate(this)
    this.actions = undefined
  }

  /** The name of the lifetime in messages: `the scope "request"`, `the library /lib/libm.so`. */
  protected abstract get label(): string

  /** Stops handing out resources, before the close actions run. If this method throws, the lifetime stays open. */
  protected seal(): void {}

  /** Frees the resources. Runs once, after all close actions, when the gate is no longer alive. */
  protected abstract release(): void

  get isAlive(): boolean {
    return this.gate.open
  }

  checkAlive(): void {
    if (!this.gate.alive) throw this.closedError()
  }

  checkOpen(): void {
    if (!this.gate.open) throw this.closedError()
  }

  addCloseAction(action: () => void): void {
    if (typeof action !== 'function') throw wrongType('action', 'a function', action)
    this.checkOpen()
    this.actions ??= []
    this.actions.push(action)
  }

  acquire(): Hold {
    return new Hold(this.gate)
  }

  /** @internal Detaches the view of a block at close, after the close actions, which may still read it. */
  adopt({ view }: Block): void {
    const { buffer } = view
    this.addLastAction(() => void detachBuffer(buffer as ArrayBuffer))
  }

  /** @internal Runs an action at close after all close actions, which may still use what it ends. */
  addLastAction(action: () => void): void {
    this.actions ??= []
    this.actions.unshift(action)
  }

  /**
   * Closes the lifetime. All close actions run, even if some of them throw, and then the resources are freed.
   *
   * @throws {ScopeClosedError} if it is closed or closing already.
   * @throws {ScopeHeldError} if calls or holds use the lifetime, which stays open. No close action has run.
   * @throws the error of an action, or an `AggregateError` if several actions threw.
   */
  close(): void {
    this.checkOpen()
    const { gate } = this
    if (isUsed(gate)) throw this.heldError()
    this.seal()
    gate.open = false
    let errors = this.actions === undefined ? undefined : runActions(gate, this.actions)
    gate.alive = false
    try {
      this.release()
    } catch (error) {
      errors = [...(errors ?? []), error]
    }
    if (errors === undefined) return
    if (errors.length === 1) throw errors[0]
    throw new AggregateError(errors, `closing ${this.label} failed in ${errors.length} ways`)
  }

  /** Closes the lifetime if it is open; a second disposal does nothing. @throws as {@link close} */
  [Symbol.dispose](): void {
    if (this.gate.open) this.close()
  }

  /** @internal */
  heldError(): ScopeHeldError {
    return heldError(this.gate, this.label)
  }

  /** @internal */
  closedError(): ScopeClosedError {
    return new ScopeClosedError(`${this.label} is ${this.gate.alive ? 'being closed' : 'closed already'}`, {
      hint: 'Use it before you close it, or acquire() a hold that keeps it open for as long as it is used.',
    })
  }
}

function isUsed(gate: Gate): boolean {
  if (gate.holds !== 0) takeReleasedHolds()
  return gate.holds !== 0 || gate.calls !== 0 || (callsInProgress.depth > 0 && usersOf(gate).calls > 0)
}

function heldError(gate: Gate, label: string): ScopeHeldError {
  const { holds, calls } = usersOf(gate)
  const parts = [
    ...(holds === 0 ? [] : [`${holds} ${holds === 1 ? 'hold' : 'holds'}`]),
    ...(calls === 0 ? [] : ['calls in progress']),
  ]
  return new ScopeHeldError(`${label} cannot be closed: it is used by ${parts.join(' and ')}`, {
    hint: 'Close it after the calls have returned and the holds are released. It is still open.',
    details: { holds, calls },
  })
}

function runActions(gate: Gate, actions: (() => void)[]): unknown[] | undefined {
  let errors: unknown[] | undefined
  const depth = closing.length
  closing[depth] = gate
  for (let i = actions.length - 1; i >= 0; i--) {
    try {
      actions[i]!()
    } catch (error) {
      errors ??= []
      errors.push(error)
    }
  }
  closing.length = depth
  return errors
}
