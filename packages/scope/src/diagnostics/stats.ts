import { liveHolds } from '@tenon/core/internal'
import { pooledBytes } from '../scope/chunk-pool.ts'
import { counters } from './counters.ts'

/** What is open on this thread. */
export interface ScopeStats {
  /** Scopes that were opened and not closed; a managed one counts no more when it is garbage. */
  readonly openScopes: number
  /** Memory that open scopes own, in bytes: whole chunks, whatever is used of them. */
  readonly liveBytes: number
  /** Memory that waits for the next arena, in bytes. */
  readonly pooledBytes: number
  /** Stubs that native code can call. */
  readonly liveStubs: number
  /** Locks that are not released, of scopes and of other lifetimes. */
  readonly locks: number
}

export function scopeStats(): ScopeStats {
  return {
    openScopes: counters.openScopes,
    liveBytes: counters.liveBytes,
    pooledBytes: pooledBytes(),
    liveStubs: counters.liveStubs,
    locks: liveHolds.count,
  }
}
