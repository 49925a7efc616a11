import { checkName, wrongType } from '@tenon/core/internal'
import { scopeStats, type ScopeStats } from '../diagnostics/stats.ts'
import { printAs } from '../print-as.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { isScope, type ResourceScope as AnyScope } from './check-scope.ts'
import { ConfinedScope } from './confined-scope.ts'
import { type GlobalScope, globalScope, ImplicitScope } from './gc-scopes.ts'
import type { HandoffToken } from './handoff.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { reviveSegments } from './token-segments.ts'
import { SharedControl } from './shared-control.ts'
import { SharedScope, type SharedToken } from './shared-scope.ts'
import type { ImplicitToken } from '../segment/share.ts'

/** Any scope of this package: an owner of memory, libraries and stubs. */
export type ResourceScope = AnyScope

/** A scope received from another thread, and the segments that were sent with it. */
export interface Attached<Scope> {
  readonly scope: Scope
  readonly segments: MemorySegment[]
}

/** The functions of {@link ResourceScope}. */
export interface ResourceScopes {
  /**
   * Opens a scope for this thread.
   *
   * @example
   * const scope = ResourceScope.ofConfined()
   * scope.addCloseAction(() => console.log('closed'))
   * scope.close()
   */
  ofConfined(options?: ScopeOptions): ConfinedScope
  /** Opens a scope whose memory several threads can use. Only the last open handle can close the scope. */
  ofShared(options?: ScopeOptions): SharedScope
  /** Opens a scope that ends when the garbage collector has collected the scope and its memory. */
  ofImplicit(): ImplicitScope
  /** The scope that never ends. */
  readonly global: GlobalScope
  /**
   * Opens the scope that another thread sent, which is a new handle of a shared scope, a scope that was handed off, or an implicit scope
   * for a segment that was shared.
   *
   * @throws {ScopeClosedError} if the shared scope is closed or being closed.
   * @throws {ArgumentError} if the value is not a message from `share()` or `handoff()`.
   * @example
   * parentPort.once('message', (token) => {
   *   const { scope, segments } = ResourceScope.attach(token)
   *   segments[0].setInt32(0, 42)
   *   scope.detach()
   * })
   */
  attach(token: SharedToken): Attached<SharedScope>
  attach(token: HandoffToken): Attached<ConfinedScope>
  attach(token: ImplicitToken): Attached<ImplicitScope>
  attach(token: SharedToken | HandoffToken | ImplicitToken): Attached<SharedScope | ConfinedScope | ImplicitScope>
  /** Counts the open scopes of this thread and their memory, stubs and holds. */
  stats(): ScopeStats
  [Symbol.hasInstance](value: unknown): boolean
}

function attach(
  token: SharedToken | HandoffToken | ImplicitToken,
): Attached<SharedScope | ConfinedScope | ImplicitScope> {
  // The message is read once, because an object of this thread could return other values at the second reading.
  const { tenon, name, segments, control } = (token ?? {}) as { readonly [Field in keyof SharedToken]?: unknown }
  const isWhole =
    tenon === 'confined-scope' ||
    tenon === 'implicit-scope' ||
    (tenon === 'shared-scope' && SharedControl.isBuffer(control))
  if (!isWhole || !Array.isArray(segments)) throw wrongType('token', 'a message of share() or handoff()', token)
  if (tenon === 'implicit-scope') {
    const scope = new ImplicitScope()
    return { scope, segments: reviveSegments(scope.gate, segments, (block) => scope.own(block)) }
  }
  const checkedName = name === undefined ? undefined : checkName(name, 'the name of the scope')
  const scope =
    tenon === 'shared-scope'
      ? SharedScope.attach(checkedName, control as SharedArrayBuffer)
      : new ConfinedScope(checkedName === undefined ? undefined : { name: checkedName })
  try {
    return { scope, segments: reviveSegments(scope.gate, segments, (block, size) => scope.own(block, size)) }
  } catch (error) {
    scope[Symbol.dispose]()
    throw error
  }
}

/**
 * Opens scopes, attaches to the scopes of other threads, and counts the open ones. A scope owns memory and other native resources, and
 * frees them when it is closed.
 *
 * | scope          | closed by                    | memory                         | usable in                          |
 * | -------------- | ---------------------------- | ------------------------------ | ---------------------------------- |
 * | `ofConfined()` | `close()`                    | one buffer for each allocation | the thread that opened it          |
 * | `ofShared()`   | `close()` of the last handle | shared memory                  | every thread that attaches         |
 * | `ofImplicit()` | the garbage collector        | freed when it is collected     | every thread that attaches         |
 * | `global`       | (cannot be closed)           | never freed                    | the thread that loaded the package |
 *
 * `close()` throws `ScopeHeldError` and frees nothing while a hold or a call uses the scope. It runs the close actions, the last
 * one added first, and then frees the memory. Later uses throw `ScopeClosedError`. `closeAsync()` waits instead of throwing.
 */
export const ResourceScope: ResourceScopes = printAs<ResourceScopes>('ResourceScope', {
  ofConfined: (options) => new ConfinedScope(options),
  ofShared: (options) => SharedScope.open(options),
  ofImplicit: () => new ImplicitScope(),
  global: globalScope,
  attach: attach as ResourceScopes['attach'],
  stats: scopeStats,
  [Symbol.hasInstance]: isScope,
})
