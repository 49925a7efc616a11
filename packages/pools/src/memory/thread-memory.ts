import { isMainThread } from 'node:worker_threads'
import { addressOf, coreFunctions, door } from '@tenon/core/internal'

const out = new BigUint64Array(1)

/**
 * Has the core unmap memory and close its descriptor when this thread ends, even if it is terminated. Everything of the main thread
 * ends with the process.
 *
 * @param address 0 for memory that the engine unmaps. @returns what {@link leaveThreadMemory} needs
 */
export function addThreadMemory(descriptor: number, address: number, byteSize: number): number {
  if (isMainThread || (descriptor < 0 && address === 0)) return 0
  // The core knows threads that have a door.
  door()
  return coreFunctions().tn_thread_memory_add(descriptor, address, byteSize, addressOf(out)) === 0 ? Number(out[0]) : 0
}

/** Leaves the memory to its owner, who closes it. Once. */
export function leaveThreadMemory(memory: number): void {
  if (memory !== 0) coreFunctions().tn_thread_memory_remove(memory)
}
