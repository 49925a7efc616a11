import type { EngineModel } from '../nnapi/engine/engine-model.ts'
import type { EnginePool } from '../nnapi/engine/execute.ts'
import { FencedRun, type FencedOutcome, type FencedTerms } from '../nnapi/engine/fenced-run.ts'
import type { DriverLimits } from '../nnapi/engine/limits.ts'
import { exhausted } from './session.ts'
import { errorStatus, PoolsError, statusOf } from '../error-status.ts'
import { discardAttachment, type Attachment } from '../link/link.ts'
import type { Request } from '../nnapi/request/request.ts'
import { number, type Reader } from '../wire/body.ts'
import { errorMessage, readError, readShape } from '../wire/model-codec.ts'

export interface Launch extends Pick<FencedTerms, 'timeout' | 'timeoutAfterFences'> {
  readonly id: number
  readonly model: EngineModel
  readonly request: Request<EnginePool>
}

interface Entry {
  readonly run: FencedRun
  outcome: FencedOutcome | undefined
  tell: ((outcome: FencedOutcome) => void) | undefined
}

/** The fenced executions of one client. Each is kept until the client has received its outcome. */
export class FencedRuns {
  readonly #limits: DriverLimits
  readonly #entries = new Map<number, Entry>()

  constructor(limits: DriverLimits) {
    this.#limits = limits
  }

  get #running(): readonly FencedRun[] {
    return [...this.#entries.values()].flatMap(({ run, outcome }) => (outcome === undefined ? [run] : []))
  }

  get waitsFor(): readonly number[] {
    return this.#running.flatMap((run) => run.waitsFor)
  }

  /** The first deadline of an execution, as of `performance.now()`. */
  get deadline(): number {
    return Math.min(...this.#running.map((run) => (run.waitsFor.length === 0 ? 0 : run.deadline)))
  }

  get isWaiting(): boolean {
    return this.#entries.size > 0 && this.#running.length > 0
  }

  /** Launches an execution. Takes over the end to signal and the fences after it, even if the launch throws. */
  launch(attachments: readonly Attachment[], read: () => Launch): void {
    const [signal, ...waitFor] = attachments.filter((attachment) => typeof attachment === 'number')
    try {
      if (signal === undefined)
        throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution must have an end to signal')
      if (this.#entries.size >= this.#limits.requests) throw exhausted(`${this.#limits.requests} waiting requests`)
      if (this.waitsFor.length + waitFor.length > this.#limits.fences) throw exhausted(`${this.#limits.fences} fences`)
      const { id, model, request, ...times } = read()
      if (this.#entries.has(id)) throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution must have a new id')
      const run = new FencedRun(model, request, { ...times, signal, waitFor })
      this.#entries.set(id, { run, outcome: undefined, tell: undefined })
    } catch (error) {
      attachments.forEach(discardAttachment)
      throw error
    }
  }

  step(): void {
    for (const [id, entry] of this.#entries) {
      if (entry.outcome !== undefined) continue
      entry.outcome = entry.run.step()
      this.#tell(id, entry)
    }
  }

  /** Calls `tell` once, when the execution is over. @throws {PoolsError} if the execution does not exist. */
  ask(id: number, tell: (outcome: FencedOutcome) => void): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.tell !== undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'the fenced execution does not exist, or its outcome was sent')
    entry.tell = tell
    this.#tell(id, entry)
  }

  /** Ends all executions. The fences of those that still wait fail. */
  close(): void {
    for (const { run } of this.#entries.values()) run.close()
    this.#entries.clear()
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
