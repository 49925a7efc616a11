/** A thread that ends while it has shared memory and isolated libraries in all states. */
import { parentPort, workerData } from 'node:worker_threads'
import { SharedMemory } from '@tenon/pools'
import { Library, tensor, type Tensor } from 'tenon'

/** How a thread ends, and in which call. */
export interface EndingThread {
  readonly path: string
  /** A directory for exported memory. */
  readonly directory: string
  readonly end: 'terminate' | 'exit' | 'return'
  readonly isSynchronous: boolean
}

const { path, directory, end, isSynchronous } = workerData as EndingThread

const HANG = { fault: 8 } as const
/** Longer than the test waits, except where a thread returns when its calls have ended. */
const options = { deadline: end === 'return' ? 50 : 300_000, grace: 20 }
const kept: unknown[] = []
const ignore = (): undefined => undefined

/** Makes operands in memory that is closed by nobody. */
async function openMemory(): Promise<Tensor> {
  const memory = SharedMemory.open({ chunk: '1 MiB' })
  const arena = memory.arena()
  const x = tensor('f32', [3], [1, 2, 3], { allocator: memory })
  const imported = SharedMemory.ofHandle(memory.handle({ tensors: { x } }))
  // An export keeps the program running.
  const exported =
    end === 'return' ? undefined : await memory.export({ name: `thread-${Math.random()}`, directory, tensors: { x } })
  kept.push(memory, arena, arena.allocate(64), memory.freeze(x), imported.tensor('x'), x.view(), exported)
  return x
}

parentPort!.postMessage('opening', [])
const x = await openMemory()
const open = (): ReturnType<typeof Library.isolate> => Library.isolate(path, options)
const [idle, calling, closing, restarting] = await Promise.all([open(), open(), open(), open()])
kept.push(idle)
void calling.kernel('faulty').async(x, HANG).catch(ignore)
void calling.kernel('faulty').batch([[x, HANG], [x], [tensor([1, 2, 3]), HANG]])
void closing.kernel('faulty').async(x, HANG).catch(ignore)
void closing.closeAsync({ deadline: options.deadline })
void restarting.restart().catch(ignore)
void restarting.kernel('faulty').async(x).catch(ignore)
void open().then((library) => kept.push(library), ignore)
parentPort!.postMessage('ready', [])
if (isSynchronous) {
  try {
    idle.kernel('faulty')(x, HANG)
  } catch {
    // The deadline.
  }
}
if (end === 'exit') process.exit(0)
if (end === 'return') parentPort!.unref()
