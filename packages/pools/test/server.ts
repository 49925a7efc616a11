import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeDescriptor } from '../src/memory/descriptor.ts'
import { connectTo } from '../src/link/socket.ts'
import { connectDriver, type DriverLimits } from '../src/index.ts'
import { settled, until } from './support.ts'

/** A driver in a process of its own, at a path. */
export class Server {
  readonly path: string
  readonly child: ChildProcess
  readonly #directory: string
  #idle = ''

  private constructor(directory: string, child: ChildProcess) {
    this.#directory = directory
    this.path = join(directory, 'socket')
    this.child = child
  }

  /** @param openFiles the most descriptors that the driver may have. */
  static async start(limits: Partial<DriverLimits> = {}, openFiles?: number): Promise<Server> {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-server-'))
    const script = join(import.meta.dirname, 'fixtures/server.js')
    const command = [process.execPath, script, join(directory, 'socket'), JSON.stringify(limits)]
    const limited =
      openFiles === undefined ? command : ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh', ...command]
    const child = spawn(limited[0]!, limited.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] })
    const server = new Server(directory, child)
    await until(() => server.#listens() || !server.isRunning, 'the driver listens')
    if (!server.isRunning) throw new Error(`the driver ended at once: ${child.exitCode ?? child.signalCode}`)
    // A visitor that says hello and leaves has been forgotten when the next one is answered.
    await (await connectDriver(server.path)).closeAsync()
    await using visitor = await connectDriver(server.path)
    await settled(visitor)
    const holdings = server.holdings()
    // The visitor's channel and doorbell go with it.
    server.#idle = JSON.stringify({ ...holdings, descriptors: holdings.descriptors - 2 })
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

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** What the driver holds: its descriptors, and mappings of shared memory and of the tests' own files, with their bytes. */
  holdings(): { descriptors: number; mappings: number; mappedBytes: number } {
    const { pid } = this.child
    const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')
    const mapped = lines.filter((line) => /\/memfd:|\/tmp\/tenon-(?!.*\.so$)/.test(line))
    return {
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      mappings: mapped.length,
      mappedBytes: mapped.reduce((sum, line) => {
        const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) /.exec(line)!
        return sum + Number.parseInt(to!, 16) - Number.parseInt(from!, 16)
      }, 0),
    }
  }

  /** The memory that the driver really has, in bytes. */
  residentBytes(): number {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.child.pid}/status`, 'utf8'))![1]) * 1024
  }

  /** How many mappings the driver has of memory with a label. */
  mapped(label: string): number {
    const lines = readFileSync(`/proc/${this.child.pid}/maps`, 'utf8').split('\n')
    return lines.filter((line) => line.includes(`/memfd:${label} `)).length
  }

  /** Waits until it holds what it held before its first client. */
  async isIdle(): Promise<void> {
    await until(() => JSON.stringify(this.holdings()) === this.#idle, `the driver holds ${this.#idle}`)
  }

  async stop(): Promise<void> {
    if (this.isRunning) {
      this.child.kill('SIGKILL')
      await once(this.child, 'exit')
    }
    rmSync(this.#directory, { recursive: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
