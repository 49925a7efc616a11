import { liveHolds } from '@tenon/core/internal'
import { pooledBytes } from '../scope/chunk-pool.ts'

/** Counts of open resources on this thread. */
export interface ScopeStats {
  /** Scopes that were opened and not closed. A managed scope stops counting when it is collected. */
  readonly openScopes: number
  /** Memory that open scopes own, in bytes. Chunks count in full, however much of them is allocated. */
  readonly liveBytes: number
  /** Memory that waits in the pool for the next arena, in bytes. */
  readonly pooledBytes: number
  /** Stubs that native code can call. */
  readonly liveStubs: number
  /** Holds of scopes and of other lifetimes that are not released. */
  readonly holds: number
}

/** The counts behind `ResourceScope.stats()` of this thread, updated by the code that opens and closes. */
export const counters: { openScopes: number; liveBytes: number; liveStubs: number } = {
  openScopes: 0,
  liveBytes: 0,
  liveStubs: 0,
}

export function scopeStats(): ScopeStats {
  return { ...counters, pooledBytes: pooledBytes(), holds: liveHolds.count }
}
