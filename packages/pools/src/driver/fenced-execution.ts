import type { ErrorStatus, OutputShape, PoolsError } from '../error-status.ts'
import type { FencedOutcome } from '../engine/fenced-run.ts'
import type { Fence } from './fence.ts'

/** What a fenced execution waits for. */
export interface FencedOptions {
  /** It begins once all of these are signalled; at most 15. They stay the caller's. */
  readonly waitFor?: readonly Fence[]
  /** How long it may take from the launch, in milliseconds; then it fails with `MISSED_DEADLINE_TRANSIENT`. */
  readonly timeout?: number
  /** How long it may take once all fences are signalled, in milliseconds. */
  readonly timeoutAfterFences?: number
}

/** How a fenced execution went. */
export interface FencedInfo {
  readonly status: ErrorStatus
  /** What went wrong; undefined with status `NONE`. */
  readonly error: PoolsError | undefined
  /** One for each output, if it succeeded. */
  readonly outputs: readonly OutputShape[]
  /** What the driver took from the launch to the end, in nanoseconds. */
  readonly timeLaunched: number
  /** What the driver took from the last fence to the end, in nanoseconds. */
  readonly timeFenced: number
}

/** A launched fenced execution. Disposing it closes its fence; the execution goes on. */
export class FencedExecution {
  /** Signalled when the outputs are there; failed if the execution fails or the driver dies. The caller closes it. */
  readonly fence: Fence
  /** Settles once: with how it went, whatever that is, or with `DEAD_OBJECT` if the driver died. */
  readonly info: Promise<FencedInfo>

  /** @internal */
  constructor(fence: Fence, info: Promise<FencedInfo>) {
    this.fence = fence
    this.info = info
    // Who looks at the fence alone learns of a failure there.
    info.catch(() => {})
  }

  [Symbol.dispose](): void {
    this.fence[Symbol.dispose]()
  }
}

/** What a driver's outcome means. */
export function infoOf({ error, outputs, timeLaunched, timeFenced }: FencedOutcome): FencedInfo {
  return { status: error?.status ?? 'NONE', error, outputs, timeLaunched, timeFenced }
}
