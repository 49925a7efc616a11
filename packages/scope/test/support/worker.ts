import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/** The code before the code of each worker. */
const prelude = `
const { parentPort, workerData, threadId } = require('node:worker_threads')
const load = () => Promise.all([import('@tenon/scope'), import('@tenon/scope/linker')])
`

/**
 * A worker that runs this code in an async function with `scope` and `linker` (the two modules), `parentPort` and
 * `workerData`. Workers of tests run what was built, which takes a third of the time to load.
 */
export function startWorker(code: string, workerData?: unknown): Worker {
  const worker = new Worker(
    `${prelude}load().then(async ([scope, linker]) => { ${code} }).catch((error) => { setImmediate(() => { throw error }) })`,
    { eval: true, workerData },
  )
  const end = new Promise<void>((resolve) => {
    // Not a listener, because tests count those.
    const { emit } = worker
    worker.emit = ((name: string, ...values: unknown[]) => {
      if (name === 'exit') resolve()
      return emit.call(worker, name as 'exit', ...(values as [number]))
    }) as typeof emit
  })
  ends.set(worker, end)
  return worker
}

const ends = new WeakMap<Worker, Promise<void>>()

/** The next message of a worker. Rejects if the worker ends first. */
export async function nextMessage<Message = unknown>(worker: Worker): Promise<Message> {
  const [message] = (await Promise.race([once(worker, 'message'), failure(worker)])) as [Message]
  return message
}

async function failure(worker: Worker): Promise<never> {
  const [code] = (await once(worker, 'exit')) as [number]
  throw new Error(`the worker ended with code ${code} and no message`)
}

/** Waits until a worker of {@link startWorker} has ended. */
export async function ended(worker: Worker): Promise<void> {
  await ends.get(worker)
}

/** The directory of the package, in which scripts run that import the package by name. */
export const packageDirectory: string = fileURLToPath(new URL('../..', import.meta.url))
