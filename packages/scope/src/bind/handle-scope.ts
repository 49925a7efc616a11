import { ScopeClosedError } from '@tenon/core'
import { remotePlaceOf } from '@tenon/core/internal'
import { attempt, throwErrors } from '../scope/run.ts'
import { ConfinedScope } from '../scope/confined-scope.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'

/** The C function that ends an object. */
export type CloseFunction = (pointer: MemorySegment) => unknown

/** A child of an owner: a scope, which the owner keeps, or a reference to one that the garbage collector may take. */
interface Child {
  deref(): HandleScope | undefined
}

/**
 * The duty to close one object of C. It does not reach the scope of its handle, because it outlives a scope that the garbage collector has
 * taken. An object whose children are not closed yet is closed after the last of them.
 */
class Ownership {
  readonly pointer: MemorySegment
  readonly #parent: Ownership | undefined
  #close: CloseFunction | undefined
  isWaiting = false
  /** Whether nobody closes the object, and the garbage collector does. */
  isForgotten = true
  /** The children that are open, the oldest first. */
  readonly children: Map<Ownership, Child> = new Map()

  constructor(pointer: MemorySegment, close: CloseFunction, parent: Ownership | undefined) {
    this.pointer = pointer
    this.#close = close
    this.#parent = parent
  }

  /** Leaves closing to the caller. */
  drop(): void {
    this.#close = undefined
  }

  end(): void {
    this.isWaiting = this.children.size > 0
    if (this.isWaiting) {
      // The garbage collector has taken the children, so it also says when this one is closed.
      this.isForgotten = true
      return
    }
    const close = this.#close
    const parent = this.#parent
    this.#close = undefined
    try {
      // An object of another process has ended with that process.
      if (remotePlaceOf(this.pointer.block)?.isLost() !== true) close?.(this.pointer)
    } catch (error) {
      if (!this.isForgotten) throw error
      // Nobody can catch it. A library that is closed cannot close its objects.
      if (!(error instanceof ScopeClosedError)) process.emitWarning(error instanceof Error ? error : String(error))
    } finally {
      parent?.children.delete(this)
      if (parent?.isWaiting) parent.end()
    }
  }
}

/** The parts of a new handle. */
export interface HandleOptions {
  /** The pointer to the object, as C gave it. */
  readonly pointer: MemorySegment
  readonly close: CloseFunction
  /** The class of the handle, whose name is that of the object in messages. */
  readonly Class: object & { readonly name: string }
  /** The scope of the object within which this one lives. */
  readonly within: HandleScope | undefined
  readonly finalize: boolean
}

/** The lifetime of one object of C: its children are closed before it. */
export class HandleScope extends ConfinedScope {
  declare readonly within: HandleScope | undefined
  declare readonly ownership: Ownership
  declare readonly Class: object

  constructor({ pointer, close, Class, within, finalize }: HandleOptions) {
    within?.checkOpen()
    super({ name: Class.name, managed: finalize })
    this.Class = Class
    this.within = within
    const ownership = new Ownership(pointer, close, within?.ownership)
    this.ownership = ownership
    within?.ownership.children.set(ownership, finalize ? new WeakRef(this) : this)
    this.addCloseAction(() => ownership.end())
  }

  protected override get label(): string {
    return `the ${this.name}`
  }

  /** The pointer to the object, which only calls use that run while the scope is open. */
  get pointer(): MemorySegment {
    return this.ownership.pointer
  }

  deref(): this {
    return this
  }

  /**
   * Closes the children, the last one first, and then the object.
   *
   * @throws {ScopeHeldError} if a call uses the object or one of its children. Nothing is closed then.
   */
  override close(): void {
    this.#close()
  }

  /** Closes the children, and leaves the object to the caller. @throws as {@link close} */
  closeWithout(): void {
    this.#close(() => this.ownership.drop())
  }

  #close(before?: () => void): void {
    this.checkOpen()
    const held = this.#held()
    if (held) throw held.heldError()
    this.ownership.isForgotten = false
    before?.()
    const errors: unknown[] = []
    for (const child of this.#children()) attempt(() => child[Symbol.dispose](), errors)
    attempt(() => super.close(), errors)
    throwErrors(errors, `closing ${this.label} failed in ${errors.length} ways`)
  }

  #children(): HandleScope[] {
    return [...this.ownership.children.values()].flatMap((child) => child.deref() ?? []).toReversed()
  }

  #held(): HandleScope | undefined {
    if (this.isHeld()) return this
    for (const child of this.#children()) {
      const held = child.#held()
      if (held) return held
    }
    return undefined
  }
}
