import { spawn, type ChildProcess } from 'node:child_process'
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
import { checkTimeout } from './check-options.ts'
import { Driver } from './driver-client.ts'
import { RemoteBackend } from './remote-backend.ts'
import { DESCRIPTOR_VARIABLE, type WorkerData } from './serve-driver.ts'

/** How long to wait for a driver. */
export interface StartOptions {
  /** In milliseconds, until the driver serves: then it fails with `MISSED_DEADLINE_TRANSIENT`. Any time without it. */
  readonly timeout?: number
}

/** How a driver's process is started. */
export interface SpawnOptions extends StartOptions {
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
  const { command = [process.execPath, driverProcess()], env = {}, timeout } = options
  checkTimeout(timeout, 'timeout')
  if (!Array.isArray(command) || command.length === 0 || !command.every(isText))
    throw new ArgumentError(`command must be a program and its arguments, as strings, got ${describe(command)}`)
  const [file, ...args] = command as [string, ...string[]]
  const [mine, theirs] = socketPair('messages')
  let child: ChildProcess
  try {
    child = spawn(file, args, {
      stdio: ['ignore', 'inherit', 'inherit', theirs],
      env: { ...process.env, ...env, [DESCRIPTOR_VARIABLE]: String(CHILD_DESCRIPTOR) },
    })
  } catch (error) {
    closeDescriptor(mine)
    throw cannotStart(file, error)
  } finally {
    closeDescriptor(theirs)
  }
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
    return await introduce(mine, end, timeout)
  } catch (error) {
    await end()
    throw failure === undefined ? error : cannotStart(file, failure)
  }
}

const isText = (value: unknown): boolean => typeof value === 'string'

function cannotStart(what: string | URL, cause: unknown): PoolsError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PoolsError('DEVICE_UNAVAILABLE', `the driver ${describe(String(what))} could not be started: ${reason}`, {
    cause,
  })
}

/** What a worker runs. */
export interface WorkerOptions extends StartOptions {
  /**
   * A script that calls `serveDriver()`; the reference CPU driver without it. As for a worker of Node.js: a URL, or a path that
   * is absolute or begins with `./` or `../`, from the working directory.
   */
  readonly script?: string | URL
}

/**
 * Starts a driver in a worker thread: executions don't block this thread's event loop.
 *
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if the script can't be started or fails, `DEAD_OBJECT` if it ends at once.
 * @example
 * const driver = await workerDriver()
 * await driver.close()
 */
export async function workerDriver(options: WorkerOptions = {}): Promise<Driver> {
  const { script = driverProcess(), timeout } = options
  checkTimeout(timeout, 'timeout')
  const isShared = sharesDescriptors()
  const [mine, theirs] = isShared ? socketPair('messages') : portPair()
  let worker: Worker
  try {
    worker = new Worker(script, {
      workerData: { tenonDriver: theirs } satisfies WorkerData,
      transferList: typeof theirs === 'number' ? [] : [theirs.port],
      execArgv: [],
    })
  } catch (error) {
    closeEnd(mine)
    closeEnd(theirs)
    throw cannotStart(script, error)
  }
  worker.unref()
  let failure: unknown
  worker.once('error', (error) => (failure = error))
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    worker.ref()
    const timer = setTimeout(() => void worker.terminate(), END_TIMEOUT)
    await exited
    clearTimeout(timer)
  }
  try {
    // A worker that serves closes its channel when it fails; one that doesn't yet, or runs out of memory, can't.
    return await introduce(mine, stop, timeout, exited)
  } catch (error) {
    await stop()
    throw failure === undefined ? error : cannotStart(script, failure)
  } finally {
    // The worker has one of its own.
    if (typeof theirs === 'number') closeDescriptor(theirs)
  }
}

function closeEnd(end: number | PortEnd): void {
  if (typeof end === 'number') closeDescriptor(end)
  else end.port.close()
}

/** Where a driver serves. */
export interface ConnectOptions extends StartOptions {
  /** What the driver gave `serveDriver`. */
  readonly path: string
}

/**
 * Connects to a driver that serves at a path.
 *
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if none does.
 * @example
 * const driver = await connectDriver({ path: '/run/user/1000/tenon.sock' })
 * await driver.close()
 */
export async function connectDriver(options: ConnectOptions): Promise<Driver> {
  const { path, timeout } = options
  if (typeof path !== 'string') throw new ArgumentError(`path must be that of a socket, got ${describe(path)}`)
  checkTimeout(timeout, 'timeout')
  return introduce(connectTo(path), async () => {}, timeout)
}

/** Takes one end of a channel over. */
async function introduce(
  end: number | PortEnd,
  stop: () => Promise<void>,
  timeout: number | undefined,
  ended?: Promise<void>,
): Promise<Driver> {
  const channel = typeof end === 'number' ? socketChannel(end) : portChannel(end)
  void ended?.then(() => channel.close())
  await channel.hello(timeout)
  return new Driver(new RemoteBackend(channel, stop))
}

function socketChannel(end: number): DriverChannel {
  const link = new Socket(end)
  try {
    return new DriverChannel(link, socketDoorbell)
  } catch (error) {
    link.close()
    throw error
  }
}

function portChannel(end: PortEnd): DriverChannel {
  const link = new PortLink(end)
  return new DriverChannel(link, (onRing) => link.listen(onRing))
}

function driverProcess(): string {
  return createRequire(import.meta.url).resolve('@tenon/pools/driver-process')
}
