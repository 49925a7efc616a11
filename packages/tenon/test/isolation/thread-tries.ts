/** Threads that end while they have isolated libraries and shared memory. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { EndingThread } from './thread-client.ts'
import { processFacts } from './process-facts.ts'

const LONGEST = 15_000

/** Runs one thread until it has ended. @param delay the ms until it is terminated. @returns what was wrong */
async function runThread(thread: EndingThread, delay: number): Promise<string | undefined> {
  // This program is a text itself, so its threads cannot be files.
  const program = new URL('./thread-client.ts', import.meta.url).href
  const worker = new Worker(`import ${JSON.stringify(program)}`, { eval: true, workerData: thread })
  let failure: string | undefined
  worker.on('error', (error) => (failure = String(error instanceof Error ? error.stack : error)))
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  await Promise.race([ended, new Promise((resolve) => worker.once('message', resolve))])
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
  const run = async (end: EndingThread['end'], isSynchronous: boolean, delay = 0): Promise<void> => {
    const problem = await runThread({ path, directory, end, isSynchronous }, delay)
    if (problem !== undefined) problems.push(`${end}, ${isSynchronous}, ${delay}: ${problem}`)
  }
  const check = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const before = await processFacts()
    await work()
    const after = await processFacts()
    for (const fact of ['descriptors', 'children', 'sharedMappings'] as const) {
      if (after[fact] > before[fact]) problems.push(`${name}: ${after[fact] - before[fact]} ${fact}`)
    }
  }
  await run('return', false)
  await check('the end of the program', () => Promise.all([run('return', false), run('return', true)]))
  await check('process.exit()', () => Promise.all([run('exit', false), run('exit', false)]))
  await check('terminate()', () => Promise.all([0, 5, 50].map((delay) => run('terminate', false, delay))))
  await check('terminate() in a call', () => Promise.all([0, 100].map((delay) => run('terminate', true, delay))))
  rmSync(directory, { recursive: true })
  return problems
}
