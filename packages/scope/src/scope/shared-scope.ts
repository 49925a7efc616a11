import type { Worker } from 'node:worker_threads'
import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { type Block, checkOptions, guardMode, wrongType } from '@tenon/core/internal'
import { newWatchedSharedChunk } from '../diagnostics/guarded-chunk.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { ArenaScope, type Loan } from './arena-scope.ts'
import { CHUNK_ALIGNMENT, SMALLEST_CHUNK } from './chunk-pool.ts'
import { type Chunk, newSharedChunk, type Upkeep, zero } from './chunk.ts'
import { workerThreads } from './current-thread.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { newToken, type SegmentToken, tokenOf } from './segment-token.ts'
import { describeSegments } from './token-segments.ts'
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

/** The zeroed first chunk of a closed scope that no other thread could attach to, and of which no raw view was handed out. */
let spare: Chunk | undefined

/**
 * One thread's handle of a scope that several threads share. Shared memory cannot be revoked from a thread, so only the
 * last open handle can close the scope. Opened by `ResourceScope.ofShared()`, and by `ResourceScope.attach()` in the other
 * threads. The handle is also an allocator.
 *
 * Accesses by several threads are not ordered. To order them, use the atomic accessors or messages.
 */
export class SharedScope extends ArenaScope {
  /** @internal The state that all handles share, once another thread could attach. */
  declare control: SharedControl | undefined
  /** @internal The slot of this handle in the control. */
  declare slot: number
  /** @internal Whether closing this handle leaves the scope open. */
  declare isLeaving: boolean
  /** @internal Whether this handle refuses new ones. */
  declare isDraining: boolean
  /** @internal Whether another handle opened the scope. */
  declare readonly isAttached: boolean

  /** @internal */
  constructor(options: ScopeOptions | undefined, isAttached: boolean) {
    super(options)
    this.control = undefined
    this.slot = 0
    this.isLeaving = false
    this.isDraining = false
    this.isAttached = isAttached
  }

  /** @internal */
  static open(options: ScopeOptions | undefined): SharedScope {
    return new SharedScope(options, false)
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
      const scope = new SharedScope(name === undefined ? undefined : { name }, true)
      scope.useControl(control, slot)
      return scope
    } catch (error) {
      control.release(slot)
      throw error
    }
  }

  /** @internal */
  useControl(control: SharedControl, slot: number): SharedControl {
    this.control = control
    this.slot = slot
    // Bound, because a closure here would reach the scope.
    this.anchor?.addFree(control.release.bind(control, slot))
    return control
  }

  /** @internal Returns the control of an open scope. Most scopes are never shared, and making it takes as long as opening ten. */
  controlled(): SharedControl {
    if (this.control !== undefined) return this.control
    const control = new SharedControl()
    return this.useControl(control, control.attach()!)
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
    const segments = describeSegments(this.gate, shared).map(tokenOf)
    this.checkOpen()
    segments.forEach(({ buffer }, i) => {
      if (buffer instanceof SharedArrayBuffer) return
      throw new ArgumentError(`segments[${i}] must be shared memory, got mapped or native memory`, {
        hint: 'Copy it to memory that this scope has allocated.',
      })
    })
    if (to !== undefined && !(to instanceof workerThreads().Worker)) throw wrongType('to', 'a Worker', to)
    const control = this.controlled()
    if (to !== undefined) releaseAtExit(to, control)
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
    if (this.control === undefined && !this.gate.open) return Promise.resolve()
    return this.controlled().whenClosing()
  }

  /** Closes the scope, or detaches an attached handle. Does nothing if the handle is closed. @throws the errors of close() */
  override [Symbol.dispose](): void {
    if (this.isAttached && this.gate.open) this.detach()
    else super[Symbol.dispose]()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.whenWaited()
    if (!this.gate.open) return
    if (this.isAttached) this.detach()
    else await super[Symbol.asyncDispose]()
  }

  override takeChunk(byteSize: number): Chunk {
    const chunk = spare
    if (chunk === undefined || byteSize !== SMALLEST_CHUNK) return newSharedChunk(byteSize, CHUNK_ALIGNMENT)
    spare = undefined
    return chunk
  }

  override makeChunk(byteSize: number, byteAlignment: number): Chunk & Upkeep {
    if (guardMode) return newWatchedSharedChunk(byteSize, byteAlignment, this.label)
    return newSharedChunk(byteSize, byteAlignment)
  }

  /** Shared memory lives until its last user drops it. The next scope borrows memory that nobody else can have. */
  override retire(chunk: Loan, { exposed }: Block, used: number): void {
    if (this.control !== undefined || exposed || chunk.size !== SMALLEST_CHUNK) return
    zero(chunk as Chunk, 0, used)
    spare = chunk as Chunk
  }

  override drain(): void {
    if (this.control?.drain() === false) {
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
    this.control?.undrain()
  }

  override isHeld(): boolean {
    return super.isHeld() || this.others() > 0
  }

  /** @internal The number of open handles besides this one. */
  others(): number {
    return this.control?.others(this.slot) ?? 0
  }

  protected override seal(): void {
    const isClosing = this.gate.open && !this.isLeaving
    const others = (isClosing ? this.control?.close(this.slot, this.isDraining) : undefined) ?? 0
    if (others === 'closed') throw this.closedError()
    if (others > 0) throw this.usedByOthers(others)
    super.seal()
  }

  override heldError(): ScopeHeldError {
    return super.isHeld() ? super.heldError() : this.usedByOthers(this.others())
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
      this.control?.release(this.slot)
    }
  }
}
