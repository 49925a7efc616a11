import { liveHolds } from '@tenon/core/internal'
import { pooledBytes } from '../scope/chunk-pool.ts'
import { unusedSlotBytes } from '../scope/slot.ts'

/** Counts of open resources on this thread. */
export interface ScopeStats {
  /** The number of scopes that are open. A managed scope is no longer counted after it has been garbage-collected. */
  readonly openScopes: number
  /** The memory that open scopes own, in bytes. Chunks are counted in full, even if only a part is allocated. */
  readonly liveBytes: number
  /** The memory that is kept for later arenas, in bytes. */
  readonly pooledBytes: number
  /** The number of stubs that native code can call. */
  readonly liveStubs: number
  /** The number of unreleased holds on scopes and other lifetimes. */
  readonly holds: number
}

/** The counts behind `ResourceScope.stats()` of this thread, updated by the code that opens and closes. */
export const counters: { openScopes: number; liveBytes: number; liveStubs: number } = {
  openScopes: 0,
  liveBytes: 0,
  liveStubs: 0,
}

export function scopeStats(): ScopeStats {
  return { ...counters, pooledBytes: pooledBytes() + unusedSlotBytes(), holds: liveHolds.count }
}
