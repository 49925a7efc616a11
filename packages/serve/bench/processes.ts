import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const PYTHON = '/usr/bin/python3'

/** The servers that run. They end with this process, even after an error. */
const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill()
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

/** A server in a process of its own. */
export interface ServerProcess {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** The processor time of the process and its children until now, in microseconds. */
  processorTime(): number
  /** The memory of the process in bytes. */
  residentBytes(): number
  close(): void
}

/**
 * Starts one of the servers of `servers.ts`, which use what was built.
 *
 * @param processors the number of processors that the server and its workers may use. By default all.
 */
export async function startServer(name: string, processors?: number): Promise<ServerProcess> {
  const child = fork(join(import.meta.dirname, 'servers.ts'), [name], { execArgv: [] })
  // Before it starts workers, which inherit it.
  if (processors !== undefined) limitProcessors(child.pid!, processors)
  const [port] = (await once(child, 'message')) as [number]
  return serverOf(name, child, port)
}

/** The versions of the Python packages of the server of FastAPI, or why it cannot run. */
export function findFastapi(): { readonly versions: string } | { readonly missing: string } {
  const program = [
    'import sys, fastapi, uvicorn, numpy',
    'from importlib.util import find_spec',
    'parser = "httptools" if find_spec("httptools") else "h11"',
    'loop = "uvloop" if find_spec("uvloop") else "asyncio"',
    'print(f"Python {sys.version.split()[0]}, FastAPI {fastapi.__version__}, uvicorn {uvicorn.__version__} ({parser}, {loop})")',
  ]
  const { status, stdout, stderr, error } = spawnSync(PYTHON, ['-c', program.join('\n')], { encoding: 'utf8' })
  if (status === 0) return { versions: stdout.trim() }
  return { missing: error?.message ?? stderr.trim().split('\n').at(-1)! }
}

/** Starts the server of FastAPI. */
export async function startFastapi(): Promise<ServerProcess> {
  const file = join(import.meta.dirname, 'fastapi_server.py')
  const child = spawn(PYTHON, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return serverOf('fastapi', child, Number(line))
}

function serverOf(name: string, child: ChildProcess, port: number): ServerProcess {
  children.add(child)
  child.once('exit', () => children.delete(child))
  return {
    name,
    port,
    pid: child.pid!,
    processorTime: () => treeOf(child.pid!).reduce((sum, one) => sum + timeOf(one), 0),
    residentBytes: () => residentBytes(child.pid!),
    close: () => void child.kill(),
  }
}

function residentBytes(pid: number): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
}

/** @throws {Error} if taskset fails. */
function limitProcessors(process: number, processors: number): void {
  const args = ['--all-tasks', '--cpu-list', '--pid', `0-${processors - 1}`, String(process)]
  const { status, stderr, error } = spawnSync('taskset', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`taskset ended with ${status}: ${error?.message ?? stderr.trim()}`)
}

/** The memory of a server, and of the workers that it has started, in bytes. Memory that processes share is divided among them. */
export function memoryOf({ pid }: ServerProcess): { readonly server: number; readonly workers: number } {
  const [server, ...workers] = treeOf(pid).map(({ id }) => {
    const rollup = readFileSync(`/proc/${id}/smaps_rollup`, 'utf8')
    return 1024 * Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)![1])
  })
  return { server: server!, workers: workers.reduce((sum, bytes) => sum + bytes, 0) }
}

interface Process {
  readonly id: number
  readonly parent: number
}

/** A process, and the processes that it has started. */
function treeOf(root: number): readonly Process[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(name) ?? []) : []))
  const tree = all.filter(({ id }) => id === root)
  for (const { id } of tree) tree.push(...all.filter(({ parent }) => parent === id))
  return tree
}

/** Returns undefined for a process that has just ended. */
function readProcess(id: string): Process | undefined {
  try {
    const [, parent] = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
    return { id: Number(id), parent: Number(parent) }
  } catch {
    return undefined
  }
}

/** The processor time of the threads of a process in microseconds, which the scheduler counts in nanoseconds. */
function timeOf({ id }: Process): number {
  const threads = readdirSync(`/proc/${id}/task`)
  return threads.reduce((sum, thread) => sum + timeOfThread(`/proc/${id}/task/${thread}/schedstat`), 0)
}

/** Returns 0 for a thread that has just ended. */
function timeOfThread(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ')[0]) / 1000
  } catch {
    return 0
  }
}
