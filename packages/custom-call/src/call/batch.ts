import { ArgumentError, type CallTrace, type StringTensorLike, type TenonError, type TensorLike } from '@tenon/core'
import {
  CONSTANTS,
  inspectAsText,
  isTraced,
  LAYOUTS,
  ManagedLifetime,
  newTrace,
  traceAgain,
  traceLater,
  writeAddress,
  wrongType,
  type Gated,
} from '@tenon/core/internal'
import { runLater, type RunAsyncOptions } from './run-later.ts'
import { allocateFrame, type CallFrame } from '../native/call-frame.ts'
import type { BoundCall } from './bound-call.ts'
import type { Runnable } from './call-target.ts'
import { ExposedMemory } from './exposed-memory.ts'
import { PreparedCall } from './prepared-call.ts'
import { runHeld } from './run-call.ts'

/** One call of a batch. A batch can have the same prepared call several times. */
export interface BatchEntry {
  readonly call: PreparedCall
  readonly operands: readonly (TensorLike | StringTensorLike)[]
  readonly results: readonly TensorLike[]
}

const { size: BATCH_SIZE, offsets: BATCH } = LAYOUTS.tn_xla_batch_t
const { size: ENTRY_SIZE, offsets: ENTRY } = LAYOUTS.tn_xla_batch_entry_t

const BATCH_HINT = 'Write batch([{ call: handler.prepare(...), operands, results }]).'

/**
 * Several calls that run one after another in a single native call. Their tensors, prepared calls and libraries are held
 * open until the batch is closed. Created by {@link batch}.
 */
export class Batch extends ManagedLifetime {
  /** The number of calls. */
  readonly length: number
  /** @internal */
  readonly calls: readonly BoundCall[]
  /** @internal */
  readonly target: Runnable
  readonly #frame: CallFrame
  readonly #held: readonly Gated[]
  readonly #exposed: ExposedMemory
  /** The calls whose strings are checked before each run. */
  readonly #ofStrings: readonly BoundCall[]

  /** @internal */
  constructor(calls: readonly BoundCall[]) {
    super()
    this.length = calls.length
    this.calls = calls
    const streams = [...new Set(calls.flatMap(({ target }) => target.streams))]
    this.target = {
      name: this.label,
      convention: 'batch',
      kind: CONSTANTS.TN_XLA_JOB_BATCH,
      streams,
      keep: (list) => {
        for (const stream of streams) stream.keep?.(list)
      },
      failure: (frame, status) => this.#failure(frame, status),
    }
    this.#frame = layOut(calls)
    this.#held = Object.freeze([this])
    this.#ofStrings = calls.filter(({ strings }) => strings !== undefined)
    this.#exposed = new ExposedMemory(calls.flatMap(({ bound }) => bound))
  }

  protected override get label(): string {
    return `the batch of ${this.length} calls`
  }

  protected override release(): void {
    closeAll(this.calls)
  }

