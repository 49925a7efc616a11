import type { EngineModel } from '../engine/engine-model.ts'
import type { EnginePool } from '../engine/execute.ts'
import { FencedRun, type FencedOutcome, type FencedTerms } from '../engine/fenced-run.ts'
import type { DriverLimits } from '../engine/limits.ts'
import { exhausted } from '../engine/session.ts'
import { errorStatus, type OutputShape, PoolsError } from '../error-status.ts'
import { discardAttachment, type Attachment } from '../native/link.ts'
import type { Request } from '../request/request.ts'
import type { Reader } from './body.ts'
import { errorMessage, readError } from './model-codec.ts'

/** What a client wants executed. */
export interface Launch extends Pick<FencedTerms, 'timeout' | 'timeoutAfterFences'> {
  readonly id: number
  readonly model: EngineModel
  readonly request: Request<EnginePool>
}

interface Entry {
  readonly run: FencedRun
  readonly fences: number
  outcome: FencedOutcome | undefined
  /** Tells the client who asked, once there is an outcome. */
  tell: ((outcome: FencedOutcome) => void) | undefined
}

/** The fenced executions of one client: each is kept until the client was told how it went. */
export class FencedRuns {
  readonly #limits: DriverLimits
  readonly #entries = new Map<number, Entry>()
  #fences = 0
  /** How many aren't over. */
  #waiting = 0

  constructor(limits: DriverLimits) {
    this.#limits = limits
  }

  /** Descriptors whose turn it is to become readable. */
  get waitsFor(): readonly number[] {
    return [...this.#entries.values()].flatMap(({ run, outcome }) => (outcome === undefined ? run.waitsFor : []))
  }

  /** When one has to be looked at without its fences, as a time of `performance.now()`. */
  get deadline(): number {
    const waiting = [...this.#entries.values()].filter(({ outcome }) => outcome === undefined)
    return Math.min(...waiting.map(({ run }) => (run.waitsFor.length === 0 ? 0 : run.deadline)))
  }

  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  /**
   * Launches an execution. The attachments are the end that is signalled, then the fences to wait for; they become this
   * object's, whatever comes of it.
   *
   * @param read what is to be executed.
   * @throws {PoolsError} if it can't be launched: nothing will be signalled then.
   */
  launch(attachments: readonly Attachment[], read: () => Launch): void {
    const [signal, ...waitFor] = attachments.filter((attachment) => typeof attachment === 'number')
    try {
      if (signal === undefined) throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution needs an end to signal')
      if (this.#entries.size >= this.#limits.requests) throw exhausted(`${this.#limits.requests} waiting requests`)
      if (this.#fences + waitFor.length > this.#limits.fences) throw exhausted(`${this.#limits.fences} fences`)
      const { id, model, request, timeout, timeoutAfterFences } = read()
      if (this.#entries.has(id)) throw new PoolsError('INVALID_ARGUMENT', 'a fenced execution needs a new id')
      const run = new FencedRun(model, request, { timeout, timeoutAfterFences, signal, waitFor })
      this.#entries.set(id, { run, fences: waitFor.length, outcome: undefined, tell: undefined })
      this.#fences += waitFor.length
      this.#waiting++
    } catch (error) {
      attachments.forEach(discardAttachment)
      throw error
    }
  }

  /** Runs what can run, and tells those who asked. */
  step(): void {
    for (const [id, entry] of this.#entries) {
      if (entry.outcome !== undefined) continue
      entry.outcome = entry.run.step()
      if (entry.outcome === undefined) continue
      this.#fences -= entry.fences
      this.#waiting--
      this.#tell(id, entry)
    }
  }

  /** Has `tell` called once, when the execution is over. @throws {PoolsError} if there is no such execution. */
  ask(id: number, tell: (outcome: FencedOutcome) => void): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.tell !== undefined)
      throw new PoolsError('INVALID_ARGUMENT', 'there is no such fenced execution, or it was asked about already')
    entry.tell = tell
    this.#tell(id, entry)
  }

  /** Ends all that wait: whoever waits for their fences sees that they failed. */
  close(): void {
    for (const { run } of this.#entries.values()) run.close()
    this.#entries.clear()
    this.#fences = 0
    this.#waiting = 0
  }

  #tell(id: number, { outcome, tell }: Entry): void {
    if (outcome === undefined || tell === undefined) return
    this.#entries.delete(id)
    tell(outcome)
  }
}

/** How a fenced execution went, as a message has it. */
export function outcomeMessage({ error, outputs, timeLaunched, timeFenced }: FencedOutcome): unknown {
  const failed =
    error === undefined ? undefined : { status: errorStatus[error.status], ...(errorMessage(error) as object) }
  return { failed, outputs, timeLaunched, timeFenced }
}

/** Reads how a fenced execution went. Shapes aren't compared with the request yet. @throws {PoolsError} */
export function readOutcome(
  reader: Reader,
  statusOf: (number: number) => PoolsError['status'] | undefined,
): FencedOutcome {
  const failed = reader.field('failed')
  let error: PoolsError | undefined
  if (!failed.isMissing) {
    const status = statusOf(failed.field('status').number())
    if (status === undefined || status === 'NONE' || status === 'DEAD_OBJECT')
      throw new PoolsError('INVALID_ARGUMENT', 'an outcome must have a status')
    error = readError(failed, status)
  }
  return {
    error,
    outputs: reader.field('outputs').list((shape): OutputShape => ({
      dimensions: shape.field('dimensions').list((size) => size.u32()),
      isSufficient: shape.field('isSufficient').boolean(),
    })),
    timeLaunched: reader.field('timeLaunched').number(),
    timeFenced: reader.field('timeFenced').number(),
  }
}
