import { ArgumentError, type Hold, type Lifetime } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { isScope } from './check-scope.ts'
import { scopeStats, type ScopeStats } from '../diagnostics/stats.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { ConfinedScope } from './confined-scope.ts'
import { type GlobalScope, globalScope, ImplicitScope } from './gc-scopes.ts'
import type { HandoffToken } from './handoff.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { reviveSegments } from './segment-token.ts'
import { SharedControl } from './shared-control.ts'
import { SharedScope, type SharedToken } from './shared-scope.ts'

/** What owns memory, libraries and stubs: any scope of this package. Those that are closed by hand have `close()`. */
export interface ResourceScope extends Lifetime {
  /** Keeps it open until the lock is released. @throws {ScopeClosedError} once closing has begun. */
  lock(): Hold
}

/** A scope that came from another thread, and the segments that came with it. */
export interface Attached<Scope> {
  readonly scope: Scope
  readonly segments: MemorySegment[]
}

/** Opens scopes. */
interface ResourceScopes {
  /**
   * A scope of this thread, closed by hand.
   *
   * @example
   * const scope = ResourceScope.ofConfined()
   * scope.addCloseAction(() => console.log('closed'))
   * scope.close()
   */
  ofConfined(options?: ScopeOptions): ConfinedScope
  /** A scope whose memory several threads can use; the last handle closes it. */
  ofShared(options?: ScopeOptions): SharedScope
  /** A scope that ends when it and its memory are garbage. */
  ofImplicit(): ImplicitScope
  /** The scope that never ends. */
  readonly global: GlobalScope
  /**
   * Opens what another thread sent: a handle on its shared scope, or the confined scope that it handed off.
   *
   * @throws {ScopeClosedError} if the shared scope is closed or being closed.
   * @throws {ArgumentError} if it is no message of `share()` or `handoff()`.
   * @example
   * parentPort.once('message', (token) => {
   *   const { scope, segments } = ResourceScope.attach(token)
   *   segments[0].setInt32(0, 42)
   *   scope.detach()
   * })
   */
  attach(token: SharedToken): Attached<SharedScope>
  attach(token: HandoffToken): Attached<ConfinedScope>
  attach(token: SharedToken | HandoffToken): Attached<SharedScope | ConfinedScope>
  /** What is open on this thread. */
  stats(): ScopeStats
  [Symbol.hasInstance](value: unknown): boolean
}

function attach(token: SharedToken): Attached<SharedScope>
function attach(token: HandoffToken): Attached<ConfinedScope>
function attach(token: SharedToken | HandoffToken): Attached<SharedScope | ConfinedScope>
function attach(token: SharedToken | HandoffToken): Attached<SharedScope | ConfinedScope> {
  const kind: unknown = (token as Partial<SharedToken> | null | undefined)?.tenon
  const segments: unknown = (token as Partial<SharedToken> | null | undefined)?.segments
  const isWhole =
    kind === 'confined-scope' || (kind === 'shared-scope' && SharedControl.isBuffer((token as SharedToken).control))
  if (!isWhole || !Array.isArray(segments)) {
    throw new ArgumentError(`token must be a message made by share() or handoff(), got ${describe(token)}`)
  }
  const scope =
    token.tenon === 'shared-scope'
      ? SharedScope.attach(token.name, token.control)
      : new ConfinedScope(token.name === undefined ? undefined : { name: token.name })
  try {
    return { scope, segments: reviveSegments(scope.gate, token.segments, (block, size) => scope.own(block, size)) }
  } catch (error) {
    scope[Symbol.dispose]()
    throw error
  }
}

/** Opens scopes, attaches to those of other threads, and counts what is open. */
export const ResourceScope: ResourceScopes = {
  ofConfined: (options) => new ConfinedScope(options),
  ofShared: (options) => SharedScope.open(options),
  ofImplicit: () => new ImplicitScope(),
  global: globalScope,
  attach,
  stats: scopeStats,
  [Symbol.hasInstance]: isScope,
}
