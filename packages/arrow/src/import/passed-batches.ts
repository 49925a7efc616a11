import { usersOf } from '@tenon/core/internal'
import type { ImportLifetime } from './import-owner.ts'

/** The batches that are to be closed, and are used by calls, holds or consumers of exports. If nobody looks, the collector releases them. */
const passed = new Set<WeakRef<ImportLifetime>>()

/** Closes a batch now, or once nothing uses it any more. */
export function closeLater(batch: ImportLifetime): void {
  if (batch.isAlive && !closeUnused(batch)) passed.add(new WeakRef(batch))
}

/** Closes the batches that are not used any more. */
export function sweepPassed(): void {
  for (const reference of passed) {
    const batch = reference.deref()
    if (batch === undefined || !batch.isAlive || closeUnused(batch)) passed.delete(reference)
  }
}

function closeUnused(batch: ImportLifetime): boolean {
  const { holds, calls } = usersOf(batch.gate)
  if (holds + calls > 0) return false
  // Holds that were released just now may have closed it.
  if (batch.isAlive) batch.close()
  return true
}
