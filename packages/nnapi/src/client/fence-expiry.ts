import { PoolsError } from '@tenon/pools'
import { readable, closeDescriptor, duplicateDescriptor } from '@tenon/pools/internal'
import { fenceStatus, shut } from '../link/socket.ts'
import type { BackendFences } from '../driver/driver.ts'
import type { FencedOutcome } from '../engine/fenced-run.ts'

/** Lets a fence fail at the deadline of its execution, even if the driver hangs and never signals or closes its end. */
export class FenceExpiry {
  readonly #fence: number
  readonly #waitFor: readonly number[]
  readonly #launched = performance.now()
  readonly #end: number
  readonly #timeoutAfterFences: number | undefined
  readonly #over = new AbortController()

  private constructor(fence: number, waitFor: readonly number[], { timeout, timeoutAfterFences }: BackendFences) {
    this.#fence = fence
    this.#waitFor = waitFor
    this.#end = this.#launched + (timeout ?? Infinity)
    this.#timeoutAfterFences = timeoutAfterFences
  }

  /** @param fence the caller's, as those to wait for. @returns undefined for an execution without a deadline */
  static of(fence: number, fences: BackendFences): FenceExpiry | undefined {
    const { timeout, timeoutAfterFences, waitFor } = fences
    if (timeout === undefined && timeoutAfterFences === undefined) return undefined
    const copies: number[] = []
    try {
      // Fences that nothing waits for are not needed here.
      for (const descriptor of timeoutAfterFences === undefined ? [fence] : [fence, ...waitFor])
        copies.push(duplicateDescriptor(descriptor))
    } catch (error) {
      copies.forEach(closeDescriptor)
      throw error
    }
    const [own, ...others] = copies as [number, ...number[]]
    return new FenceExpiry(own, others, fences)
  }

  /** Returns the outcome, or that the deadline has passed, when the fence has failed for that. */
  async limit(outcome: Promise<FencedOutcome>): Promise<FencedOutcome> {
    // The watch uses descriptors until it has ended, and a late failure of the driver is of no interest.
    const watch = this.#watch().finally(() => this.close())
    const answered = outcome.finally(() => this.#over.abort())
    answered.catch(() => {})
    const expired = await Promise.race([
      watch,
      answered.then(
        () => undefined,
        () => undefined,
      ),
    ])
    return expired ?? (await answered)
  }

  /** Closes the copies of the descriptors. */
  close(): void {
    for (const descriptor of [this.#fence, ...this.#waitFor]) closeDescriptor(descriptor)
  }

  /** @returns the outcome of an execution that has missed its deadline; undefined if it is over. */
  async #watch(): Promise<FencedOutcome | undefined> {
    let fenced = this.#launched
    let end = this.#end
    if (this.#timeoutAfterFences !== undefined) {
      for (const fence of this.#waitFor) await this.#until(fence, end)
      fenced = performance.now()
      end = Math.min(end, fenced + this.#timeoutAfterFences)
    }
    await this.#until(this.#fence, end)
    if (this.#over.signal.aborted || fenceStatus(this.#fence) !== 'active') return undefined
    shut(this.#fence)
    if (fenceStatus(this.#fence) === 'signaled') return undefined
    const now = performance.now()
    return {
      error: new PoolsError('MISSED_DEADLINE_TRANSIENT', 'the driver did not end the execution at its deadline'),
      outputs: [],
      timeLaunched: Math.round((now - this.#launched) * 1e6),
      timeFenced: Math.round((now - fenced) * 1e6),
    }
  }

  /** Waits until a fence is not active any more, a time, or the end of the execution. */
  async #until(fence: number, end: number): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted && fenceStatus(fence) === 'active' && performance.now() < end)
      await readable(fence, end === Infinity ? undefined : end - performance.now(), signal)
  }
}
