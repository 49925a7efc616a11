import { existsSync, lstatSync, unlinkSync, writeFileSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'
import { ArgumentError } from '@tenon/core'
import { checkOptions, checkSize, libraryFunctions } from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'
import { type Link, PeerGone } from '../link/link.ts'
import { PollSet } from '../link/poll-set.ts'
import { DriverLink } from '../link/command-link.ts'
import { PortLink, type PortEnd } from '../link/port-link.ts'
import { connectTo, listenAt, closeDescriptor, duplicateDescriptor, openMapping } from '@tenon/pools/internal'
import { exitWithPeer, ring, Socket } from '../link/socket.ts'
import { checkPlacing, type DriverOptions } from '../driver/local-backend.ts'
import { limitsOf } from '../engine/limits.ts'
import { cpuKernels } from '../kernels/cpu-kernels.ts'
import { Budget, unlimitedBudget } from './budget.ts'
import type { ClientParts } from './client.ts'
import { Executor } from './executor.ts'
import { EXECUTOR_VARIABLE, INHERITED } from './executor-process.ts'
import { Front } from './front.ts'
import { type DriverTotals, totalsOf } from './totals.ts'
import { EXECUTORS, TurnWords, WORDS_SIZE } from './turn-words.ts'

/** The options of {@link serveDriver}. */
export interface ServeOptions extends DriverOptions {
  /** The path of a socket at which clients connect. Only processes of the same user are accepted. */
  readonly path?: string
  /** The number of processes that run the requests of the clients at a path, from 1 to 64; by default 2. */
  readonly executors?: number
  /** The most that all clients at a path may use together. Totals that are left out have their defaults. */
  readonly totals?: Partial<DriverTotals>
}

/**
 * Serves as a driver until its client disconnects, or for ever at a path. End a script with this call.
 *
 * Without a path it serves the process or thread that started it, and blocks the thread. Start the script with
 * `spawnDriver({ command: [process.execPath, 'driver.js'] })` or `workerDriver({ script: './driver.js' })`.
 *
 * At a path it serves many clients. This process only accepts them. It starts the same script again for each executor, in which
 * this call runs the kernels and does not return. An executor whose kernel crashes, or does not end at its deadline, is replaced.
 *
 * @throws {PoolsError} if the driver cannot listen at the path.
 * @throws {ArgumentError} without a path in a program that no driver was started with; with a path in a worker.
 * @example
 * serveDriver({ kernels: new Map([...cpuKernels, ['NEGATE', negate]]) })
 */
export function serveDriver(options?: ServeOptions): void {
  const known = checkOptions(options, ['kernels', 'allocate', 'limits', 'path', 'executors', 'totals'])
  const { kernels = cpuKernels, allocate, path, executors = 2 } = known
  const author = { kernels, allocate: checkPlacing(allocate), limits: limitsOf(known.limits) }
  if (path === undefined) {
    if (known.executors !== undefined || known.totals !== undefined)
      throw new ArgumentError('executors and totals need a path', { hint: 'Without a path there is one client.' })
    return serveStarter(author)
  }
  if (!isMainThread) throw new ArgumentError('a driver at a path must be served by the main thread, got a worker')
  if (checkSize(executors, 'executors', 'executors') < 1 || executors > EXECUTORS)
    throw new ArgumentError(`executors must be from 1 to ${EXECUTORS}, got ${executors}`)
  const totals = totalsOf(known.totals)
  const identity = process.env[EXECUTOR_VARIABLE]
  if (identity === undefined) return serveAt(path, executors, totals)
  const [own, index, count] = JSON.parse(identity) as [string, number, number]
  // A program may serve at several paths. Each executor is for one of them.
  if (own !== path) return
  delete process.env[EXECUTOR_VARIABLE]
  execute(index, count, author, totals)
}

type Author = Omit<ClientParts, 'budget'>

/** Takes over one end of a channel: a socket, or a port between threads. */
export const linkOf = (end: number | PortEnd): Link => (typeof end === 'number' ? new Socket(end) : new PortLink(end))

export const DESCRIPTOR_VARIABLE = 'TENON_DRIVER_DESCRIPTOR'

export interface WorkerData {
  readonly tenonDriver: number | PortEnd
}

/** Serves the process or thread that started this one. */
function serveStarter(author: Author): void {
  if (isMainThread) letSystemEndFirst()
  const end = isMainThread ? inheritedDescriptor() : workerChannel()
  const words = new TurnWords(new ArrayBuffer(WORDS_SIZE), 0)
  // Nobody watches: the starter ends its driver itself.
  words.isWatched = true
  const parts = { ...author, words, budget: unlimitedBudget(), requests: Infinity, wake: () => {} }
  const executor = new Executor(parts, typeof end === 'number' ? new PollSet() : undefined)
  // The client is disconnected however the thread ends.
  process.once('exit', () => executor.close())
  executor.serveOne(isMainThread ? new DriverLink(end as number) : linkOf(end))
}

/** Makes the system end this process before its client or its front when memory is short, as workers of isolation do. */
function letSystemEndFirst(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // Without /proc, the system chooses by size.
  }
}

function workerChannel(): number | PortEnd {
  const channel = (workerData as Partial<WorkerData> | undefined)?.tenonDriver
  // The thread that started this one keeps its descriptor, and closes it.
  if (channel !== undefined) return typeof channel === 'number' ? duplicateDescriptor(channel) : channel
  throw new ArgumentError('a driver in a worker must be started by workerDriver')
}

function inheritedDescriptor(): number {
  const value = Number(process.env[DESCRIPTOR_VARIABLE])
  if (Number.isInteger(value) && value > 2) return value
  throw new ArgumentError(`a driver must be started by spawnDriver, or have a path: ${DESCRIPTOR_VARIABLE} is not set`)
}

function serveAt(path: string, executors: number, totals: DriverTotals): void {
  removeStale(path)
  const listener = listenAt(path)
  process.once('exit', () => unlinkSync(path))
  void new Front(path, listener, executors, totals)
}

/** Serves as an executor until the front is gone. */
function execute(index: number, count: number, author: Author, totals: DriverTotals): void {
  letSystemEndFirst()
  const { control, words: memory, bell } = INHERITED
  exitWithPeer(control)
  const { address, buffer } = openMapping(memory, 0, WORDS_SIZE, { isShared: true, isGuarded: false })
  closeDescriptor(memory)
  const shared = buffer ?? new ArrayBuffer(WORDS_SIZE)
  const words = new TurnWords(shared, index)
  // The library of operations ends a run that the front cancels.
  if (buffer !== undefined) libraryFunctions('tenon_nnapi').tn_nn_watch(address + words.byteOffset)
  const budget = new Budget(TurnWords.sums(shared, count), index, totals)
  const requests = Math.ceil(totals.requests / count)
  const executor = new Executor({ ...author, words, budget, requests, wake: () => ring(bell) }, new PollSet())
  ring(bell)
  try {
    executor.serve(new Socket(control))
  } catch (error) {
    if (error instanceof PeerGone) process.exit()
    throw error
  }
}

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
