import type { ExecutorProcess } from './executor-process.ts'
import { monotonicTime } from './turn-words.ts'

/** The time for a turn to end once it was asked to, in milliseconds. */
const GRACE = 100
/** The time for a turn to end whose client has left: others of the executor wait, but it has done nothing forbidden. */
const GRACE_OF_LEFT = 1000
/** How much longer a turn may take that waits for a processor, in milliseconds: a busy machine must not end what would end by itself. */
const GRACE_OF_WAITING = 1000
/** How often busy executors are looked at, in milliseconds. */
const PERIOD = 20
/** How long an executor is looked at that does nothing. */
const IDLE = 1000

interface Watched {
  turn: number
  /** When the turn in progress was noticed, or the executor was last busy. */
  since: number
  /** When the client of the turn left. */
  left: number | undefined
  /** The processor time of the executor when the turn was asked to end, in milliseconds. */
  used: number | undefined
}

/** Ends turns at their deadlines: first by asking, then by ending the executor. It sleeps while no executor has work. */
export class Watchdog {
  readonly #watched = new Map<ExecutorProcess, Watched>()
  #isLooking = false

  /** Begins to look at an executor, which has begun a turn. */
  watch(executor: ExecutorProcess): void {
    if (!this.#watched.has(executor))
      this.#watched.set(executor, {
        turn: executor.words.turn,
        since: monotonicTime(),
        left: undefined,
        used: undefined,
      })
    if (!this.#isLooking) setTimeout(() => this.#look(), 0)
    this.#isLooking = true
  }

  forget(executor: ExecutorProcess): void {
    this.#watched.delete(executor)
  }

  /** Ends the turn of a client that has left. */
  leave(executor: ExecutorProcess, client: number): void {
    const { words } = executor
    const { turn } = words
    if (!words.isRunning || words.client !== client) return
    words.cancel(turn)
    this.watch(executor)
    Object.assign(this.#watched.get(executor)!, { turn, left: monotonicTime() })
  }

  #look(): void {
    const time = monotonicTime()
    let next = PERIOD
    for (const [executor, watched] of this.#watched) next = Math.min(next, this.#lookAt(executor, watched, time))
    this.#isLooking = this.#watched.size > 0
    if (this.#isLooking) setTimeout(() => this.#look(), next)
  }

  /** @returns the time after which it must be looked at again. */
  #lookAt(executor: ExecutorProcess, watched: Watched, time: number): number {
    const { words } = executor
    const { turn, isRunning, deadline } = words
    if (turn !== watched.turn) Object.assign(watched, { turn, since: time, left: undefined, used: undefined })
    if (!isRunning) {
      if (time - watched.since > IDLE) {
        words.isWatched = false
        // A turn that began meanwhile has not woken the front.
        if (words.turn === turn) this.#watched.delete(executor)
        else words.isWatched = true
      }
      return PERIOD
    }
    // The words may be of the next turn by now, which is then looked at too late by one period.
    if (words.turn !== turn) return 0
    const end = Math.min(deadline + GRACE, (watched.left ?? Infinity) + GRACE_OF_LEFT)
    if (time >= Math.min(deadline, watched.left ?? Infinity)) watched.used ??= executor.usage()?.time
    if (time >= end && time < end + GRACE_OF_WAITING && waits(executor, watched)) return PERIOD
    if (time >= end) {
      const reason =
        watched.left === undefined ? 'a request has missed its deadline' : 'the client of a request has left'
      executor.kill(`${reason}, and did not end`)
      this.forget(executor)
    } else if (time >= deadline) words.cancel(turn)
    return Math.max(Math.min((time < deadline ? deadline : end) - time, PERIOD), 0)
  }
}

/** Whether an executor could run, and has not had a processor for as long as a turn may take to end. */
function waits(executor: ExecutorProcess, { used = 0 }: Watched): boolean {
  const usage = executor.usage()
  return usage !== undefined && usage.isRunnable && usage.time - used < GRACE
}
