import { Worker } from 'node:worker_threads'
import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { checkOptions, guardMode, wrongType } from '@tenon/core/internal'
import { newWatchedSharedChunk } from '../diagnostics/guarded-chunk.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { ArenaScope } from './arena-scope.ts'
import { CHUNK_ALIGNMENT } from './chunk-pool.ts'
import { type Chunk, newSharedChunk, type Upkeep } from './chunk.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { describeSegments, newToken, type SegmentToken } from './token-segments.ts'
import { releaseAtExit, SharedControl } from './shared-control.ts'

/** A message that lets another thread attach to a shared scope. See `ResourceScope.attach()`. */
export interface SharedToken {
  readonly tenon: 'shared-scope'
  readonly name: string | undefined
  readonly control: SharedArrayBuffer
  readonly segments: readonly SegmentToken[]
}

/** Options of `share()`. */
export interface ShareOptions {
  /** The segments that the other thread receives. */
  readonly segments?: readonly MemorySegment[]
  /** The worker that receives the token. Its handles are released when it exits, even if it crashed or was terminated. */
  readonly to?: Worker
}

/**
 * One thread's handle of a scope that several threads share. Shared memory cannot be revoked from a thread, so only the
 * last open handle can close the scope. Opened by `ResourceScope.ofShared()`, and by `ResourceScope.attach()` in the other
 * threads. The handle is also an allocator.
 *
 * Accesses by several threads are not ordered. To order them, use the atomic accessors or messages.
 */
export class SharedScope extends ArenaScope {
  /** @internal */
  declare readonly control: SharedControl
  /** @internal */
  declare readonly slot: number
  /** @internal Whether closing this handle leaves the scope open. */
  declare isLeaving: boolean
  /** @internal Whether this handle refuses new ones. */
  declare isDraining: boolean
  readonly #isAttached: boolean

  /** @internal */
  constructor(options: ScopeOptions | undefined, control: SharedControl, slot: number, isAttached: boolean) {
    super(options)
    this.control = control
    this.slot = slot
    this.isLeaving = false
    this.isDraining = false
    this.#isAttached = isAttached
    // Bound, because a closure here would reach the scope.
    this.anchor?.addFree(control.release.bind(control, slot))
  }

  /** @internal */
  static open(options: ScopeOptions | undefined): SharedScope {
    const control = new SharedControl()
    return new SharedScope(options, control, control.attach()!, false)
  }

  /** @internal @throws {ScopeClosedError} if the scope is closed or being closed. */
  static attach(name: string | undefined, buffer: SharedArrayBuffer): SharedScope {
    const control = new SharedControl(buffer)
    const slot = control.attach()
    if (slot === undefined) {
      const title = `the shared scope${name === undefined ? '' : ` "${name}"`}`
      throw new ScopeClosedError(`${title} is closed or being closed`, { hint: 'Attach before the scope is closed.' })
    }
    try {
      return new SharedScope(name === undefined ? undefined : { name }, control, slot, true)
    } catch (error) {
      control.release(slot)
      throw error
    }
  }

  override get kind(): 'shared' {
    return 'shared'
  }

  /**
   * Creates a message, with which another thread opens a handle by `ResourceScope.attach()`. Send the message without a
   * transfer list, because it contains shared memory.
   *
   * @throws {ScopeClosedError} once closing has begun. @throws {ArgumentError} if a segment belongs to another scope.
   */
  share(options?: ShareOptions): SharedToken {
    const { segments: shared = [], to } = checkOptions(options, ['segments', 'to'])
    const segments = describeSegments(this.gate, shared).map(({ token }) => token)
    this.checkOpen()
    segments.forEach(({ buffer }, i) => {
      if (buffer instanceof SharedArrayBuffer) return
      throw new ArgumentError(`segments[${i}] must be shared memory, got mapped or native memory`, {
        hint: 'Copy it to memory that this scope has allocated.',
      })
    })
    const { control } = this
    if (to !== undefined) {
      if (!(to instanceof Worker)) throw wrongType('to', 'a Worker', to)
      releaseAtExit(to, control)
    }
    return newToken<SharedToken>({ tenon: 'shared-scope', name: this.name, control: control.buffer, segments })
  }

  /**
   * Closes only this handle. The close actions of the handle run and its segments become inaccessible, but the scope stays
   * open for the other handles.
   *
   * @throws the errors of close()
   */
  detach(): void {
    this.isLeaving = true
    try {
      this.close()
    } finally {
      this.isLeaving = false
    }
  }

  /**
   * Resolves when another handle is waiting to close the scope, or the scope is closed, so that this handle can
   * {@link detach}. The promise does not keep the event loop of the thread alive.
   */
  whenClosing(): Promise<void> {
    return this.control.whenClosing()
  }

  /** Closes the scope, or detaches an attached handle. Does nothing if the handle is closed. @throws the errors of close() */
  override [Symbol.dispose](): void {
    if (this.#isAttached && this.gate.open) this.detach()
    else super[Symbol.dispose]()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.whenWaited()
    if (!this.gate.open) return
    if (this.#isAttached) this.detach()
    else await super[Symbol.asyncDispose]()
  }

  override takeChunk(byteSize: number): Chunk {
    return newSharedChunk(byteSize, CHUNK_ALIGNMENT)
  }

  override makeChunk(byteSize: number, byteAlignment: number): Chunk & Upkeep {
    if (guardMode) return newWatchedSharedChunk(byteSize, byteAlignment, this.label)
    return newSharedChunk(byteSize, byteAlignment)
  }

  /** No-op, because shared memory lives until its last user drops it. */
  override retire(): void {}

  override drain(): void {
    if (!this.control.drain()) {
      this.gate.open = true
      throw new ScopeHeldError(`${this.label} is being closed by another thread`, {
        hint: 'Use detach() instead.',
      })
    }
    this.isDraining = true
    super.drain()
  }

  override endDrain(): void {
    this.isDraining = false
    this.control.undrain()
  }

  override isHeld(): boolean {
    return super.isHeld() || this.control.others(this.slot) > 0
  }

  protected override seal(): void {
    const others = this.gate.open && !this.isLeaving ? this.control.close(this.slot, this.isDraining) : 0
    if (others === 'closed') throw this.closedError()
    if (others > 0) throw this.usedByOthers(others)
    super.seal()
  }

  override heldError(): ScopeHeldError {
    return super.isHeld() ? super.heldError() : this.usedByOthers(this.control.others(this.slot))
  }

  /** @internal */
  usedByOthers(others: number): ScopeHeldError {
    return new ScopeHeldError(
      `${this.label} cannot be closed, because it is used by ${others} other ${others === 1 ? 'handle' : 'handles'}`,
      {
        hint: 'Close it when the other threads have detached, wait for them with closeAsync(), or use detach().',
        details: { handles: others },
      },
    )
  }

  protected override release(): void {
    try {
      super.release()
    } finally {
      this.control.release(this.slot)
    }
  }
}
