import type * as WorkerThreads from 'node:worker_threads'

/** `node:worker_threads`, which takes more than 2 ms to load and so waits until threads matter. */
export const workerThreads = (): typeof WorkerThreads => process.getBuiltinModule('node:worker_threads')

let id: number | undefined

/** Returns the id of this thread. */
export function currentThread(): number {
  return (id ??= workerThreads().threadId)
}
