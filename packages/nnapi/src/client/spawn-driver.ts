import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { ArgumentError, UnsupportedError } from '@tenon/core'
import { checkName, checkOptions, describe, runtime } from '@tenon/core/internal'
import type { Connection } from './connection.ts'
import { openConnection } from './open-connection.ts'
import { PoolsError } from '@tenon/pools'
import { closeDescriptor, connectTo, socketPair, platform } from '@tenon/pools/internal'
import { createCommandMemory, joinDriver } from '../link/command-link.ts'
import type { Link } from '../link/link.ts'
import { portPair } from '../link/port-link.ts'
import { Socket } from '../link/socket.ts'
import { checkMilliseconds } from '../driver/request-options.ts'
import { Driver } from '../driver/driver-client.ts'
import { ReconnectingBackend } from './reconnecting-backend.ts'
import { RemoteBackend } from './remote-backend.ts'
import { DESCRIPTOR_VARIABLE, linkOf, type WorkerData } from '../server/serve-driver.ts'

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

/** The time for a driver to end by itself once its client has disconnected, in milliseconds. */
const END_TIMEOUT = 2000

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
  checkRuntime()
  if (!Array.isArray(command) || command.length === 0 || !command.every((part) => typeof part === 'string'))
    throw new ArgumentError(`command must be a program and its arguments, as strings, got ${describe(command)}`)
  const [file, ...args] = command as [string, ...string[]]
  const memory = createCommandMemory()
  try {
    const { child, link } = startProcess(file, args, env, memory)
    return await introduceStarted(link, child, () => child.kill('SIGKILL'), deadline, file)
  } finally {
    if (memory !== undefined) closeDescriptor(memory)
  }
}

/** Starts the process of a driver with the other end of a channel, and with command memory, which the caller keeps. */
function startProcess(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  memory: number | undefined,
): { child: ChildProcess; link: Socket } {
  const [mine, theirs] = socketPair('messages')
  try {
    const child = spawn(file, args, {
      stdio: ['ignore', 'inherit', 'inherit', theirs, 'ignore', memory ?? 'ignore'],
      env: { ...process.env, ...env, [DESCRIPTOR_VARIABLE]: String(CHILD_DESCRIPTOR) },
    })
    return { child, link: joinDriver(mine, memory, child.pid) }
  } catch (error) {
    closeDescriptor(mine)
    throw cannotStart(file, error)
  } finally {
    closeDescriptor(theirs)
  }
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
  const [mine, theirs] = platform.sharesDescriptors() ? socketPair('messages') : portPair()
  let worker: Worker
  try {
    worker = new Worker(script, {
      workerData: { tenonDriver: theirs } satisfies WorkerData,
      transferList: typeof theirs === 'number' ? [] : [theirs.port],
      execArgv: [],
    })
  } catch (error) {
    for (const end of [mine, theirs]) linkOf(end).close()
    throw cannotStart(script, error)
  }
  try {
    return await introduceStarted(linkOf(mine), worker, () => void worker.terminate(), deadline, script)
  } finally {
    // The worker has a descriptor of its own.
    if (typeof theirs === 'number') closeDescriptor(theirs)
  }
}

/** The options of {@link connectDriver}. */
export interface ConnectOptions extends StartOptions {
  /**
   * Whether to connect again when the driver ends, for example because the kernel of another client crashed. Requests in flight
   * fail with `DEAD_OBJECT`, and so does `run()` until the event loop has connected. Requests whose answer is awaited wait up to
   * 10 s. Models are prepared again. Device buffers are lost. The default is false.
   */
  readonly reconnect?: boolean
}

/**
 * Connects to a driver that serves at a path.
 *
 * @param path the path that the driver passed to `serveDriver`.
 * @throws {PoolsError} `DEVICE_UNAVAILABLE` if no driver serves there, `RESOURCE_EXHAUSTED_TRANSIENT` if it has too many clients.
 * @example
 * const driver = await connectDriver('/run/user/1000/tenon.sock')
 * await driver.closeAsync()
 */
export async function connectDriver(path: string, options?: ConnectOptions): Promise<Driver> {
  checkName(path, 'path')
  const { deadline, reconnect = false } = checkOptions(options, ['deadline', 'reconnect'])
  checkMilliseconds(deadline, 'deadline')
  checkRuntime()
  if (typeof reconnect !== 'boolean') throw new ArgumentError(`reconnect must be a boolean, got ${describe(reconnect)}`)
  const connect = (limit: number | undefined): Promise<RemoteBackend> =>
    introduce(openConnection(new Socket(connectTo(path)), reconnect), async () => {}, limit)
  const first = await connect(deadline)
  return new Driver(reconnect ? new ReconnectingBackend(first, connect) : first)
}

/** Takes over one end of a channel to a process or worker that was started, and which ends with the driver. */
async function introduceStarted(
  link: Link,
  started: ChildProcess | Worker,
  kill: () => void,
  deadline: number | undefined,
  what: string | URL,
): Promise<Driver> {
  let failure: unknown
  const exited = new Promise<void>((resolve) => {
    started.once('exit', () => resolve())
    started.once('error', (error: unknown) => {
      failure = error
      // A process that could not be started does not exit.
      if (!(started instanceof Worker)) resolve()
    })
  })
  started.unref()
  const stop = async (): Promise<void> => {
    started.ref()
    const timer = setTimeout(kill, END_TIMEOUT)
    await exited
    clearTimeout(timer)
  }
  try {
    const connection = openConnection(link, false)
    // A worker that fails before it serves, or runs out of memory, cannot close its channel.
    if (started instanceof Worker) void exited.then(() => connection.close())
    return new Driver(await introduce(connection, stop, deadline))
  } catch (error) {
    await stop()
    throw failure === undefined ? error : cannotStart(what, failure)
  }
}

async function introduce(connection: Connection, stop: () => Promise<void>, deadline?: number): Promise<RemoteBackend> {
  await connection.hello(deadline)
  return new RemoteBackend(connection, stop)
}

function cannotStart(what: string | URL, cause: unknown): PoolsError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const sentence = `the driver ${describe(String(what))} could not be started: ${reason}`
  return new PoolsError('DEVICE_UNAVAILABLE', sentence, { cause })
}

function driverProcess(): string {
  return createRequire(import.meta.url).resolve('@tenon/nnapi/driver-process')
}

/** Answers of another process ring a stream over a descriptor. */
function checkRuntime(): void {
  if (runtime.readsDescriptors) return
  throw new UnsupportedError(`${runtime.name} cannot connect to a driver in another process`, {
    hint: 'Use localDriver() or workerDriver(), or run the program in Node.js.',
  })
}
