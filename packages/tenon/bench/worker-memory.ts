/**
 * `node packages/tenon/bench/worker-memory.ts` prints the resident memory of a worker of `Library.isolate` after a call, beside
 * that of a driver process, of a bare process of Node.js and of a thread. What is measured is what is built.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { PAGES } from '@tenon/bench'
import { spawnDriver } from '@tenon/nnapi'
import { Library, tensor } from 'tenon'
import { end, script } from '../../nnapi/bench/round-trip.ts'

const MIB = 2 ** 20
const SAMPLES = 5

interface Resident {
  readonly all: number
  /** Memory that no other process can have: neither files nor shared memory. */
  readonly ownBytes: number
}

function residentOf(process: number | 'self'): Resident {
  const status = readFileSync(`/proc/${process}/status`, 'utf8')
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1])
  return { all: 1024 * kib('VmRSS'), ownBytes: 1024 * kib('RssAnon') }
}

async function ofWorker(): Promise<Resident> {
  const library = await Library.isolate(PAGES)
  library.kernel('touch_pages')(tensor('uint8', [4096]))
  const resident = residentOf(library.health().workers[0]!.process)
  await library.closeAsync()
  return resident
}

async function ofDriver(): Promise<Resident> {
  const driver = await spawnDriver({ command: [process.execPath, script, 'driver'] })
  const [child] = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ')
  const resident = residentOf(Number(child))
  await driver.closeAsync()
  return resident
}

async function ofNode(): Promise<Resident> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  await new Promise((resolve) => setTimeout(resolve, 500))
  const resident = residentOf(child.pid!)
  await end(child)
  return resident
}

/** What a thread adds to this process. */
async function ofThread(): Promise<Resident> {
  const before = residentOf('self')
  const worker = new Worker('setInterval(() => {}, 1000)', { eval: true })
  await once(worker, 'online')
  await new Promise((resolve) => setTimeout(resolve, 200))
  const after = residentOf('self')
  await worker.terminate()
  return { all: after.all - before.all, ownBytes: after.ownBytes - before.ownBytes }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!
const shown = (bytes: number): string => (bytes / MIB).toFixed(2).padStart(8)

process.stdout.write(`${'MiB'.padEnd(32)}resident  private  (median of ${SAMPLES})\n`)
const rows = {
  'worker of Library.isolate': ofWorker,
  'driver process': ofDriver,
  'node, doing nothing': ofNode,
  'thread of worker_threads': ofThread,
}
for (const [name, measure] of Object.entries(rows)) {
  const samples: Resident[] = []
  for (let i = 0; i < SAMPLES; i++) samples.push(await measure())
  const [all, own] = [samples.map(({ all: one }) => one), samples.map(({ ownBytes }) => ownBytes)]
  process.stdout.write(`${name.padEnd(32)}${shown(median(all))} ${shown(median(own))}\n`)
}
