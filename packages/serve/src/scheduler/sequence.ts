import type { RunSequence } from '../model/run-context.ts'
import type { SequenceId, SequencePlace } from '../protocol/sequence-place.ts'
import type { LimitedRun } from './run-deadlines.ts'

/** The turn of one request in its sequence. */
export class SequenceTurn {
  readonly place: SequencePlace
  /** The sequence, once the request is in the queue. */
  sequence: Sequence | undefined
  /** Whether its run was left alone, because it did not end in time. */
  isLeftAlone = false

  constructor(place: SequencePlace) {
    this.place = place
  }

  /** The sequence as the function of the model gets it. The state is made when it is read for the first time. */
  get context(): RunSequence<unknown> {
    const { place, sequence } = this as this & { readonly sequence: Sequence }
    return {
      ...place,
      get state() {
        return sequence.state
      },
    }
  }
}

/** A request of a sequence that waits or runs. */
export interface SequencedJob {
  readonly request: { readonly turn: SequenceTurn | undefined }
  readonly isWaiting: boolean
  refuse(reason: unknown): void
}

/** One sequence of requests, which run one behind the other. */
export class Sequence {
  readonly id: SequenceId
  /** Those that wait or run, in their order. */
  readonly jobs: Set<SequencedJob> = new Set()
  /** Whether it is one of the candidates whose requests may run. */
  hasSlot = false
  /** Whether no further requests belong to it. */
  isEnding = false
  /** Its time without requests. */
  idle: LimitedRun | undefined
  readonly #makeState: (sequence: { readonly id: SequenceId }) => unknown
  #state: { readonly value: unknown } | undefined

  constructor(id: SequenceId, makeState: (sequence: { readonly id: SequenceId }) => unknown) {
    this.id = id
    this.#makeState = makeState
  }

  get state(): unknown {
    this.#state ??= { value: this.#makeState({ id: this.id }) }
    return this.#state.value
  }

  /** Whether a request may run now. */
  canRun(job: SequencedJob): boolean {
    // A request that runs is the first one until its end.
    const [first] = this.jobs
    return this.hasSlot && first === job
  }

  /** Ends the state. No request waits for it, so its failure is a warning of the process. */
  endState(): void {
    const value = this.#state?.value as Partial<Disposable> | undefined | null
    this.#state = undefined
    try {
      value?.[Symbol.dispose]?.()
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error))
    }
  }
}
