import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** The ports of a server. */
export interface Ports {
  readonly http: number
  readonly grpc: number
  /** Those of a second server, if there is one. */
  readonly secured?: SecuredPorts
}

/** The ports of a server with encryption and tokens. */
export interface SecuredPorts {
  readonly https: number
  readonly grpcs: number
  readonly monitoring: number
}

/** The resources that a server reports. Memory is in bytes. */
export interface Usage {
  readonly arrayBuffers: number
  readonly heapUsed: number
  /** The inputs and outputs of kernels. */
  readonly requests: number
  /** The processes that run kernels now, of those whose crashes are not counted. */
  readonly workers: readonly number[]
  /** The errors that were answered with 500. */
  readonly failures: readonly string[]
}

/** The resources that a server holds. */
export interface Holdings extends Usage {
  readonly descriptors: number
  readonly children: number
  readonly memoryFiles: number
  /** The number of descriptors of each kind, for messages: `15 pipe, 2 socket 08`. */
  readonly kinds: string
}

/** The server of `server.ts`, in a process of its own. */
export class ServerProcess implements Disposable {
  readonly #child: ChildProcess
  readonly ports: Ports

  private constructor(child: ChildProcess, ports: Ports) {
    this.#child = child
    this.ports = ports
  }

  /**
   * @param requestTimeout the time in milliseconds in which a request must arrive. @param secured the options of a second server with encryption
   * and tokens, as JSON.
   */
  static async start(
    repository: string,
    prefix: string,
    requestTimeout: number,
    secured: string = '',
  ): Promise<ServerProcess> {
    const args = [repository, prefix, String(requestTimeout), secured]
    const child = fork(join(import.meta.dirname, 'server.ts'), args, {
      execArgv: ['--conditions=@tenon/source', '--no-warnings', '--expose-gc'],
    })
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)))
    ended.catch(() => {})
    const [ports] = (await Promise.race([once(child, 'message'), ended])) as [Ports]
    return new ServerProcess(child, ports)
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Whether the process has not ended. */
  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The processes that the server has started. */
  children(): number[] {
    return readdirSync(`/proc/${this.pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${this.pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  }

  async usage(): Promise<Usage> {
    this.#child.send('usage')
    const [used] = (await once(this.#child, 'message')) as [Usage]
    return used
  }

  /** Returns the resources that the server holds after its garbage was collected. */
  async holdings(): Promise<Holdings> {
    const used = await this.usage()
    const descriptors = readdirSync(`/proc/${this.pid}/fd`)
    const links = descriptors.map((descriptor) => linkOf(`/proc/${this.pid}/fd/${descriptor}`))
    return {
      ...used,
      descriptors: descriptors.length,
      children: this.children().length,
      memoryFiles: links.filter((link) => link.startsWith('/memfd:') || link.startsWith('/dev/shm/')).length,
      kinds: kindsOf(links),
    }
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL')
  }
}

/** A descriptor may be closed between the list and the look at it. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** Counts descriptors of each kind. Sockets have the state of their connection, as in `tcp_states.h`: 1 established, 8 waiting for our end. */
function kindsOf(links: readonly string[]): string {
  const states = new Map(
    readFileSync('/proc/self/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .map(([, , , state, , , , , , inode]) => [inode, state] as const),
  )
  const counts = new Map<string, number>()
  for (const link of links) {
    const [, inode = ''] = /^socket:\[(\d+)\]$/.exec(link) ?? []
    const kind = inode === '' ? link.replace(/:\[\d+\]$/, '') : `socket ${states.get(inode) ?? 'of another kind'}`
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ')
}