  /**
   * Runs the calls in order, and returns after the last one. If a call fails, the remaining calls do not run.
   *
   * @throws {XlaError} if a call fails. `batchIndex` is the index of that call. @throws {ScopeClosedError} after close, or if the
   * buffer of a tensor's view was transferred.
   */
  run(): void {
    if (isTraced()) return runTraced(this)
    const held = this.#start(false)
    runHeld(this.target, this.#frame, held, held)
  }

  /**
   * Runs the calls in order on one thread of the core. If a handler returns a future, the thread waits for it. The promise
   * settles from the event loop.
   *
   * @param options a signal and a deadline, see {@link RunAsyncOptions}.
   * @throws (rejects with) the errors of {@link run} and of {@link PreparedCall.runAsync}.
   */
  runAsync(options?: RunAsyncOptions): Promise<void> {
    const run = (): Promise<void> =>
      runLater(options, () => ({ target: this.target, held: this.#start(true), frame: this.#frame }))
    return isTraced() ? traceLater(traceOf(this, true), run) : run()
  }

  /** Checks that the batch can run. @returns the operands that the run holds open */
  #start(isAsync: boolean): readonly Gated[] {
    this.checkOpen()
    if (this.#frame.running) {
      throw new ArgumentError(`${this.label} is running: a batch cannot run inside or beside its own run`, {
        hint: 'Make another batch for it.',
      })
    }
    this.#exposed.check()
    if (this.#ofStrings.length === 0) return this.#held
    const lists = this.#readStrings()
    // Code of the user has run.
    this.checkOpen()
    const held = this.#ofStrings.flatMap(({ strings }, i) => strings!.check(lists[i]!, isAsync))
    return [...this.#held, ...held]
  }

  /** Code of the user may run, which must not run the batch. All strings are read before some are checked. */
  #readStrings(): Gated[][] {
    const frame = this.#frame
    frame.running = true
    try {
      return this.#ofStrings.map((call) => call.readStrings())
    } finally {
      frame.running = false
    }
  }

  #failure({ view, start }: CallFrame, status: number): TenonError {
    const index = view.getUint32(start + BATCH.failed, true)
    const { target, frame } = this.calls[index]!
    return target.failure(frame, status, index)
  }

  override toString(): string {
    return `Batch of ${this.length} calls${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(Batch)

/** A function of its own, because a method that contains a closure allocates memory in each call. */
const runTraced = (calls: Batch): void => traceAgain(traceOf(calls, false), () => calls.run())

function traceOf({ calls }: Batch, isAsync: boolean): CallTrace {
  const names = calls.map(({ target }) => target.name)
  const types = calls.flatMap(({ operands }) => operands.map(({ type }) => type))
  return newTrace(names.join(','), 'batch', types, isAsync)
}

/**
 * Binds calls to their tensors, so that all of them run in a single native call. Use a batch for many small calls.
 *
 * @param entries prepared calls with their operands and results, which are borrowed until the batch is closed.
 * @throws the errors of {@link PreparedCall.bind}. Nothing is held then. @throws {ArgumentError} if `entries` is empty.
 * @example
 * const steps = batch([
 *   { call, operands: [x], results: [y] },
 *   { call, operands: [y], results: [x] },
 * ])
 * steps.run()
 * steps.close()
 */
export function batch(entries: readonly BatchEntry[]): Batch {
  if (!Array.isArray(entries) || entries.length === 0) {
    throw wrongType('entries', 'an array of calls', entries, BATCH_HINT)
  }
  const calls: BoundCall[] = []
  try {
    for (const [i, entry] of (entries as readonly (Partial<BatchEntry> | null)[]).entries()) {
      const { call, operands, results } = entry ?? {}
      if (!(call instanceof PreparedCall)) throw wrongType(`call ${i} of a batch`, 'a prepared call', call, BATCH_HINT)
      const bound = call.bind(operands!, results!)
      calls.push(bound)
      if (bound.frame.staged !== undefined) refuseCopies(bound.target.name, i)
    }
    return new Batch(calls)
  } catch (error) {
    closeAll(calls)
    throw error
  }
}

/** The operands could be results of earlier calls, so a copy would have to be made between two calls. */
function refuseCopies(name: string, index: number): never {
  throw new ArgumentError(`the operands of ${name}, call ${index} of a batch, must have the layouts of the call`, {
    hint: "Copy row-major operands first, with toLayout('cm').",
  })
}

function closeAll(calls: readonly BoundCall[]): void {
  for (const call of calls) call.close()
}

function layOut(calls: readonly BoundCall[]): CallFrame {
  const frame = allocateFrame(BATCH_SIZE + ENTRY_SIZE * calls.length)
  const { view, start, address } = frame
  view.setUint32(start + BATCH.count, calls.length, true)
  writeAddress(view, start + BATCH.entries, address + BATCH_SIZE)
  calls.forEach((call, i) => {
    const at = start + BATCH_SIZE + ENTRY_SIZE * i
    writeAddress(view, at + ENTRY.call, call.frame.address)
    view.setUint32(at + ENTRY.is_typed, call.target.kind, true)
  })
  return frame
}
