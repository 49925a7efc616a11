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

/** Handles that are open, the oldest first. */
type Children = Map<Ownership, Child>

/** The scopes of handles, the newest first, without those that the garbage collector has taken. */
const scopesOf = (children: Children): HandleScope[] =>
  [...children.values()].flatMap((child) => child.deref() ?? []).toReversed()

/** The first scope that a call uses, with those within it. */
function heldOf(children: Children): HandleScope | undefined {
  for (const child of scopesOf(children)) {
    const held = child.held()
    if (held) return held
  }
  return undefined
}

/** The open handles of a module that do not live within another one. */
export class HandleOwner {
  readonly children: Children = new Map()

  /** @throws {ScopeHeldError} if a call uses one of them */
  checkFree(): void {
    const held = heldOf(this.children)
    if (held) throw held.heldError()
  }

  /** Closes them, the newest first. */
  close(errors: unknown[]): void {
    for (const [ownership, child] of [...this.children].toReversed())
      attempt(() => closeChild(ownership, child), errors)
  }

  childEnded(child: Ownership): void {
    this.children.delete(child)
  }
}

/** Closes a handle, also one that the garbage collector has taken and whose object it has not closed yet. */
function closeChild(ownership: Ownership, child: Child): void {
  const scope = child.deref()
  if (scope !== undefined) scope[Symbol.dispose]()
  else {
    for (const [inner, ref] of [...ownership.children].toReversed()) closeChild(inner, ref)
    ownership.end()
  }
}

/**
 * The duty to close one object of C. It does not reach the scope of its handle, because it outlives a scope that the garbage collector has
 * taken. An object whose children are not closed yet is closed after the last of them.
 */
class Ownership {
  readonly pointer: MemorySegment
  readonly #parent: Ownership | HandleOwner | undefined
  #close: CloseFunction | undefined
  isWaiting = false
  /** Whether nobody closes the object, and the garbage collector does. */
  isForgotten = true
  readonly children: Children = new Map()

  constructor(pointer: MemorySegment, close: CloseFunction, parent: Ownership | HandleOwner | undefined) {
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
      parent?.childEnded(this)
    }
  }

  childEnded(child: Ownership): void {
    this.children.delete(child)
    if (this.isWaiting) this.end()
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
  /** The module, if its functions have made the object. */
  readonly owner: HandleOwner | undefined
}

/** The lifetime of one object of C: its children are closed before it. */
export class HandleScope extends ConfinedScope {
  declare readonly within: HandleScope | undefined
  declare readonly ownership: Ownership
  declare readonly Class: object

  constructor({ pointer, close, Class, within, finalize, owner }: HandleOptions) {
    within?.checkOpen()
    super({ name: Class.name, managed: finalize })
    this.Class = Class
    this.within = within
    const parent = within?.ownership ?? owner
    const ownership = new Ownership(pointer, close, parent)
    this.ownership = ownership
    parent?.children.set(ownership, finalize ? new WeakRef(this) : this)
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

  /** Closes the children, and leaves the object to the caller, unless a child could not be closed. @throws as {@link close} */
  closeWithout(): void {
    this.#close(() => this.ownership.drop())
  }

  /** @throws {ScopeHeldError} if a call uses the object or one of its children. @throws {ScopeClosedError} */
  checkClosable(): void {
    this.checkOpen()
    const held = this.held()
    if (held) throw held.heldError()
  }

  #close(before?: () => void): void {
    this.checkClosable()
    this.ownership.isForgotten = false
    const errors: unknown[] = []
    for (const child of scopesOf(this.ownership.children)) attempt(() => child[Symbol.dispose](), errors)
    if (errors.length === 0) before?.()
    attempt(() => super.close(), errors)
    throwErrors(errors, `closing ${this.label} failed in ${errors.length} ways`)
  }

  /** This scope or one within it that a call uses. */
  held(): HandleScope | undefined {
    return this.isHeld() ? this : heldOf(this.ownership.children)
  }
}
