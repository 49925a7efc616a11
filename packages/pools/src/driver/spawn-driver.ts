import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { DriverChannel } from '../channel/driver-channel.ts'
import { PoolsError } from '../error-status.ts'
import { closeDescriptor } from '../native/descriptor.ts'
import { socketDoorbell } from '../native/doorbell.ts'
import { sharesDescriptors } from '../native/platform.ts'
import { type PortEnd, PortLink, portPair } from '../native/port-link.ts'
import { connectTo, Socket, socketPair } from '../native/socket.ts'
import { Driver } from './driver-client.ts'
import { RemoteBackend } from './remote-backend.ts'
import { DESCRIPTOR_VARIABLE, type WorkerData } from './serve-driver.ts'

/** How a driver's process is started. */
export interface SpawnOptions {
  /** The program and its arguments; the reference CPU driver in Node.js without it. It calls `serveDriver()`. */
  readonly command?: readonly string[]
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** How long a driver may take to end by itself once its client is gone, in milliseconds. */
const END_TIMEOUT = 2000

/** The descriptor under which a child finds its channel. */
const CHILD_DESCRIPTOR = 3

/**
 * Starts a driver in a child process: if it crashes, requests fail with `DEAD_OBJECT` and this process lives on. Closing the
 * driver ends the process.
 *
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if the program can't be started, `DEAD_OBJECT` if it ends at once.
 * @example
 * const driver = await spawnDriver()
 * await driver.close()
 */
export async function spawnDriver(options: SpawnOptions = {}): Promise<Driver> {
  const { command = [process.execPath, driverProcess()], env = {} } = options
  const [file, ...args] = command
  if (file === undefined)
    throw new ArgumentError(`command must be a program and its arguments, got ${describe(command)}`)
  const [mine, theirs] = socketPair('messages')
  const child = spawn(file, args, {
    stdio: ['ignore', 'inherit', 'inherit', theirs],
    env: { ...process.env, ...env, [DESCRIPTOR_VARIABLE]: String(CHILD_DESCRIPTOR) },
  })
  closeDescriptor(theirs)
  let failure: unknown
  child.once('error', (error) => (failure = error))
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  child.unref()
  const end = async (): Promise<void> => {
    child.ref()
    const timer = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT)
    await exited
    clearTimeout(timer)
  }
  try {
    return await introduce(mine, end)
  } catch (error) {
    await end()
    if (failure === undefined) throw error
    throw new PoolsError(
      'DEVICE_UNAVAILABLE',
      `the driver ${describe(file)} could not be started: ${(failure as Error).message}`,
      { cause: failure },
    )
  }
}

/** What a worker runs. */
export interface WorkerOptions {
  /** A script that calls `serveDriver()`; the reference CPU driver without it. */
  readonly script?: string | URL
}

/**
 * Starts a driver in a worker thread: executions don't block this thread's event loop.
 *
 * @throws {PoolsError} `DEAD_OBJECT` if the script ends at once.
 * @example
 * const driver = await workerDriver()
 * await driver.close()
 */
export async function workerDriver(options: WorkerOptions = {}): Promise<Driver> {
  const { script = driverProcess() } = options
  const isShared = sharesDescriptors()
  const [mine, theirs] = isShared ? socketPair('messages') : portPair()
  const worker = new Worker(script, {
    workerData: { tenonDriver: theirs } satisfies WorkerData,
    transferList: typeof theirs === 'number' ? [] : [theirs.port],
    execArgv: [],
  })
  worker.unref()
  const exited = once(worker, 'exit')
  // A worker that fails closes its channel, which is how its client learns of it.
  worker.once('error', () => {})
  const stop = async (): Promise<void> => {
    worker.ref()
    const timer = setTimeout(() => void worker.terminate(), END_TIMEOUT)
    await exited
    clearTimeout(timer)
  }
  // One that runs out of memory can't.
  return introduce(mine, stop, exited)
}

/**
 * Connects to a driver that serves at a path.
 *
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if none does.
 * @example
 * const driver = await connectDriver({ path: '/run/user/1000/tenon.sock' })
 * await driver.close()
 */
export async function connectDriver(options: { readonly path: string }): Promise<Driver> {
  return introduce(connectTo(options.path), async () => {})
}

/** Takes one end of a channel over. */
async function introduce(end: number | PortEnd, stop: () => Promise<void>, ended?: Promise<unknown>): Promise<Driver> {
  const channel = typeof end === 'number' ? new DriverChannel(new Socket(end), socketDoorbell) : portChannel(end)
  void ended?.then(() => channel.close())
  await channel.hello()
  return new Driver(new RemoteBackend(channel, stop))
}

function portChannel(end: PortEnd): DriverChannel {
  const link = new PortLink(end)
  return new DriverChannel(link, (onRing) => link.listen(onRing))
}

function driverProcess(): string {
  return createRequire(import.meta.url).resolve('@tenon/pools/driver-process')
}
