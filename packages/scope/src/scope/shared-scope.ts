import { Worker } from 'node:worker_threads'
import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { debugGuard } from '../diagnostics/debug.ts'
import { newWatchedSharedChunk } from '../diagnostics/guarded-chunk.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { ArenaScope } from './arena-scope.ts'
import { checkOptions } from './check-options.ts'
import { CHUNK_ALIGNMENT } from './chunk-pool.ts'
import { type Chunk, newSharedChunk } from './chunk.ts'
import type { ScopeOptions, Upkeep } from './managed-scope.ts'
import { describeSegments, type SegmentToken } from './segment-token.ts'
import { releaseAtExit } from './release-at-exit.ts'
import { SharedControl } from './shared-control.ts'

/** A message that lets another thread attach to a shared scope: see `ResourceScope.attach()`. */
export interface SharedToken {
  readonly tenon: 'shared-scope'
  readonly name: string | undefined
  readonly control: SharedArrayBuffer
  readonly segments: readonly SegmentToken[]
}

/** Whom a shared scope is shared with. */
export interface ShareOptions {
  /** What the other thread gets of its memory. */
  readonly segments?: readonly MemorySegment[]
  /** The worker that gets the token: when it ends, however it ends, its handles are given back. */
  readonly to?: Worker
}

/** Gives a slot back. Made here, where it reaches no scope. */
const releaser =
  (control: SharedControl, slot: number): (() => void) =>
  () =>
    control.release(slot)

/**
 * A handle of one thread on a scope that several threads share. Its memory is shared memory, which can't be taken away
 * from
 * a thread: so it can be closed only by the last handle. Made by `ResourceScope.ofShared()`, and by
 * `ResourceScope.attach()`
 * in the other threads. It is an allocator as well.
 *
 * Accesses by several threads are not ordered: use the atomic accessors, or messages.
 */
export class SharedScope extends ArenaScope {
  /** @internal */
  declare readonly control: SharedControl
  /** @internal */
  declare readonly slot: number
  /** @internal whether closing this handle leaves the scope open */
  declare isLeaving: boolean
  /** @internal whether this handle keeps new ones out */
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
    if (this.cleaner !== undefined) this.cleaner.addFree(releaser(control, slot))
  }

  /** @internal */
  static open(options: ScopeOptions | undefined): SharedScope {
    const control = new SharedControl()
    return new SharedScope(options, control, control.attach()!, false)
  }

  /** @internal @throws {ScopeClosedError} if it is closed or being closed. */
  static attach(name: string | undefined, buffer: SharedArrayBuffer): SharedScope {
    const control = new SharedControl(buffer)
    const slot = control.attach()
    if (slot === undefined) {
      throw new ScopeClosedError(
        `the shared scope${name === undefined ? '' : ` "${name}"`} is closed or being closed`,
        {
          hint: 'attach before the scope is closed.',
        },
      )
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
   * A message for another thread, from which `ResourceScope.attach()` makes a handle there. It carries the memory of
   * the
   * segments, so it is sent with no list of transfers.
   *
   * @throws {ScopeClosedError} once closing has begun. @throws {ArgumentError} if a segment is not of this scope's
   * memory.
   */
  share(options: ShareOptions = {}): SharedToken {
    this.checkOpen()
    const { segments: given = [], to } = checkOptions(options)
    const segments = describeSegments(this.gate, given)
    segments.forEach(({ buffer }, i) => {
      if (buffer instanceof SharedArrayBuffer) return
      throw new ArgumentError(`segments[${i}] must be shared memory, it is mapped or native: a message would copy it`, {
        hint: 'copy it to memory that this scope has allocated.',
      })
    })
    const { control } = this
    if (to !== undefined) {
      if (!(to instanceof Worker)) throw new ArgumentError(`to must be a Worker, got ${describe(to)}`)
      releaseAtExit(to, control)
    }
    return { tenon: 'shared-scope', name: this.name, control: control.buffer, segments }
  }

  /**
   * Closes this handle alone: its close actions run, and its segments are dead. The scope stays open for the others.
   *
   * @throws as close()
   */
  detach(): void {
    this.isLeaving = true
    try {
      this.close()
    } finally {
      this.isLeaving = false
    }
  }

  /** Resolves when a handle wants to close the scope, or has: time to {@link detach}. */
  whenClosing(): Promise<void> {
    return this.control.whenClosing()
  }

  /** Closes what it opened: a handle that was attached detaches. Does nothing when it is closed. @throws as close() */
  override [Symbol.dispose](): void {
    if (!this.gate.open) return
    if (this.#isAttached) this.detach()
    else this.close()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isAttached) this[Symbol.dispose]()
    else await super[Symbol.asyncDispose]()
  }

  override takeChunk(byteSize: number): Chunk {
    return newSharedChunk(byteSize, CHUNK_ALIGNMENT)
  }

  override makeChunk(byteSize: number, byteAlignment: number): Chunk & Upkeep {
    if (debugGuard) return newWatchedSharedChunk(byteSize, byteAlignment, this.label)
    return newSharedChunk(byteSize, byteAlignment)
  }

  /** Shared memory lives until its last user forgets it. */
  override retire(): void {}

  override drain(): void {
    if (!this.control.drain()) {
      this.gate.open = true
      throw new ScopeHeldError(`${this.label} is being closed by another thread`, { hint: 'detach() instead.' })
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
    if (this.gate.open && !this.isLeaving) this.closeForAll()
    super.seal()
  }

  /** @internal */
  closeForAll(): void {
    const others = this.control.close(this.slot, this.isDraining)
    if (others === 'closed') throw this.closedError()
    if (others === 0) return
    throw new ScopeHeldError(
      `${this.label} can't be closed: it is used by ${others} other ${others === 1 ? 'handle' : 'handles'}`,
      {
        hint: 'close it when the other threads have detached, wait for them with closeAsync(), or detach() from it.',
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
