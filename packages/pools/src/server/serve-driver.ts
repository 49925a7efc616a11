import { existsSync, lstatSync, unlinkSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'
import { ArgumentError } from '@tenon/core'
import { checkOptions } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { ClientSession } from './client-session.ts'
import { limitsOf, type DriverLimits } from '../nnapi/engine/limits.ts'
import { cpuKernels } from '../nnapi/kernels/cpu-kernels.ts'
import type { KernelRegistry } from '../nnapi/kernels/kernel.ts'
import { closeDescriptor, duplicateDescriptor } from '../memory/descriptor.ts'
import { PeerGone, type Link } from '../link/link.ts'
import { PortLink, type PortEnd } from '../link/port-link.ts'
import { acceptFrom, connectTo, listenAt, peerUser, pollSockets, Socket } from '../link/socket.ts'
import type { DriverOptions } from '../nnapi/driver/local-backend.ts'

/** The options of {@link serveDriver}. */
export interface ServeOptions extends DriverOptions {
  /** The path of a socket at which clients connect. Only processes of the same user are accepted. */
  readonly path?: string
}

/**
 * Serves as a driver until its client disconnects, or for ever at a path. It blocks the thread, because a driver has a process
 * or a worker of its own. Without a path it serves the process or thread that started it: end a script with this call, and
 * start it with `spawnDriver({ command: [process.execPath, 'driver.js'] })` or `workerDriver({ script: './driver.js' })`.
 *
 * @throws {PoolsError} if the driver cannot listen at the path.
 * @example
 * serveDriver({ kernels: new Map([...cpuKernels, ['NEGATE', negate]]) })
 */
export function serveDriver(options?: ServeOptions): void {
  const { kernels = cpuKernels, path, ...given } = checkOptions(options, ['kernels', 'limits', 'path'])
  const limits = limitsOf(given.limits)
  if (path !== undefined) return serveAt(path, kernels, limits)
  const session = new ClientSession(linkOf(isMainThread ? inheritedDescriptor() : workerChannel()), kernels, limits)
  // The client is disconnected however the thread ends.
  process.once('exit', () => session.close())
  while (step(session, -1));
}

/** Takes over one end of a channel: a socket, or a port between threads. */
export const linkOf = (end: number | PortEnd): Link => (typeof end === 'number' ? new Socket(end) : new PortLink(end))

export const DESCRIPTOR_VARIABLE = 'TENON_DRIVER_DESCRIPTOR'

export interface WorkerData {
  readonly tenonDriver: number | PortEnd
}

function workerChannel(): number | PortEnd {
  const channel = (workerData as Partial<WorkerData> | undefined)?.tenonDriver
  // The thread that started this one keeps its descriptor, and closes it.
  if (channel !== undefined) return typeof channel === 'number' ? duplicateDescriptor(channel) : channel
  throw new ArgumentError('a driver in a worker must be started by workerDriver, or have a path')
}

function inheritedDescriptor(): number {
  const value = Number(process.env[DESCRIPTOR_VARIABLE])
  if (Number.isInteger(value) && value > 2) return value
  throw new ArgumentError(`a driver must be started by spawnDriver, or have a path: ${DESCRIPTOR_VARIABLE} is not set`)
}

/** The most clients at once. Each costs two descriptors. */
const CLIENTS = 128

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

/** Serves one message of a client. @returns false if the client has disconnected and its resources are released. */
function step(session: ClientSession, timeout: number): boolean {
  try {
    session.step(timeout)
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
    const descriptors = sessions.flatMap((session) => session.descriptors)
    // Further clients wait in the queue of the system.
    if (sessions.length < CLIENTS) descriptors.push(listener)
    const deadline = Math.min(...sessions.map((session) => session.deadline))
    const timeout = deadline === Infinity ? -1 : Math.max(deadline - performance.now(), 0)
    const ready = new Set(pollSockets(descriptors, timeout))
    const time = performance.now()
    const hasWork = (session: ClientSession): boolean =>
      session.deadline <= time || session.descriptors.some((descriptor) => ready.has(descriptor))
    sessions = sessions.filter((session) => !hasWork(session) || step(session, 0))
    if (!ready.has(listener)) continue
    const descriptor = acceptFrom(listener)
    if (descriptor === undefined) continue
    if (peerUser(descriptor) === process.getuid!())
      sessions.push(new ClientSession(new Socket(descriptor), kernels, limits))
    else closeDescriptor(descriptor)
  }
}
