import { isMainThread } from 'node:worker_threads'
import type { ManagedLifetime } from '@tenon/core/internal'

const open = new Set<WeakRef<ManagedLifetime>>()
let isListening = false

/**
 * Closes memory that a worker thread has left open when it ends, because its descriptors and mappings belong to the process. Memory
 * that calls still use stays open. Everything of the main thread ends with the process.
 */
export function closeAtThreadEnd(memory: ManagedLifetime): void {
  if (isMainThread) return
  if (!isListening) process.once('exit', closeAll)
  isListening = true
  const entry = new WeakRef(memory)
  open.add(entry)
  memory.addCloseAction(() => open.delete(entry))
}

function closeAll(): void {
  for (const entry of open) {
    const memory = entry.deref()
    if (memory === undefined || memory.gate.holds !== 0 || memory.gate.calls !== 0) continue
    memory[Symbol.dispose]()
  }
}
