import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../load.ts'
import type { Backend } from '../proxy.ts'
import { IMAGE } from './image.ts'
import type { ContainerState, Podman } from './podman.ts'

/** The limits of a container: those of deploy/, and memory for a small server. */
const LIMITS = [
  '--network=host',
  '--read-only',
  '--tmpfs=/tmp',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--memory=400m',
  // They need systemd, and the checks ask themselves.
  '--no-healthcheck',
]

/** A server in a container, which can be replaced by another one. */
export class Replica implements Backend {
  readonly httpPort: number
  readonly grpcPort: number
  readonly #podman: Podman
  readonly #models: string
  #container = ''

  private constructor(podman: Podman, models: string, httpPort: number, grpcPort: number) {
    this.#podman = podman
    this.#models = models
    this.httpPort = httpPort
    this.grpcPort = grpcPort
  }

  /** Starts a container, and waits until it is ready. @param models the folder of the models. */
  static async start(podman: Podman, models: string): Promise<Replica> {
    const replica = new Replica(podman, models, await freePort(), await freePort())
    await replica.#start()
    return replica
  }

  get url(): string {
    return `http://127.0.0.1:${this.httpPort}`
  }

  state(): Promise<ContainerState> {
    return this.#podman.state(this.#container)
  }

  async terminate(): Promise<void> {
    await this.#podman.run('kill', '--signal=TERM', this.#container)
  }

  /** Waits for the end of the container. @returns its exit code. */
  async ended(): Promise<number> {
    return Number(await this.#podman.run('wait', this.#container))
  }

  /** Ends the container by SIGTERM, and starts another one. @returns the exit code of the first. */
  async replace(): Promise<number> {
    await this.terminate()
    const code = await this.ended()
    await this.#podman.run('rm', this.#container)
    await this.#start()
    return code
  }

  async stop(): Promise<void> {
    await this.#podman.run('rm', '--force', '--time=0', this.#container)
  }

  async #start(): Promise<void> {
    const ports = [`--http-port=${this.httpPort}`, `--grpc-port=${this.grpcPort}`]
    // As in deploy/, but for this machine only.
    const server = ['serve', '/mnt/models', '--host=127.0.0.1', ...ports, '--drain-delay=5s']
    const mount = `--volume=${this.#models}:/mnt/models:ro`
    this.#container = await this.#podman.run('run', '--detach', ...LIMITS, mount, IMAGE, ...server)
    while (!(await isReady(this.url))) {
      if ((await this.state()).Status === 'exited') {
        throw new Error(`the server ended: ${await this.#podman.run('logs', this.#container)}`)
      }
      await sleep(50)
    }
  }
}

/** Whether a server says that it is ready. */
export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/v2/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
