/** A process that may have few descriptors opens libraries until that fails. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { SharedMemory } from '@tenon/pools'
import { Library, tensor, type Tensor } from 'tenon'
import { Problems } from './problems.ts'
import { processFacts, remainingSince } from './process-facts.ts'

type IsolatedLibrary = Awaited<ReturnType<typeof Library.isolate>>

const x = (): Tensor => tensor([1, 2, 3])
const isTwice = (y: Tensor): boolean => y.toArray().join() === '2,4,6'

/** A shell that changes the limits of this process, which cannot start another program while it has few descriptors. */
const shell = spawn('sh', { stdio: ['pipe', 'pipe', 'inherit'] })

/** Limits the numbers of new descriptors of this process. */
async function allow(most: number): Promise<void> {
  shell.stdin.write(`prlimit --pid ${process.pid} --nofile=${most}: && echo done\n`)
  await once(shell.stdout, 'data')
}

export async function main({ path }: { readonly path: string }): Promise<readonly string[]> {
  const problems = new Problems()
  const options = { restart: { limit: 2, window: 10_000, backoff: 5 }, deadline: 5000 }
  const open = (): Promise<IsolatedLibrary> => Library.isolate(path, options)
  const first = await open()
  first.kernel('faulty')(x())
  await first.closeAsync()
  const before = await processFacts()
  for (const more of [12, 13, 14, 16, 18, 21, 34, 60]) {
    const most = readdirSync('/proc/self/fd').length + more
    await allow(most)
    const name = `${most} descriptors, ${more} free`
    await openAll(problems, name, open)
    for (const remaining of await remainingSince(before)) problems.add(name, remaining)
  }
  shell.stdin.end()
  return problems.list
}

/** Opens libraries until that fails, and looks whether all goes on then. */
async function openAll(problems: Problems, name: string, open: () => Promise<IsolatedLibrary>): Promise<void> {
  const libraries: IsolatedLibrary[] = []
  const memories: SharedMemory[] = []
  let failure: Error | undefined
  for (let i = 0; i < 20 && failure === undefined; i++) {
    failure = await problems.run(name, async () => {
      const library = await open()
      libraries.push(library)
      problems.check(name, isTwice(await library.kernel('faulty').async(x())), 'a wrong result')
      problems.check(name, isTwice(library.kernel('faulty')(x())), 'a wrong result')
    }, ['NativeError', 'AllocationError', 'PoolsError', 'CrashLoopError', 'WorkerLostError'])
  }
  problems.check(name, /too many open files/i.test(failure?.message ?? ''), failure?.message)
  // What is open works as before, without another descriptor.
  for (const library of libraries.slice(0, -1)) {
    await problems.run(name, async () => {
      problems.check(name, isTwice(await library.kernel('faulty').async(x())), 'a wrong result')
    }, [])
  }
  // Crashes, whose workers cannot be replaced before descriptors are free again.
  for (const library of libraries) {
    await problems.run(`${name}, crash`, () => library.kernel('faulty').async(x(), { fault: 2 } as never))
    await problems.run(`${name}, restart`, () => library.restart())
  }
  await problems.run(`${name}, memory`, () => {
    for (let i = 0; i < 100; i++) {
      const memory = SharedMemory.open({ chunk: '1 MiB' })
      memories.push(memory)
      memory.allocate(64)
    }
  })
  for (const memory of memories) memory.close()
  await libraries.pop()?.closeAsync()
  for (const library of libraries) {
    await problems.run(`${name}, with some closed`, () => library.restart(), [])
    await problems.run(
      `${name}, with some closed`,
      async () => {
        problems.check(name, isTwice(await library.kernel('faulty').async(x())), 'a wrong result')
      },
      [],
    )
    await library.closeAsync()
  }
}
