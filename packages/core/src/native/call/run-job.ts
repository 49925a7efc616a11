import { wrongType, wrongValue } from '../../errors/check-arguments.ts'
import { enterAll, exitAll, type Gated } from '../../memory/lifetime.ts'
import { statusName } from '../core-library.ts'
import { addressOf } from '../native-memory.ts'
import { checkStarted } from './check-started.ts'
import { expectJob, forgetJob, isPending, unrefJob } from './jobs.ts'

/** The limits of a run on a thread of the core. Kernels are not interrupted: once a run has started, only its promise ends early. */
export interface RunLimits {
  /** The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** The time in milliseconds after which the promise rejects. */
  readonly deadline?: number | undefined
}

/** The longest time of a timer in milliseconds, 24 days. A longer one would end at once. */
export const LONGEST_TIMER: number = 2 ** 31 - 1

/** Checks limits, each of which was read once. @throws {ArgumentError | ArgumentRangeError} if one is invalid */
export function checkLimits({ signal, deadline }: RunLimits): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  if (deadline !== undefined && !(typeof deadline === 'number' && deadline >= 1 && deadline <= LONGEST_TIMER)) {
    throw wrongValue('deadline', 'a number of milliseconds from 1 to 2^31 - 1', deadline)
  }
}

/** Takes a job back, unless it has started. @returns whether its end will not be reported */
type Cancel = () => boolean

/** A run for a thread of the core. Everything is checked and written, and nothing is held yet. */
export interface Job<Result> {
  /** The library, the memory and others that are held open until the run is over. */
  readonly held: readonly Gated[]
  /** Gives the run to the threads. @param done is called from the event loop with the status of the run */
  start(done: (status: number) => void): Cancel
  /** Returns the result of a run that is over, whose memory is still held. @throws the error of the run */
  settle(status: number): Result | Promise<Result>
  /** Called once when nothing is held any more. @param ran false if the run was taken back, or not started */
  end(ran: boolean): void
  /** The error of a run that did not end in time. */
  late(deadline: number): Error
}

/** Runs a job, for which the event loop waits unless its promise has ended early. @throws (rejects with) the error of the run */
export function runJob<Result>(job: Job<Result>, { signal, deadline }: RunLimits): Promise<Result> {
  return new Promise((resolve, reject) => {
    const { held } = job
    let timer: NodeJS.Timeout | undefined
    const finish = (ran: boolean): void => {
      exitAll(held)
      signal?.removeEventListener('abort', abort)
      if (timer !== undefined) clearTimeout(timer)
      job.end(ran)
    }
    const giveUp = (reason: unknown): void => {
      if (cancel()) finish(false)
      reject(reason as Error)
    }
    const abort = (): void => giveUp(signal!.reason)
    const done = (status: number): void => {
      let result: Result | Promise<Result>
      try {
        result = job.settle(status)
      } catch (error) {
        finish(true)
        return reject(error as Error)
      }
      finish(true)
      resolve(result)
    }
    let cancel: Cancel
    let isHeld = false
    try {
      // Code of the user has run, which may have aborted it.
      signal?.throwIfAborted()
      enterAll(held)
      isHeld = true
      cancel = job.start(done)
    } catch (error) {
      if (isHeld) exitAll(held)
      job.end(false)
      throw error
    }
    signal?.addEventListener('abort', abort)
    // The run itself keeps the event loop running.
    if (deadline !== undefined) timer = setTimeout(() => giveUp(job.late(deadline)), deadline).unref()
  })
}

/** Where native code leaves the job of a run. */
const started = new BigUint64Array(1)
let startedAddress: number | undefined

/** The name of the last run, which usually is that of the next one. Native code copies it. */
let lastName = ''
let nameBytes = Buffer.alloc(0)
let nameAddress = 0

/** The functions of the C core for the jobs of one convention. */
export interface JobFunctions {
  /** @returns a status */
  submit(id: number, name: number, nameLength: number, job: number): number
  /** @returns a status, which is OK for a job that has not begun */
  cancel(job: number): number
}

/**
 * Gives a run to the threads of the core.
 *
 * @param name the name of the kernel in profiles. @param done is called from the event loop with the status of the run
 * @returns a function that cancels the run if it has not started, so that `done` is not called, and returns whether it did.
 * The event loop does not wait for a run that has started after that.
 * @throws {ArgumentError} if the value of TENON_THREADS is not valid. @throws {NativeError} if the system has no thread left.
 */
export function submitJob(name: string, { submit, cancel }: JobFunctions, done: (status: number) => void): Cancel {
  if (nameAddress === 0 || name !== lastName) {
    lastName = name
    nameBytes = Buffer.from(name)
    nameAddress = addressOf(nameBytes)
  }
  startedAddress ??= addressOf(started)
  const id = expectJob(done)
  const status = submit(id, nameAddress, nameBytes.length, startedAddress)
  if (status !== 0) {
    forgetJob(id)
    checkStarted(status, `starting ${name}`)
  }
  const job = Number(started[0])
  return () => {
    if (!isPending(id)) return false
    if (statusName(cancel(job)) === 'OK') return forgetJob(id)
    unrefJob(id)
    return false
  }
}
