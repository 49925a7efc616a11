import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { ArgumentError } from '@tenon/core'
import { checkName, checkOptions, describe } from '@tenon/core/internal'
import { DriverChannel } from '../channel/driver-channel.ts'
import { PoolsError } from '../error-status.ts'
import { closeDescriptor } from '../native/descriptor.ts'
import { socketDoorbell } from '../native/doorbell.ts'
import { sharesDescriptors } from '../native/platform.ts'
import { type PortEnd, PortLink, portPair } from '../native/port-link.ts'
import { connectTo, Socket, socketPair } from '../native/socket.ts'
import { checkMilliseconds } from './request-options.ts'
import { Driver } from './driver-client.ts'
import { RemoteBackend } from './remote-backend.ts'
import { DESCRIPTOR_VARIABLE, type WorkerData } from './serve-driver.ts'

/** The options of starting a driver, or connecting to one. */
export interface StartOptions {
  /** The time until the driver serves, in milliseconds: afterwards the start fails with `MISSED_DEADLINE_TRANSIENT`. */
  readonly deadline?: number
}

/** The options of {@link spawnDriver}. */
export interface SpawnOptions extends StartOptions {
  /** A program that calls `serveDriver()`, and its arguments. The default is the reference CPU driver in Node.js. */
  readonly command?: readonly string[]
  /** Variables that the driver has besides the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** The time for a driver to end by itself once its client is gone, in milliseconds. */
const END_TIMEOUT = 2000

/** The descriptor under which a child finds its channel. */
const CHILD_DESCRIPTOR = 3

/**
 * Starts a driver in a child process. If the driver crashes, requests fail with `DEAD_OBJECT`, and this process continues.
 * Closing the driver ends the child process.
 *
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if the program cannot be started, `DEAD_OBJECT` if it ends at once.
 * @example
 * const driver = await spawnDriver()
 * await driver.closeAsync()
 */
export async function spawnDriver(options?: SpawnOptions): Promise<Driver> {
  const known = checkOptions(options, ['command', 'env', 'deadline'])
  const { command = [process.execPath, driverProcess()], env = {}, deadline } = known
  checkMilliseconds(deadline, 'deadline')
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
    return await introduce(mine, end, deadline)
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

/** The options of {@link workerDriver}. */
export interface WorkerOptions extends StartOptions {
  /**
   * A script that calls `serveDriver()`, by default the reference CPU driver. As for a worker of Node.js, a URL, or a path that
   * is absolute or begins with `./` or `../`, relative to the working directory.
   */
  readonly script?: string | URL
}

/**
 * Starts a driver in a worker thread, where executions do not block the event loop of this thread.
 *
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if the script cannot be started or fails, `DEAD_OBJECT` if it ends at once.
 * @example
 * const driver = await workerDriver()
 * await driver.closeAsync()
 */
export async function workerDriver(options?: WorkerOptions): Promise<Driver> {
  const { script = driverProcess(), deadline } = checkOptions(options, ['script', 'deadline'])
  checkMilliseconds(deadline, 'deadline')
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
    // A worker that fails before it serves, or runs out of memory, cannot close its channel.
    return await introduce(mine, stop, deadline, exited)
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

/**
 * Connects to a driver that serves at a path.
 *
 * @param path the path that the driver passed to `serveDriver`.
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if no driver serves there.
 * @example
 * const driver = await connectDriver('/run/user/1000/tenon.sock')
 * await driver.closeAsync()
 */
export async function connectDriver(path: string, options?: StartOptions): Promise<Driver> {
  checkName(path, 'path')
  const { deadline } = checkOptions(options, ['deadline'])
  checkMilliseconds(deadline, 'deadline')
  return introduce(connectTo(path), async () => {}, deadline)
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
