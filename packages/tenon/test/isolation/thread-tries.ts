/** Threads that end while they have isolated libraries and shared memory. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { EndingThread } from './thread-client.ts'
import { processFacts, remainingSince } from './process-facts.ts'

/** Longer than a busy machine takes. A thread that waits for its call would not end for 300 s. */
const LONGEST = 60_000

/** When a thread is terminated. */
interface Moment {
  /** The message that the thread has posted before. */
  readonly after: 'opening' | 'ready'
  /** The time since that message, in ms. */
  readonly delay: number
}

/** Runs one thread until it has ended. @returns what was wrong */
async function runThread(thread: EndingThread, { after, delay }: Moment): Promise<string | undefined> {
  // This program is a text itself, so its threads cannot be files.
  const program = new URL('./thread-client.ts', import.meta.url).href
  const worker = new Worker(`import(${JSON.stringify(program)})`, { eval: true, workerData: thread })
  let failure: string | undefined
  worker.on('error', (error) => (failure = String(error instanceof Error ? error.stack : error)))
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const posted = new Promise<void>((resolve) => {
    worker.on('message', (message) => message === after && resolve())
  })
  await Promise.race([ended, posted])
  if (thread.end === 'terminate') {
    await sleep(delay)
    void worker.terminate()
  }
  const stop = new AbortController()
  const late = sleep(LONGEST, `not ended after ${LONGEST} ms`, { signal: stop.signal }).catch(() => undefined)
  failure ??= (await Promise.race([ended, late])) ?? undefined
  stop.abort()
  return failure
}

/** Returns the problems, of which there are none if all ended well. */
export async function main({ path }: { readonly path: string }): Promise<readonly string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-threads-'))
  const problems: string[] = []
  const run = async (
    end: EndingThread['end'],
    isSynchronous: boolean,
    delay = 0,
    after: Moment['after'] = 'ready',
  ): Promise<void> => {
    const problem = await runThread({ path, directory, end, isSynchronous }, { after, delay })
    if (problem !== undefined) problems.push(`${end}, ${isSynchronous}, ${delay} after ${after}: ${problem}`)
  }
  const interrupt = (): Promise<void> => run('terminate', false, Math.random() * 100, 'opening')
  const check = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const before = await processFacts()
    await work()
    for (const remaining of await remainingSince(before)) problems.push(`${name}: ${remaining}`)
  }
  await run('return', false)
  await check('the end of the program', () => Promise.all([run('return', false), run('return', true)]))
  await check('process.exit()', () => Promise.all([run('exit', false), run('exit', false)]))
  await check('terminate()', () => Promise.all([0, 5, 50].map((delay) => run('terminate', false, delay))))
  await check('terminate() in a call', () => Promise.all([0, 100].map((delay) => run('terminate', true, delay))))
  await check('terminate() of threads that open', async () => {
    for (let i = 0; i < 4; i++) await Promise.all([interrupt(), interrupt(), interrupt()])
  })
  rmSync(directory, { recursive: true })
  return problems
}
