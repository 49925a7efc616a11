import { coreFunctions } from '../core-library.ts'
import { checkStarted } from './check-started.ts'
import { threadDriver } from './thread-driver.ts'
import { WORDS } from './frame-layout.ts'
import { words } from './frame.ts'
import { addressAt, hasFunctions, setJobDone } from './functions.ts'
import { jobContexts, pendingJobs as pending, type Settle } from './pending-jobs.ts'
import { shared } from './shared.ts'

const ids = shared('ids of jobs', () => ({ last: 0 }))
/** The pending jobs for which the event loop does not wait. */
const unreferenced = shared('unreferenced jobs', () => new Set<number>())
let isListening = false

/**
 * Expects the end of a job, which runs on another thread. The event loop keeps running until then.
 *
 * @param settle is called from the event loop with the status of the job.
 * @returns the id that native code names when the job is over.
 */
export function expectJob(settle: Settle): number {
  if (!isListening) listen()
  const id = ++ids.last
  add(id, settle)
  return id
}

function add(id: number, settle: Settle): void {
  if (pending.size === unreferenced.size) threadDriver().keepAlive(true)
  pending.set(id, settle)
  // Only functions need it.
  if (hasFunctions()) jobContexts.set(id, process.getBuiltinModule('node:async_hooks').AsyncLocalStorage.snapshot())
}

/** Stops expecting a job. @returns whether it was not over */
export function forgetJob(id: number): boolean {
  const isPending = pending.delete(id)
  if (jobContexts.size > 0) jobContexts.delete(id)
  const wasReferenced = unreferenced.size === 0 || !unreferenced.delete(id)
  if (isPending && wasReferenced && pending.size === unreferenced.size) threadDriver().keepAlive(false)
  return isPending
}

/** Lets the event loop end before a job is over, because nobody waits for it. Its `settle` keeps its memory until then. */
export function unrefJob(id: number): void {
  if (!pending.has(id) || unreferenced.has(id)) return
  unreferenced.add(id)
  if (pending.size === unreferenced.size) threadDriver().keepAlive(false)
}

export const isPending = (id: number): boolean => pending.has(id)

function listen(): void {
  isListening = true
  setJobDone(() => {
    const id = addressAt(WORDS.general)
    const settle = pending.get(id)
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
  const id = ++ids.last
  checkStarted(coreFunctions().tn_call_submit(id), 'starting a call on another thread')
  if (!isListening) listen()
  add(id, (status) => {
    words[WORDS.state] = status
    words[WORDS.errno] = words[WORDS.general + 4]!
    settle()
  })
}
