import { InvalidRequestError } from '../errors.ts'
import type { SequenceId } from '../protocol/sequence-place.ts'
import { cutOff } from '../protocol/wrong-field.ts'
import { RunDeadlines } from './run-deadlines.ts'
import { Sequence, type SequencedJob } from './sequence.ts'
import type { SequenceLimits } from './sequence-options.ts'

/**
 * The sequences of a model, by the rules of Triton. Each has a slot from its start to its end, and those that start without a free slot wait in
 * their order. A sequence that is without requests for too long ends.
 */
export class Sequences {
  readonly #model: string
  readonly #limits: SequenceLimits
  readonly #onSlot: () => void
  readonly #idle: RunDeadlines
  /** Those to which further requests can belong. */
  readonly #open = new Map<string, Sequence>()
  /** Those with a slot, and those without one in the order of their starts. */
  readonly #candidates = new Set<Sequence>()
  readonly #backlog = new Set<Sequence>()

  /** @param onSlot called when a request of another sequence may run. */
  constructor(model: string, limits: SequenceLimits, onSlot: () => void) {
    this.#model = model
    this.#limits = limits
    this.#onSlot = onSlot
    this.#idle = new RunDeadlines(limits.maxSequenceIdleMicroseconds / 1000)
  }

  /** The sequences that have not ended. */
  get size(): number {
    return this.#candidates.size + this.#backlog.size
  }

  /** Finds or starts the sequence of a request. @throws {InvalidRequestError} if it was not started. */
  add(job: SequencedJob): void {
    const turn = job.request.turn!
    const { id, isStart, isEnd } = turn.place
    const key = keyOf(id)
    let sequence = this.#open.get(key)
    if (sequence === undefined) {
      if (!isStart) throw this.#notStarted(id)
      sequence = new Sequence(id, this.#limits.state)
      this.#open.set(key, sequence)
      this.#backlog.add(sequence)
      this.#fillSlots()
    }
    this.#stopIdle(sequence)
    // The next request with this id starts another sequence, which need not wait for the end of this one.
    if (isEnd) this.#close(sequence)
    turn.sequence = sequence
    sequence.jobs.add(job)
  }

  /** A request leaves the queue for an instance. */
  begin(job: SequencedJob): void {
    const { place, sequence } = job.request.turn!
    // A sequence that was not ended starts anew.
    if (place.isStart) sequence!.endState()
  }

  /** The run of a request has ended. The state after a run that was left alone is not known, so its sequence ends. */
  finish(job: SequencedJob): void {
    const { isLeftAlone, sequence } = job.request.turn!
    sequence!.jobs.delete(job)
    if (isLeftAlone) this.#abort(sequence!)
    this.#settle(sequence!)
  }

  /** A request fails before it ran. The requests behind a start that did not run have no sequence. */
  drop(job: SequencedJob): void {
    const { place, sequence } = job.request.turn!
    sequence!.jobs.delete(job)
    if (place.isStart) this.#abort(sequence!)
    this.#settle(sequence!)
  }

  /** Ends all sequences that have no requests. Called when the model gets none any more. */
  endAll(): void {
    for (const sequence of this.#candidates) {
      this.#close(sequence)
      this.#settle(sequence)
    }
  }

  /** Fails the requests that wait in a sequence, up to one that starts it anew. */
  #abort(sequence: Sequence): void {
    const waiting = [...sequence.jobs].filter(({ isWaiting }) => isWaiting)
    const restart = waiting.findIndex(({ request }) => request.turn!.place.isStart)
    if (restart === -1) this.#close(sequence)
    const lost = restart === -1 ? waiting : waiting.slice(0, restart)
    for (const job of lost) job.refuse(this.#notStarted(sequence.id))
  }

  /** Frees the slot of a sequence without requests that has ended, or waits for its next request. */
  #settle(sequence: Sequence): void {
    if (sequence.jobs.size > 0) return
    if (!sequence.isEnding) {
      sequence.idle ??= this.#idle.add(() => {
        sequence.idle = undefined
        this.#close(sequence)
        this.#settle(sequence)
        this.#onSlot()
      })
      return
    }
    this.#stopIdle(sequence)
    this.#backlog.delete(sequence)
    this.#candidates.delete(sequence)
    this.#fillSlots()
    sequence.endState()
  }

  #close(sequence: Sequence): void {
    sequence.isEnding = true
    const key = keyOf(sequence.id)
    if (this.#open.get(key) === sequence) this.#open.delete(key)
  }

  #stopIdle(sequence: Sequence): void {
    if (sequence.idle !== undefined) this.#idle.delete(sequence.idle)
    sequence.idle = undefined
  }

  #fillSlots(): void {
    for (const sequence of this.#backlog) {
      if (this.#candidates.size === this.#limits.maxCandidateSequences) return
      this.#backlog.delete(sequence)
      this.#candidates.add(sequence)
      sequence.hasSlot = true
    }
  }

  #notStarted(id: SequenceId): InvalidRequestError {
    return new InvalidRequestError(
      `inference request for sequence ${cutOff(String(id))} to model '${this.#model}' must specify the START flag on the first request of the sequence`,
      {
        hint: 'Set the parameter sequence_start. The sequence may have ended, because it had no request for too long.',
      },
    )
  }
}

/** The number 1 and the name "1" are different sequences. */
const keyOf = (id: SequenceId): string => (typeof id === 'string' ? `text ${id}` : `number ${id}`)
