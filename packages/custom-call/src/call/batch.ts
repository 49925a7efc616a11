import { ArgumentError, type TenonError } from '@tenon/core'
import {
  callsInProgress,
  CONSTANTS,
  enterCall,
  inspectAsText,
  LAYOUTS,
  ManagedLifetime,
  writeAddress,
  wrongType,
  type Gated,
} from '@tenon/core/internal'
import { runLater, type RunAsyncOptions } from '../async/run-later.ts'
import { allocateCall, type CallMemory } from '../native/call-memory.ts'
import { callRunner } from '../native/current-call.ts'
import type { DeviceStream } from '../targets/call-resources.ts'
import type { BoundCall } from './bound-call.ts'
import type { Runnable, Tensors } from './call-target.ts'
import { ExposedMemory } from './exposed-memory.ts'
import { PreparedCall } from './prepared-call.ts'

/** One call of a batch. A batch can have the same prepared call several times. */
export interface BatchEntry {
  readonly call: PreparedCall
  readonly operands: Tensors
  readonly results: Tensors
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
  readonly #memory: CallMemory
  readonly #held: readonly Gated[]
  readonly #exposed: ExposedMemory
  readonly #streams: readonly DeviceStream[]

  /** @internal */
  constructor(calls: readonly BoundCall[]) {
    super()
    this.length = calls.length
    this.calls = calls
    this.target = {
      name: this.label,
      kind: CONSTANTS.TN_XLA_JOB_BATCH,
      failure: (_, status) => this.#failure(status),
    }
    this.#memory = layOut(calls)
    this.#held = Object.freeze([this])
    this.#exposed = new ExposedMemory(calls.flatMap(({ bound }) => bound))
    this.#streams = [...new Set(calls.flatMap(({ target }) => target.stream ?? []))]
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
    const memory = this.#start()
    let place = -1
    let status: number
    try {
      place = enterCall(this.#held)
      status = callRunner()(CONSTANTS.TN_XLA_JOB_BATCH, memory)
    } catch (error) {
      memory.running = false
      if (place !== -1) {
        callsInProgress.depth = place
        callsInProgress.lists[place] = undefined
        this.#keep()
      }
      throw error
    }
    // Before anything is called, because the stack of JavaScript may be full.
    memory.running = false
    callsInProgress.depth = place
    callsInProgress.lists[place] = undefined
    this.#keep()
    if (status !== 0) throw this.#failure(status)
  }

  #keep(): void {
    for (const stream of this.#streams) stream.keep?.(this.#held)
  }

  /**
   * Runs the calls in order on one thread of the core. If a handler returns a future, the thread waits for it. The promise
   * settles from the event loop.
   *
   * @param options a signal and a deadline, see {@link RunAsyncOptions}.
   * @throws (rejects with) the errors of {@link run} and of {@link PreparedCall.runAsync}.
   */
  runAsync(options?: RunAsyncOptions): Promise<void> {
    return runLater(options, () => {
      const memory = this.#start()
      return {
        run: this.target,
        memory,
        held: this.#held,
        streams: this.#streams,
      }
    })
  }

  #start(): CallMemory {
    this.checkOpen()
    if (this.#memory.running) {
      throw new ArgumentError(`${this.label} is running: a batch cannot run inside or beside its own run`, {
        hint: 'Make another batch for it.',
      })
    }
    for (const { memory, target } of this.calls) {
      if (memory.running) throw new ArgumentError(`${target.name} is running: a batch cannot run inside its own call`)
    }
    this.#exposed.check()
    this.#memory.running = true
    return this.#memory
  }

  #failure(status: number): TenonError {
    const index = this.#memory.view.getUint32(this.#memory.start + BATCH.failed, true)
    const { target, memory } = this.calls[index]!
    return target.failure(memory, status, index)
  }

  override toString(): string {
    return `Batch of ${this.length} calls${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(Batch)

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
      if (bound.memory.staged !== undefined) refuseCopies(bound.target.name, i)
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

function layOut(calls: readonly BoundCall[]): CallMemory {
  const memory = allocateCall(BATCH_SIZE + ENTRY_SIZE * calls.length)
  const { view, start, address } = memory
  view.setUint32(start + BATCH.count, calls.length, true)
  writeAddress(view, start + BATCH.entries, address + BATCH_SIZE)
  calls.forEach((call, i) => {
    const at = start + BATCH_SIZE + ENTRY_SIZE * i
    writeAddress(view, at + ENTRY.call, call.memory.address)
    view.setUint32(at + ENTRY.is_typed, call.target.kind, true)
  })
  return memory
}
