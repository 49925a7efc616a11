import { existsSync, lstatSync, unlinkSync } from 'node:fs'
import { ArgumentError } from '@tenon/core'
import { PoolsError } from '../error-status.ts'
import { ClientSession } from '../channel/client-session.ts'
import { DEFAULT_LIMITS, type DriverLimits } from '../engine/limits.ts'
import { cpuKernels } from '../kernels/cpu-kernels.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import { closeDescriptor } from '../native/descriptor.ts'
import { acceptFrom, connectTo, listenAt, PeerGone, peerUser, pollSockets } from '../native/socket.ts'
import type { DriverOptions } from './local-driver.ts'

/** Where a driver finds its clients. */
export interface ServeOptions extends DriverOptions {
  /** The descriptor of the one client's channel: what `spawnDriver` gives its child. Closed at the end. */
  readonly descriptor?: number
  /** A path of the file system at which clients connect. Only processes of the same user are let in. */
  readonly path?: string
}

/**
 * Serves as a driver until its client is gone, or for ever at a path. Blocks the thread: a driver has a process or a worker to
 * itself. Without options it serves the process that spawned it: a script that ends with this call is what
 * `spawnDriver({ command: [process.execPath, 'driver.js'] })` starts.
 *
 * @throws {PoolsError} if the path can't be listened at.
 * @example
 * serveDriver({ kernels: new Map([...cpuKernels, ['NEGATE', negate]]) })
 */
export function serveDriver(options: ServeOptions = {}): void {
  const { kernels = cpuKernels, path } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  if (path !== undefined) return serveAt(path, kernels, limits)
  const session = new ClientSession(options.descriptor ?? inheritedDescriptor(), kernels, limits)
  while (step(session));
}

/** The environment variable in which `spawnDriver` names the channel. */
export const DESCRIPTOR_VARIABLE = 'TENON_DRIVER_DESCRIPTOR'

function inheritedDescriptor(): number {
  const value = Number(process.env[DESCRIPTOR_VARIABLE])
  if (Number.isInteger(value) && value > 2) return value
  throw new ArgumentError(
    `a driver must be started by spawnDriver, or be given a descriptor or a path; ${DESCRIPTOR_VARIABLE} is not set`,
  )
}

/** The most clients at once. Each costs two descriptors. */
const CLIENTS = 128

/** Removes a socket that nobody listens at any more: of a driver that was killed. */
function removeStale(path: string): void {
  if (!existsSync(path)) return
  let probe: number
  try {
    probe = connectTo(path)
  } catch {
    if (lstatSync(path).isSocket()) unlinkSync(path)
    return
  }
  closeDescriptor(probe)
  throw new PoolsError('DEVICE_UNAVAILABLE', `another driver serves at ${path}`)
}

/** Lets a client have its turn; false if it is gone, and all that was its has been given back. */
function step(session: ClientSession): boolean {
  try {
    session.step()
    return true
  } catch (error) {
    session.close()
    if (error instanceof PeerGone || error instanceof PoolsError) return false
    throw error
  }
}

function serveAt(path: string, kernels: KernelRegistry, limits: DriverLimits): void {
  removeStale(path)
  const listener = listenAt(path)
  process.once('exit', () => unlinkSync(path))
  let sessions: ClientSession[] = []
  for (;;) {
    // When all places are taken, clients wait in the queue of the system.
    const listeners = sessions.length < CLIENTS ? [listener] : []
    const ready = pollSockets([...sessions.map(({ socket }) => socket.descriptor), ...listeners], -1)
    const isAsked = ready[sessions.length] === true
    sessions = sessions.filter((session, i) => ready[i] !== true || step(session))
    if (!isAsked) continue
    const descriptor = acceptFrom(listener)
    if (descriptor === undefined) continue
    if (peerUser(descriptor) === process.getuid!()) sessions.push(new ClientSession(descriptor, kernels, limits))
    else closeDescriptor(descriptor)
  }
}
