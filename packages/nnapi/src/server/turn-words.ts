import { BUDGETED } from './budget.ts'

/** The bytes of one executor. */
const SIZE = 64
/** The executors that one front can have. */
export const EXECUTORS = 64
/** The bytes of all executors, and of their budgets behind them. */
export const WORDS_SIZE: number = EXECUTORS * (SIZE + 8 * BUDGETED.length)

/** The first two words are equal while the turn in progress should end: see `tn_nn_watch`. */
const TURN = 0
const CANCEL = 1
const IS_RUNNING = 2
const CLIENT = 3
const IS_WATCHED = 4
const DEADLINE = 3

/** The monotonic clock of the system at the time 0 of `performance.now()`, in milliseconds. */
const zero = ((): number => {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6 - performance.now()
})()

/** The time of the monotonic clock, which all processes share, in milliseconds. */
export const monotonicTime = (): number => performance.now() + zero

/**
 * What an executor and its front tell each other through shared memory. The executor writes its turn, its client and the deadline;
 * the front writes the number of the turn that should end, which is never that of a later one by mistake.
 */
export class TurnWords {
  readonly #words: Int32Array
  readonly #times: Float64Array
  /** The offset of the words in the shared memory. */
  readonly byteOffset: number

  constructor(memory: ArrayBufferLike, executor: number) {
    this.byteOffset = executor * SIZE
    this.#words = new Int32Array(memory, this.byteOffset, SIZE / 4)
    this.#times = new Float64Array(memory, this.byteOffset, SIZE / 8)
  }

  /** The sums of the budgets of all executors. */
  static sums(memory: ArrayBufferLike, executors: number): BigInt64Array {
    return new BigInt64Array(memory, EXECUTORS * SIZE, executors * BUDGETED.length)
  }

  /** Forgets the executor that had the words before. */
  clear(): void {
    this.#words.fill(0)
  }

  /** Begins a turn for a client. `deadline` is a time of {@link monotonicTime}. */
  begin(client: number, deadline: number): void {
    const words = this.#words
    words[TURN] = (words[TURN]! + 1) | 0 || 1
    words[CLIENT] = client
    this.#times[DEADLINE] = deadline
    Atomics.store(words, IS_RUNNING, 1)
  }

  /** Ends the turn. */
  end(): void {
    Atomics.store(this.#words, IS_RUNNING, 0)
  }

  get turn(): number {
    return this.#words[TURN]!
  }

  get client(): number {
    return this.#words[CLIENT]!
  }

  get deadline(): number {
    return this.#times[DEADLINE]!
  }

  get isRunning(): boolean {
    return Atomics.load(this.#words, IS_RUNNING) === 1
  }

  /** Whether the turn in progress should end. */
  get isCancelled(): boolean {
    return Atomics.load(this.#words, CANCEL) === this.#words[TURN]
  }

  /** Asks a turn to end. */
  cancel(turn: number): void {
    Atomics.store(this.#words, CANCEL, turn)
  }

  /** Whether the front looks at the words. Otherwise the executor wakes it before a turn. */
  get isWatched(): boolean {
    return Atomics.load(this.#words, IS_WATCHED) === 1
  }

  set isWatched(isWatched: boolean) {
    Atomics.store(this.#words, IS_WATCHED, isWatched ? 1 : 0)
  }
}
