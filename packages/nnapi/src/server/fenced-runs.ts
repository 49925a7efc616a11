import type { EngineModel } from '../engine/engine-model.ts'
import type { EnginePool } from '../engine/use.ts'
import { FencedRun, type FencedOutcome, type FencedTerms } from '../engine/fenced-run.ts'
import { type DriverLimits, exhausted } from '../engine/limits.ts'
import { errorStatus, PoolsError } from '@tenon/pools'
import { statusOf, type Attachment } from '@tenon/pools/internal'
import { discardAttachment } from '../link/link.ts'
import type { Request } from '../request/request.ts'
import { number, type Reader } from '../wire/body.ts'
import { errorMessage, readError, readShape } from '../wire/model-codec.ts'

export interface Launch extends Pick<FencedTerms, 'timeout' | 'timeoutAfterFences'> {
  readonly id: number
  readonly model: EngineModel
  readonly request: Request<EnginePool>
}

interface Entry {
  readonly run: FencedRun
  /** The fence that is watched; -1 for none. */
  watched: number
  outcome: FencedOutcome | undefined
  tell: ((outcome: FencedOutcome) => void) | undefined
}

/** Watches descriptors for a conversation, which steps its fenced runs when they are readable. */
export interface Watch {
  add(descriptor: number): void
  remove(descriptor: number): void
}

/** The fenced executions of one client. Each is kept until the client has received its outcome. */
export class FencedRuns {
  readonly #limits: DriverLimits
  readonly #watch: Watch
  /** Takes a run whose fences are signalled, or that has failed, and calls {@link finish} in its turn. */
  readonly #due: (id: number, run: FencedRun) => void
  readonly #entries = new Map<number, Entry>()
  /** The executions that wait for fences. */
  readonly #waiting = new Map<number, Entry>()

  constructor(limits: DriverLimits, watch: Watch, due: (id: number, run: FencedRun) => void) {
    this.#limits = limits
    this.#watch = watch
    this.#due = due
  }

  /** The number of fences that executions wait for. */
  get count(): number {
    let sum = 0
    for (const { run } of this.#waiting.values()) sum += run.waitsFor.length
    return sum
  }

  /** The first deadline of an execution that waits, as of `performance.now()`. */
  get deadline(): number {
    let first = Infinity
    for (const { run } of this.#waiting.values()) first = Math.min(first, run.deadline)
    return first
  }

  /** Launches an execution. Takes over the end to signal and the fences after it, even if the launch throws. */
  launch(attachments: readonly Attachment[], read: () => Launch): void {
    const [signal, ...waitFor] = attachments.filter((attachment) => typeof attachment === 'number')
    let id: number
    let entry: Entry
    try {
      if (signal === undefined)
        throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution must have an end to signal')
      if (this.#entries.size >= this.#limits.requests) throw exhausted(`${this.#limits.requests} waiting requests`)
      if (this.count + waitFor.length > this.#limits.fences) throw exhausted(`${this.#limits.fences} fences`)
      const { model, request, ...rest } = read()
      id = rest.id
      if (this.#entries.has(id)) throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution must have a new id')
      const run = new FencedRun(model, request, { ...rest, signal, waitFor })
      entry = { run, watched: -1, outcome: undefined, tell: undefined }
    } catch (error) {
      attachments.forEach(discardAttachment)
      throw error
    }
    this.#entries.set(id, entry)
    this.#waiting.set(id, entry)
    this.#look(id, entry)
  }

  /** Looks at the fences of all executions that wait. */
  step(): void {
    for (const [id, entry] of this.#waiting) this.#look(id, entry)
  }

  /** Runs an execution that is due. */
  finish(id: number, execute: (run: () => void) => void): void {
    const entry = this.#entries.get(id)!
    entry.outcome = entry.run.finish(execute)
    this.#tell(id, entry)
  }

  /** Calls `tell` once, when the execution is over. @throws {PoolsError} if the execution does not exist. */
  ask(id: number, tell: (outcome: FencedOutcome) => void): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.tell !== undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'the fenced execution does not exist, or its outcome was sent')
    entry.tell = tell
    this.#tell(id, entry)
  }

  /** Ends all executions. The fences of those that have not run fail. */
  close(): void {
    for (const entry of this.#entries.values()) {
      this.#unwatch(entry)
      entry.run.close()
    }
    this.#entries.clear()
    this.#waiting.clear()
  }

  #look(id: number, entry: Entry): void {
    // A fence that is signalled is closed.
    this.#unwatch(entry)
    if (entry.run.isDue()) {
      this.#waiting.delete(id)
      this.#due(id, entry.run)
    } else {
      entry.watched = entry.run.waitsFor[0]!
      this.#watch.add(entry.watched)
    }
  }

  #unwatch(entry: Entry): void {
    if (entry.watched !== -1) this.#watch.remove(entry.watched)
    entry.watched = -1
  }

  #tell(id: number, { outcome, tell }: Entry): void {
    if (outcome === undefined || tell === undefined) return
    this.#entries.delete(id)
    tell(outcome)
  }
}

export function outcomeMessage({ error, ...rest }: FencedOutcome): unknown {
  return { failed: error && { status: errorStatus[error.status], ...errorMessage(error) }, ...rest }
}

/** Reads the outcome of a fenced execution. Its shapes are not compared with the request. @throws {PoolsError} */
export function readOutcome(reader: Reader): FencedOutcome {
  return {
    error: reader.field('failed').optional((failed) => {
      const status = statusOf(number(failed.field('status')))
      if (status === undefined || status === 'NONE' || status === 'DEAD_OBJECT')
        throw new PoolsError('INVALID_ARGUMENT', 'an outcome must have a status')
      return readError(failed, status)
    }),
    outputs: reader.field('outputs').list(readShape),
    timeLaunched: number(reader.field('timeLaunched')),
    timeFenced: number(reader.field('timeFenced')),
  }
}
