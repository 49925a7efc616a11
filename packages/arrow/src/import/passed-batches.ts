import { usersOf } from '@tenon/core/internal'
import type { ArrowBatch } from '../arrow-batch.ts'

/** The batches that loops have passed while calls, holds or consumers of exports used them. */
const passed = new Set<WeakRef<ArrowBatch>>()

/** Closes a batch that a loop has passed, now or once nothing uses it any more. If nobody looks, the collector releases it. */
export function passBatch(batch: ArrowBatch): void {
  if (batch.isKept || !batch.isAlive) return
  if (!closeUnused(batch)) passed.add(new WeakRef(batch))
}

/** Closes the batches that are not used any more. */
export function sweepPassed(): void {
  for (const reference of passed) {
    const batch = reference.deref()
    if (batch === undefined || batch.isKept || !batch.isAlive || closeUnused(batch)) passed.delete(reference)
  }
}

function closeUnused(batch: ArrowBatch): boolean {
  const { holds, calls } = usersOf(batch.gate)
  if (holds + calls > 0) return false
  batch.close()
  return true
}
