import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { MemoryHandle } from '../../src/memory/memory-handle.ts'

/** A worker that runs this code in an async function with `SharedMemory`, `core`, `internal`, `parentPort` and `workerData`. */
export function startWorker(code: string, workerData?: unknown): Worker {
  const prelude = `
    const { parentPort, workerData } = require('node:worker_threads')
    Promise.all([import('@tenon/pools'), import('@tenon/core'), import('@tenon/core/internal')])
      .then(async ([{ SharedMemory }, core, internal]) => { ${code} })
      .catch((error) => { setImmediate(() => { throw error }) })`
  return new Worker(prelude, { eval: true, workerData })
}

/** The next message of a worker. Rejects if the worker fails first. */
export async function nextMessage(worker: Worker): Promise<unknown> {
  const [message] = (await once(worker, 'message')) as [unknown]
  return message
}

/** A handle as a runtime without SharedArrayBuffers over memory makes it. */
export const withoutBuffers = (handle: MemoryHandle): MemoryHandle => ({
  ...handle,
  chunks: handle.chunks.map(({ id, byteSize, descriptor, identity }) => ({ id, byteSize, descriptor, identity })),
})
