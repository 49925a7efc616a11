import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const source = (name: string): string => JSON.stringify(new URL(`../../src/memory/${name}.ts`, import.meta.url).href)

/** A worker that runs this code in an async function with `SharedMemory`, `core`, `internal`, `parentPort` and `workerData`. */
export function startWorker(code: string, workerData?: unknown): Worker {
  const prelude = `
    const { parentPort, workerData } = require('node:worker_threads')
    Promise.all([import(${source('shared-memory')}), import('@tenon/core'), import('@tenon/core/internal')])
      .then(async ([{ SharedMemory }, core, internal]) => { ${code} })
      .catch((error) => { setImmediate(() => { throw error }) })`
  const execArgv = ['--conditions=@tenon/source', '--disable-warning=ExperimentalWarning']
  return new Worker(prelude, { eval: true, workerData, execArgv })
}

/** The next message of a worker. Rejects if the worker fails first. */
export async function nextMessage(worker: Worker): Promise<unknown> {
  const [message] = (await once(worker, 'message')) as [unknown]
  return message
}
