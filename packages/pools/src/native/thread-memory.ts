import { checkStatus, coreFunctions, isMainThread, threadDriver } from '@tenon/core/internal'

let isOwned = false

/**
 * Has the core close what this thread has opened and not closed, when the thread ends, even if it is terminated between two native
 * calls: descriptors that functions of the core return, and mappings of pools. Everything of the main thread ends with the process.
 */
export function ownThreadMemory(): void {
  if (isOwned || isMainThread()) return
  // The core knows threads that have a driver.
  threadDriver()
  checkStatus(coreFunctions().tn_thread_memory_begin(), 'preparing the end of a thread')
  isOwned = true
}
