import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { DriverChannel } from '../channel/driver-channel.ts'
import { PoolsError } from '../error-status.ts'
import { closeDescriptor } from '../native/descriptor.ts'
import { connectTo, socketPair } from '../native/socket.ts'
import { Driver } from './driver-client.ts'
import { RemoteBackend } from './remote-backend.ts'
import { DESCRIPTOR_VARIABLE } from './serve-driver.ts'

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

/**
 * Starts the reference CPU driver in a worker thread: executions don't block this thread's event loop.
 *
 * @example
 * const driver = await workerDriver()
 * await driver.close()
 */
export async function workerDriver(): Promise<Driver> {
  const [mine, theirs] = socketPair('messages')
  const worker = new Worker(driverProcess(), { workerData: { descriptor: theirs }, execArgv: [] })
  worker.unref()
  const exited = once(worker, 'exit')
  // A worker that fails closes its channel, which is how its client learns of it.
  worker.once('error', () => {})
  return introduce(mine, async () => {
    worker.ref()
    const timer = setTimeout(() => void worker.terminate(), END_TIMEOUT)
    await exited
    clearTimeout(timer)
  })
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

async function introduce(descriptor: number, end: () => Promise<void>): Promise<Driver> {
  const channel = new DriverChannel(descriptor)
  await channel.hello()
  return new Driver(new RemoteBackend(channel, end))
}

function driverProcess(): string {
  return createRequire(import.meta.url).resolve('@tenon/pools/driver-process')
}
