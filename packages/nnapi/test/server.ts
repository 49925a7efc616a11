import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeDescriptor, connectTo } from '@tenon/pools/internal'
import { connectDriver, type DriverLimits, type DriverTotals } from '../src/index.ts'
import { settled, until } from './support.ts'

/** The options of the driver, besides its limits. */
export interface ServerOptions {
  readonly executors?: number
  readonly totals?: Partial<DriverTotals>
  /** The most descriptors that a process of the driver may have. */
  readonly openFiles?: number
}

/** A driver in processes of its own, at a path: a front and its executors. */
export class Server {
  readonly path: string
  readonly child: ChildProcess
  readonly #directory: string
  #idle = ''
  /** The processes that it had when it came to serve. */
  #started: readonly number[] = []

  private constructor(directory: string, child: ChildProcess) {
    this.#directory = directory
    this.path = join(directory, 'socket')
    this.child = child
  }

  static async start(limits: Partial<DriverLimits> = {}, options: ServerOptions = {}): Promise<Server> {
    const { openFiles, executors = 2, totals } = options
    const directory = mkdtempSync(join(tmpdir(), 'tenon-server-'))
    const script = join(import.meta.dirname, 'fixtures/server.js')
    const more = JSON.stringify({ limits, executors, totals })
    const command = [process.execPath, script, join(directory, 'socket'), more]
    const limited =
      openFiles === undefined ? command : ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh', ...command]
    const child = spawn(limited[0]!, limited.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] })
    const server = new Server(directory, child)
    await until(() => server.#listens() || !server.isRunning, 'the driver listens')
    if (!server.isRunning) throw new Error(`the driver ended at once: ${child.exitCode ?? child.signalCode}`)
    // A visitor of each executor, which says hello and leaves.
    const visitors = await Promise.all(Array.from({ length: executors }, () => connectDriver(server.path)))
    for (const visitor of visitors) await settled(visitor)
    server.#started = server.processes
    const held = JSON.stringify(server.holdings())
    for (const visitor of visitors) await visitor.closeAsync()
    // The front and the executor have a descriptor of each visitor's channel, and the executor has its doorbell.
    const { descriptors, ...rest } = JSON.parse(held) as ReturnType<Server['holdings']>
    server.#idle = JSON.stringify({ descriptors: descriptors - 3 * executors, ...rest })
    return server
  }

  /** The socket appears a moment before it takes connections. */
  #listens(): boolean {
    if (!existsSync(this.path)) return false
    try {
      closeDescriptor(connectTo(this.path))
      return true
    } catch {
      return false
    }
  }

  /** Whether no process of the driver has ended. */
  get isRunning(): boolean {
    const isServing = this.child.exitCode === null && this.child.signalCode === null
    return isServing && this.#started.every((pid) => this.processes.includes(pid))
  }

  /** The processes of the driver: the front first, then the executors. */
  get processes(): readonly number[] {
    const { pid } = this.child
    try {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      return [pid!, ...children.trim().split(' ').filter(Boolean).map(Number)]
    } catch {
      return [pid!]
    }
  }

  /** What the driver holds: its descriptors, and mappings of shared memory and of the tests' own files, with their bytes. */
  holdings(): { descriptors: number; mappings: number; mappedBytes: number } {
    const { processes } = this
    const lines = processes.flatMap((pid) => readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n'))
    const mapped = lines.filter((line) => /\/memfd:|\/tmp\/tenon-(?!.*\.so$)/.test(line))
    return {
      descriptors: processes.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
      mappings: mapped.length,
      mappedBytes: mapped.reduce((sum, line) => {
        const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) /.exec(line)!
        return sum + Number.parseInt(to!, 16) - Number.parseInt(from!, 16)
      }, 0),
    }
  }

  /** The memory that the driver really has, in bytes: all of it, or what only its processes have. */
  residentBytes(kind: 'VmRSS' | 'RssAnon' = 'VmRSS'): number {
    const size = new RegExp(`^${kind}:\\s+(\\d+)`, 'm')
    const sizes = this.processes.map((pid) => Number(size.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]))
    return sizes.reduce((sum, kilobytes) => sum + kilobytes * 1024, 0)
  }

  /** How many mappings the driver has of memory with a label. */
  mapped(label: string): number {
    const lines = this.processes.flatMap((pid) => readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n'))
    return lines.filter((line) => line.includes(`/memfd:${label} `)).length
  }

  /** Waits until it holds what it held before its first client. */
  async isIdle(): Promise<void> {
    await until(
      () => JSON.stringify(this.holdings()) === this.#idle,
      () => `the driver holds ${this.#idle}, it has ${JSON.stringify(this.holdings())}`,
    )
  }

  async stop(): Promise<void> {
    const { processes } = this
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGKILL')
      await once(this.child, 'exit')
    }
    // The executors end by themselves.
    await until(() => processes.every((pid) => !existsSync(`/proc/${pid}`)), 'all processes have ended')
    rmSync(this.#directory, { recursive: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
