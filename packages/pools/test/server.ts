import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeDescriptor } from '../src/native/descriptor.ts'
import { connectTo } from '../src/native/socket.ts'
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

  static async start(limits: Partial<DriverLimits> = {}): Promise<Server> {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-server-'))
    const script = join(import.meta.dirname, 'fixtures/server.js')
    const child = spawn(process.execPath, [script, join(directory, 'socket'), JSON.stringify(limits)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const server = new Server(directory, child)
    await until(() => server.#listens(), 'the driver listens')
    // A visitor that says hello and leaves has been forgotten when the next one is answered.
    await (await connectDriver({ path: server.path })).close()
    await using visitor = await connectDriver({ path: server.path })
    await settled(visitor)
    const { descriptors, mappings } = server.holdings()
    // The visitor's channel and doorbell go with it.
    server.#idle = JSON.stringify({ descriptors: descriptors - 2, mappings })
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

  /** What the driver holds: its descriptors, and mappings of shared memory and of the tests' own files. */
  holdings(): { descriptors: number; mappings: number } {
    const { pid } = this.child
    const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')
    return {
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      mappings: lines.filter((line) => /\/memfd:|\/tmp\/tenon-(?!.*\.so$)/.test(line)).length,
    }
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
