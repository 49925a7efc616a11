import { packageEntry } from '@tenon/config/package-flags'
import { once } from 'node:events'
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SharedMemory } from '../../src/memory/shared-memory.ts'
import { hasOwnBuffers } from './memory-status.ts'
import { nextMessage, startWorker, withoutBuffers } from './memory-worker.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-threads-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

/** Describes each open descriptor of this process. */
const descriptors = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      return [`${number} ${readlinkSync(`/proc/self/fd/${number}`)}`]
    } catch {
      return [] // The one with which the directory was read.
    }
  })

const mappings = (): string[] =>
  readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => /\/memfd:|\/dev\/shm\/|tenon-threads-/.test(line))

/** Waits until nothing is open that was not open before, and returns what still is. */
async function remaining(before: ReadonlySet<string>): Promise<string[]> {
  const end = performance.now() + 10_000
  for (;;) {
    globalThis.gc!()
    const opened = [...descriptors(), ...mappings()].filter((each) => !before.has(each))
    if (opened.length === 0 || performance.now() > end) return opened
    await sleep(20)
  }
}

/** The work that each thread repeats until it is terminated. A thread uses memory of its own, or the memory of `handle`. */
const WORK: Readonly<Record<string, string>> = {
  'open memory': `
    const memory = SharedMemory.open({ chunk: '1 MiB', guard: true })
    memory.allocate(100)
    memory.close()`,
  'freeze tensors': `
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    memory.freeze(core.tensor([1, 2, 3]))
    memory.close()`,
  'import handles': `SharedMemory.ofHandle(handle).close()`,
  'export memory and open it by its name': `
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    memory.allocate(100)
    await memory.export({ name: thread + '-' + i, directory })
    const imported = await SharedMemory.openNamed(thread + '-' + i, { directory })
    imported.close()
    memory.close()`,
  'create, share and freeze pools': `
    const pool = pools.createPool(4096)
    pools.shareReadOnly(pool).close()
    pools.createFrozenPool(new Uint8Array(4096)).close()
    pool.close()`,
  'map files': `pools.openFilePool(directory + '/file').close()`,
}

const POOLS = JSON.stringify(packageEntry(new URL('../..', import.meta.url)))

/** The threads of each kind. */
const THREADS = 8

describe.runIf(process.platform === 'linux')('threads of one process', () => {
  test('export to one directory at the same time', async () => {
    const threads = 4
    const begun = new Int32Array(new SharedArrayBuffer(4))
    const workers = Array.from({ length: threads }, (_, thread) =>
      startWorker(
        `const { begun, threads, thread, directory } = workerData
         const memory = SharedMemory.open({ chunk: '1 MiB' })
         Atomics.add(begun, 0, 1)
         while (Atomics.load(begun, 0) < threads);
         for (let i = 0; i < 40; i++) await memory.export({ name: thread + '-' + i, directory })
         memory.close()
         parentPort.postMessage('closed')`,
        { begun, threads, thread, directory },
      ),
    )
    // A thread that cannot export rejects with the error.
    expect(await Promise.all(workers.map(nextMessage))).toEqual(Array(threads).fill('closed'))
    expect(readdirSync(directory)).toEqual([])
    await Promise.all(workers.map((worker) => worker.terminate()))
  })

  test('end without closing numbers that others use, after they have closed a file', async () => {
    writeFileSync(join(directory, 'file'), 'x')
    const worker = startWorker(
      `const [pools, file] = [await import(${POOLS}), workerData]
       pools.openFilePool(file).close()
       parentPort.postMessage('closed')
       parentPort.once('message', () => {})`,
      join(directory, 'file'),
    )
    expect(await nextMessage(worker)).toBe('closed')
    const opened = Array.from({ length: 20 }, () => openSync(join(directory, 'file'), 'r'))
    worker.postMessage('end', [])
    await once(worker, 'exit')
    for (const descriptor of opened) closeSync(descriptor)
  })
})

// With koffi, a thread that is terminated ends the process.
describe.runIf(process.platform === 'linux' && hasOwnBuffers)('terminate()', () => {
  test.each(Object.keys(WORK))('closes all that threads have, which %s', { timeout: 120_000 }, async (kind) => {
    writeFileSync(join(directory, 'file'), Buffer.alloc(4096))
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    memory.allocate(100)
    // A thread duplicates the descriptor and maps it.
    const handle = withoutBuffers(memory.handle())
    const start = (work: string, thread: number): Worker =>
      startWorker(
        `const { handle, directory, thread } = workerData
         const pools = await import(${POOLS})
         parentPort.postMessage('ready')
         ${work}`,
        { handle, directory, thread },
      )
    // The process keeps some descriptors after its first thread.
    await once(start('', -1), 'exit')
    const before = new Set([...descriptors(), ...mappings()])
    const run = async (thread: number): Promise<void> => {
      const worker = start(`for (let i = 0; ; i++) { ${WORK[kind]} }`, thread)
      expect(await nextMessage(worker)).toBe('ready')
      await sleep(Math.random() * 50)
      await worker.terminate()
    }
    for (let i = 0; i < THREADS; i += 4) await Promise.all([0, 1, 2, 3].map((j) => run(i + j)))
    expect(await remaining(before)).toEqual([])
  })
})
