import { ArgumentError } from '@tenon/core'
import { describe, ManagedLifetime } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { closeDescriptor, duplicateDescriptor } from '../native/descriptor.ts'
import { readable } from '../native/readable.ts'
import { fenceStatus, pollSockets, ring, socketPair, type FenceStatus } from '../native/socket.ts'
import { checkTimeout } from './check-options.ts'

/**
 * Something that will be signalled, once, by whoever has its other end: also in another process. Everybody who has the fence
 * sees it; if the other end is closed without a signal, also by dying, the fence has failed.
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

  /** What it has come to: it is `active` only until the first of the others. @throws {ScopeClosedError} */
  get status(): FenceStatus {
    return fenceStatus(this.descriptor)
  }

  /** What can be handed to another process: readable once the fence is not active any more. @throws {ScopeClosedError} */
  get descriptor(): number {
    this.checkAlive()
    return this.#descriptor
  }

  /**
   * Waits until it is signalled, while the event loop runs on.
   *
   * @param options `timeout` in milliseconds, 0 or less for a look; any time without it.
   * @throws {PoolsError} `GENERAL_FAILURE` if it failed, `MISSED_DEADLINE_TRANSIENT` after the timeout.
   */
  async wait(options: { readonly timeout?: number } = {}): Promise<void> {
    const { timeout } = options
    checkTimeout(timeout, 'timeout')
    const hold = this.acquire()
    try {
      if (this.status === 'active') await readable(this.#descriptor, timeout)
      this.#settle(timeout)
    } finally {
      hold.release()
    }
  }

  /** As {@link wait}, blocking this thread. @throws as {@link wait} */
  waitSync(options: { readonly timeout?: number } = {}): void {
    const { timeout } = options
    checkTimeout(timeout, 'timeout')
    const end = timeout === undefined ? Infinity : performance.now() + timeout
    // Signals end waits of the system early.
    while (this.status === 'active') {
      const left = end - performance.now()
      if (left <= 0) break
      pollSockets([this.#descriptor], left === Infinity ? -1 : left)
    }
    this.#settle(timeout)
  }

  #settle(timeout: number | undefined): void {
    const { status } = this
    if (status === 'failed') throw new PoolsError('GENERAL_FAILURE', 'the fence failed: its other end was closed')
    if (status === 'active')
      throw new PoolsError('MISSED_DEADLINE_TRANSIENT', `the fence was not signalled within ${timeout} ms`)
  }

  protected override get label(): string {
    return 'the fence'
  }

  protected override release(): void {
    closeDescriptor(this.#descriptor)
  }
}

/** The other end of a fence: disposing it without a signal fails the fence. */
export interface FenceSource {
  /** The caller closes it, too. */
  readonly fence: Fence
  /** Signals the fence; nothing after the first time. */
  signal(): void
  /** Fails the fence, if it wasn't signalled. */
  [Symbol.dispose](): void
}

/**
 * Makes a fence that this process signals.
 *
 * @throws {PoolsError} on a system without descriptors that processes share.
 * @example
 * using source = createFence()
 * source.signal()
 * source.fence.waitSync()
 * source.fence.close()
 */
export function createFence(): FenceSource {
  const [mine, theirs] = socketPair('stream')
  let isOpen = true
  const end = (isSignaled: boolean): void => {
    if (!isOpen) return
    isOpen = false
    if (isSignaled) ring(theirs)
    closeDescriptor(theirs)
  }
  return { fence: new Fence(mine), signal: () => end(true), [Symbol.dispose]: () => end(false) }
}

/**
 * A fence from a descriptor that another process made with {@link createFence}: inherited, or received otherwise.
 *
 * @param descriptor stays the caller's.
 * @throws {PoolsError} if it isn't a fence.
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
