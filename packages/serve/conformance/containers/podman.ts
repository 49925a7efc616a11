import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The output of a command of podman, and its exit code. */
interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The state of a container, as `podman inspect` has it. */
export interface ContainerState {
  readonly Status: string
  readonly ExitCode: number
  readonly Pid: number
  readonly OOMKilled: boolean
}

/** podman with images and containers of its own, which are in one folder. */
export class Podman {
  readonly #folder: string
  readonly #configuration: string

  /** @param folder for images and containers. */
  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
    this.#configuration = join(folder, 'containers.conf')
    // At most the limits of this process: a container cannot have more descriptors than its parent.
    writeFileSync(
      this.#configuration,
      '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nevents_logger = "file"\n',
    )
  }

  /** Why containers cannot run on this machine; undefined if they can. @param image any image with a shell. */
  async problem(image: string): Promise<string | undefined> {
    const limits = ['--network=host', '--memory=64m', '--read-only', '--user=1000', '--cap-drop=ALL']
    const { code, stderr } = await this.#run(['run', '--rm', ...limits, image, 'true'])
    return code === 0 ? undefined : stderr.trim()
  }

  /** Runs a command. @returns what it wrote. @throws {Error} if it fails. */
  async run(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#run(args)
    if (code !== 0) throw new Error(`podman ${args.slice(0, 3).join(' ')} ended with ${code}: ${stderr.trim()}`)
    return stdout.trim()
  }

  async state(container: string): Promise<ContainerState> {
    return JSON.parse(await this.run('inspect', '--format', '{{json .State}}', container)) as ContainerState
  }

  /** Removes all containers, pods, volumes and images. */
  async clear(): Promise<void> {
    await this.run('pod', 'rm', '--all', '--force', '--time=0')
    await this.run('rm', '--all', '--force', '--time=0')
    await this.run('volume', 'rm', '--all', '--force')
    await this.run('rmi', '--all', '--force')
  }

  async #run(args: readonly string[]): Promise<Ended> {
    const own = [
      `--root=${join(this.#folder, 'storage')}`,
      `--runroot=${join(this.#folder, 'run')}`,
      // crun of Debian 12 does not work where both versions of control groups are mounted.
      '--runtime=runc',
      '--cgroup-manager=cgroupfs',
    ]
    const child = spawn('podman', [...own, ...args], {
      // conmon leaves a file where it was started, when a container has no memory left.
      cwd: this.#folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, CONTAINERS_CONF: this.#configuration },
    })
    const [stdout, stderr, code] = await Promise.all([
      child.stdout.setEncoding('utf8').toArray(),
      child.stderr.setEncoding('utf8').toArray(),
      new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve)),
    ])
    return { code, stdout: stdout.join(''), stderr: stderr.join('') }
  }
}

/** The programs that the command needs, and the packages of Debian that have them. */
const PROGRAMS: Readonly<Record<string, string>> = {
  podman: 'podman',
  runc: 'runc',
  mmdebstrap: 'mmdebstrap',
  haproxy: 'haproxy',
  // The first process of a pod.
  catatonit: 'catatonit',
}

/** The packages of Debian whose programs this machine does not have. */
export const missingPackages = (): string[] =>
  Object.entries(PROGRAMS).flatMap(([program, name]) =>
    spawnSync('sh', ['-c', `command -v ${program}`]).status === 0 ? [] : [name],
  )

/** Installs packages of Debian. @throws {Error} if apt-get fails. */
export function installPackages(names: readonly string[]): void {
  const { status } = spawnSync('apt-get', ['install', '--yes', '--no-install-recommends', ...names], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error(`apt-get install ${names.join(' ')} ended with ${status}; it needs root`)
}
