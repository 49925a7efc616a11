import { ArgumentError } from '@tenon/core'
import { checkOptions, describe, ManagedLifetime } from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'
import { closeDescriptor, duplicateDescriptor, readable, socketPair } from '@tenon/pools/internal'
import { fenceStatus, pollSockets, ring, type FenceStatus } from '../link/socket.ts'
import { checkMilliseconds } from './request-options.ts'

/** The options of waiting for a fence. */
export interface FenceWaitOptions {
  /** In milliseconds. 0 or less only looks at the fence; without it the wait may take any time. */
  readonly timeout?: number
}

/**
 * A one-time signal, which may come from another process. The process that has the other end signals the fence, and every
 * process that has the fence receives the signal. If the other end is closed without a signal, for example because its
 * process died, the fence has failed.
 *
 * @example
 * const source = createFence()
 * source.fence.status // 'active'
 * source.signal()
 * source.fence.status // 'signaled'
 * source.fence.close()
 */
export class Fence extends ManagedLifetime {
  readonly #descriptor: number

  /** @internal takes the descriptor over */
  constructor(descriptor: number) {
    super()
    this.#descriptor = descriptor
  }

  /** The state of the fence, which is `active` until it is signalled or fails. @throws {ScopeClosedError} */
  get status(): FenceStatus {
    return fenceStatus(this.descriptor)
  }

  /** The descriptor for another process. It is readable once the fence is not active. @throws {ScopeClosedError} */
  get descriptor(): number {
    this.checkAlive()
    return this.#descriptor
  }

  /**
   * Waits until the fence is signalled, and blocks this thread.
   *
   * @throws {PoolsError} `GENERAL_FAILURE` if the fence failed, `MISSED_DEADLINE_TRANSIENT` after the timeout.
   */
  wait(options?: FenceWaitOptions): void {
    const timeout = checkWait(options)
    const end = timeout === undefined ? Infinity : performance.now() + timeout
    // Signals of the system end waits early.
    while (this.status === 'active') {
      const left = end - performance.now()
      if (left <= 0) break
      pollSockets([this.#descriptor], left === Infinity ? -1 : left)
    }
    this.#settle(timeout)
  }

  /** Waits until the fence is signalled, while the event loop runs. @throws as {@link wait} */
  async waitAsync(options?: FenceWaitOptions): Promise<void> {
    const timeout = checkWait(options)
    const hold = this.acquire()
    try {
      if (this.status === 'active') await readable(this.#descriptor, timeout)
      this.#settle(timeout)
    } finally {
      hold.release()
    }
  }

  #settle(timeout: number | undefined): void {
    const { status } = this
    if (status === 'failed') throw new PoolsError('GENERAL_FAILURE', 'the fence failed: its other end was closed')
    if (status === 'active')
      throw new PoolsError('MISSED_DEADLINE_TRANSIENT', `the fence was not signalled within ${timeout} ms`)
  }

  override toString(): string {
    return `Fence (${this.isAlive ? this.status : 'closed'})`
  }

  protected override get label(): string {
    return 'the fence'
  }

  protected override release(): void {
    closeDescriptor(this.#descriptor)
  }
}

function checkWait(options: FenceWaitOptions | undefined): number | undefined {
  const { timeout } = checkOptions(options, ['timeout'])
  checkMilliseconds(timeout, 'timeout')
  return timeout
}

/** The end of a fence that signals it. Closing it without a signal fails the fence. Made by {@link createFence}. */
export class FenceSource extends ManagedLifetime {
  /** The fence, which the caller closes too. */
  readonly fence: Fence
  readonly #descriptor: number

  /** @internal takes the descriptor over */
  constructor(fence: Fence, descriptor: number) {
    super()
    this.fence = fence
    this.#descriptor = descriptor
  }

  /** Signals the fence, and closes this end. Further signals do nothing. */
  signal(): void {
    if (this.isAlive) ring(this.#descriptor)
    this[Symbol.dispose]()
  }

  override toString(): string {
    return `FenceSource of ${this.fence}`
  }

  protected override get label(): string {
    return 'the source of the fence'
  }

  protected override release(): void {
    closeDescriptor(this.#descriptor)
  }
}

/**
 * Makes a fence that this process signals.
 *
 * @throws {PoolsError} on a system without descriptors that processes share.
 * @example
 * using source = createFence()
 * source.signal()
 * source.fence.wait()
 * source.fence.close()
 */
export function createFence(): FenceSource {
  const [mine, theirs] = socketPair('stream')
  return new FenceSource(new Fence(mine), theirs)
}

/**
 * Makes a fence from a descriptor that another process made with {@link createFence}, and that was inherited or received.
 *
 * @param descriptor the descriptor, which the caller still owns.
 * @throws {PoolsError} if it is not a fence.
 * @example
 * const source = createFence()
 * const same = importFence(source.fence.descriptor)
 * source.signal()
 * same.status // 'signaled'
 * same.close()
 * source.fence.close()
 */
export function importFence(descriptor: number): Fence {
  if (!(Number.isInteger(descriptor) && descriptor >= 0))
    throw new ArgumentError(`descriptor must be that of a fence, got ${describe(descriptor)}`)
  fenceStatus(descriptor)
  return new Fence(duplicateDescriptor(descriptor))
}
