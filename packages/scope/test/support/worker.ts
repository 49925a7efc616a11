import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

const source = (name: string): string => new URL(`../../src/${name}.ts`, import.meta.url).href

/** What stands before the code of each worker. */
const prelude = `
const { parentPort, workerData, threadId } = require('node:worker_threads')
const load = () => Promise.all([import(${JSON.stringify(source('index'))}), import(${JSON.stringify(source('linker'))})])
`

/**
 * A worker that runs this code, in an async function with \`scope\` and \`linker\` (the two modules), \`parentPort\`
 * and
 * \`workerData\`. It runs the sources through Node's own stripping of types: they are plain JavaScript then.
 */
export function startWorker(code: string, workerData?: unknown): Worker {
  return new Worker(
    `${prelude}load().then(async ([scope, linker]) => { ${code} }).catch((error) => { setImmediate(() => { throw error }) })`,
    { eval: true, workerData, execArgv: ['--conditions=@tenon/source', '--disable-warning=ExperimentalWarning'] },
  )
}

/** The next message of a worker; its error, if that comes first. */
export async function nextMessage<Message = unknown>(worker: Worker): Promise<Message> {
  const [message] = (await Promise.race([once(worker, 'message'), failure(worker)])) as [Message]
  return message
}

async function failure(worker: Worker): Promise<never> {
  const [code] = (await once(worker, 'exit')) as [number]
  throw new Error(`the worker ended with code ${code} and no message`)
}

/** Waits until a worker has ended. */
export async function ended(worker: Worker): Promise<void> {
  // A worker that is gone has no id, and tells nobody any more.
  if (worker.threadId !== -1) await once(worker, 'exit')
}

/** The directory of the package: scripts that import it by name run there. */
export const packageDirectory: string = fileURLToPath(new URL('../..', import.meta.url))
