import { inspectAsText } from '@tenon/core/internal'
import type { FencedOutcome } from '../engine/fenced-run.ts'
import type { ErrorStatus } from '@tenon/pools'
import type { BackendFenced } from './driver.ts'
import type { Execution } from './execution.ts'
import type { Fence } from './fence.ts'

/** The options of a fenced execution. */
export interface FencedOptions {
  /** The fences, at most 15, that must all be signalled before the execution begins. The caller keeps them. */
  readonly waitFor?: readonly Fence[]
  /** The time from the launch, in milliseconds: afterwards the execution fails with `MISSED_DEADLINE_TRANSIENT`. */
  readonly deadline?: number
  /** The time from the moment when all fences are signalled, in milliseconds. */
  readonly deadlineAfterFences?: number
}

/** The outcome of a fenced execution. */
export interface FencedInfo extends FencedOutcome {
  /** `NONE` if the execution succeeded. */
  readonly status: ErrorStatus
}

/** A launched fenced execution. Closing this object closes the fence, and the execution continues. */
export class FencedExecution {
  static {
    inspectAsText(this)
  }
  /** Signalled when the outputs are written; failed if the execution fails or the driver dies. The caller closes it. */
  readonly fence: Fence
  /** Resolves to the outcome of the execution, or rejects with `DEAD_OBJECT` if the driver died. */
  readonly info: Promise<FencedInfo>

  /** @internal */
  constructor(fence: Fence, info: Promise<FencedInfo>) {
    this.fence = fence
    this.info = info
    // A caller that looks only at the fence learns of a failure there.
    info.catch(() => {})
  }

  /** Closes the fence. @throws {ScopeClosedError} if it is closed already. */
  close(): void {
    this.fence.close()
  }

  [Symbol.dispose](): void {
    this.fence[Symbol.dispose]()
  }

  toString(): string {
    return `FencedExecution with ${this.fence}`
  }
}

/** Waits for the outcome of an execution, which lets go of its memory then. */
export async function outcomeOf(execution: Execution, outcome: BackendFenced['outcome']): Promise<FencedInfo> {
  let hasSucceeded = false
  try {
    const { error, ...rest } = await outcome
    hasSucceeded = error === undefined
    return { status: error?.status ?? 'NONE', error, ...rest }
  } finally {
    execution.leave()
    execution.settle(hasSucceeded)
  }
}
