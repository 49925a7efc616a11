import {
  addressOf,
  checkStarted,
  enterAll,
  exitAll,
  expectJob,
  forgetJob,
  isPending,
  keepAlive,
  statusName,
  unrefJob,
  wrongType,
  wrongValue,
} from '@tenon/core/internal'
import { TensorFlowError } from '../errors/tensorflow-error.ts'
import { openHost } from '../native/host.ts'
import { finish, type Offers, type Run } from './run.ts'

/** The options of an asynchronous call. Kernels are not interrupted: once a run has started, only its promise ends early. */
export interface AsyncOptions {
  /** The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** The time in milliseconds after which the promise rejects with a `TensorFlowError` of `DEADLINE_EXCEEDED`. */
  readonly deadline?: number | undefined
}

const LONGEST = 2 ** 31 - 1

/** Checks the options. @throws {ArgumentError | ArgumentRangeError} */
export function checkAsyncOptions({ signal, deadline }: AsyncOptions): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
  if (deadline !== undefined && !(typeof deadline === 'number' && deadline >= 1 && deadline <= LONGEST)) {
    throw wrongValue('deadline', 'a number of milliseconds from 1 to 2^31 - 1', deadline)
  }
  signal?.throwIfAborted()
}

/** Runs a frame on a thread of the core. @throws (rejects with) {TensorFlowError} if the kernel failed */
export function runLater(run: Run, offers: Offers, { signal, deadline }: AsyncOptions): Promise<unknown[]> {
  const { frame, held } = run
  const { operation, path } = frame.instance.facts
  return new Promise((resolve, reject) => {
    enterAll(held)
    frame.running = true
    frame.instance.enter()
    const timers: NodeJS.Timeout[] = []
    const release = (): void => {
      exitAll(held)
      frame.running = false
      signal?.removeEventListener('abort', abort)
      timers.forEach((timer) => clearTimeout(timer))
    }
    const settle = (): void => {
      try {
        resolve(finish(run, offers))
      } catch (error) {
        reject(error as Error)
      } finally {
        release()
      }
    }
    const withdraw = (): void => {
      frame.instance.leave()
      release()
    }
    const giveUp = (reason: unknown): void => {
      if (cancel()) withdraw()
      reject(reason as Error)
    }
    const abort = (): void => giveUp(signal!.reason)
    let cancel: () => boolean
    try {
      cancel = submit(run, settle)
    } catch (error) {
      withdraw()
      throw error
    }
    signal?.addEventListener('abort', abort)
    if (deadline === undefined) return
    const text = `the call did not end within ${deadline} ms`
    const late = (): void => giveUp(new TensorFlowError({ code: 4, text, operation, path, payloads: {} }))
    timers.push(setTimeout(late, deadline).unref())
  })
}

/** Gives a run to the threads of the core. @returns a function that takes it back, and returns whether it had not begun */
function submit({ frame }: Run, settle: () => void): () => boolean {
  const { tn_tf_submit: start, tn_tf_cancel: cancel } = openHost().functions
  const { operation } = frame.instance.facts
  const [name, out] = [Buffer.from(operation), new BigUint64Array(1)]
  const id = expectJob(settle)
  const status = start(frame.address, id, addressOf(name), name.length, addressOf(out)) as number
  keepAlive(name)
  if (status !== 0) {
    forgetJob(id)
    checkStarted(status, `starting ${operation}`)
  }
  const job = Number(out[0])
  return () => {
    if (!isPending(id)) return false
    if (statusName(cancel(job) as number) === 'OK') return forgetJob(id)
    unrefJob(id)
    return false
  }
}
