import { inspectAsText } from '../errors/inspect.ts'
import { ScopeClosedError } from '../errors/kinds.ts'
import { Gate, Hold, type Lifetime } from './lifetime.ts'

/** The error of closing a lifetime that cannot be closed. @param label its name in the message. */
export function unclosable(label: string): ScopeClosedError {
  return new ScopeClosedError(`${label} cannot be closed, because the garbage collector owns its memory`, {
    hint: 'Open a scope that you close, for example ResourceScope.ofConfined().',
  })
}

class GlobalLifetime implements Lifetime {
  readonly gate: Gate = new Gate(this)
  readonly isAlive = true

  static {
    inspectAsText(this)
  }

  toString(): string {
    return 'globalLifetime'
  }

  checkAlive(): void {}

  checkOpen(): void {}

  addCloseAction(): void {}

  acquire(): Hold {
    return new Hold(this.gate)
  }

  close(): never {
    throw unclosable('the global lifetime')
  }
}

const lifetime = new GlobalLifetime()

/**
 * The lifetime that never ends. It owns the memory that the garbage collector frees and the memory that lives as long as
 * the process. Close actions are accepted and never run; holds have no effect.
 */
export const globalLifetime: Lifetime = lifetime

export const globalGate: Gate = lifetime.gate
