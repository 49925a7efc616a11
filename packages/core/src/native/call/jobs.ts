import type { CallTrace } from '../../tracing/call-trace.ts'
import { noteQueueTime, setNativeClock, starting } from '../../tracing/queue-time.ts'
import { coreFunctions } from '../core-library.ts'
import { checkStarted } from './check-started.ts'
import { threadDriver, type ThreadDriver } from './thread-driver.ts'
import { WORDS } from './frame-layout.ts'
import { words } from './frame.ts'
import { addressAt, hasFunctions, setJobDone } from './functions.ts'
import { jobContexts, pendingJobs as pending, type Settle } from './pending-jobs.ts'
import { shared } from './shared.ts'

const ids = shared('ids of jobs', () => ({ last: 0 }))
/** The messages of traced calls whose jobs are pending, by the ids of the jobs. */
const tracedJobs: Map<number, CallTrace> = shared('traces of jobs', () => new Map<number, CallTrace>())
/** The pending jobs for which the event loop does not wait. */
const unreferenced = shared('unreferenced jobs', () => new Set<number>())
/** Sets whether the event loop keeps running, once a job was started. */
let keepAlive: ThreadDriver['keepAlive'] | undefined
let isMeasuring = false

/** The word of the frame, from the general registers on, with the time at which a job has begun. */
const BEGUN = 14

/**
 * Expects the end of a job, which runs on another thread. The event loop keeps running until then.
 *
 * @param settle is called from the event loop with the status of the job.
 * @returns the id that native code names when the job is over.
 */
export function expectJob(settle: Settle): number {
  if (keepAlive === undefined) listen()
  if (!isMeasuring && starting.trace !== undefined) measure()
  const id = ++ids.last
  add(id, settle)
  return id
}

function add(id: number, settle: Settle): void {
  if (pending.size === unreferenced.size) keepAlive!(true)
  pending.set(id, settle)
  const { trace } = starting
  if (trace !== undefined) tracedJobs.set(id, trace)
  // Only functions need it.
  if (hasFunctions()) jobContexts.set(id, process.getBuiltinModule('node:async_hooks').AsyncLocalStorage.snapshot())
}

/** Stops expecting a job. @returns whether it was not over */
export function forgetJob(id: number): boolean {
  const isPending = pending.delete(id)
  if (jobContexts.size > 0) jobContexts.delete(id)
  if (tracedJobs.size > 0) tracedJobs.delete(id)
  const wasReferenced = unreferenced.size === 0 || !unreferenced.delete(id)
  if (isPending && wasReferenced && pending.size === unreferenced.size) keepAlive!(false)
  return isPending
}

/** Lets the event loop end before a job is over, because nobody waits for it. Its `settle` keeps its memory until then. */
export function unrefJob(id: number): void {
  if (!pending.has(id) || unreferenced.has(id)) return
  unreferenced.add(id)
  if (pending.size === unreferenced.size) keepAlive!(false)
}

export const isPending = (id: number): boolean => pending.has(id)

/** Has native code note when jobs begin, from the first traced call on. */
function measure(): void {
  isMeasuring = true
  setNativeClock(Number(coreFunctions().tn_jobs_measure()))
}

function listen(): void {
  keepAlive = threadDriver().keepAlive
  setJobDone(() => {
    const id = addressAt(WORDS.general)
    const settle = pending.get(id)
    const trace = tracedJobs.size === 0 ? undefined : tracedJobs.get(id)
    if (trace !== undefined) noteQueueTime(trace, addressAt(WORDS.general + BEGUN))
    if (!forgetJob(id)) return
    settle!(words[WORDS.general + 2]!)
  })
}

/**
 * Performs the call that the frame describes on another thread. The frame is copied before this function returns.
 *
 * @param settle is called with the status and the results of the call in the frame.
 * @throws {ArgumentError} if the value of TENON_THREADS is not valid. @throws {ScopeClosedError} if this thread is ending.
 * @throws {NativeError} if the system has no thread left.
 */
export function submitCall(settle: () => void): void {
  if (!isMeasuring && starting.trace !== undefined) measure()
  const id = ++ids.last
  checkStarted(coreFunctions().tn_call_submit(id), 'starting a call on another thread')
  if (keepAlive === undefined) listen()
  add(id, (status) => {
    words[WORDS.state] = status
    words[WORDS.errno] = words[WORDS.general + 4]!
    settle()
  })
}
