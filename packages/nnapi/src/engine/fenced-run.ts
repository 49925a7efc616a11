import type { Hold } from '@tenon/core'
import { holdAll, releaseAll } from '@tenon/core/internal'
import { type OutputShape, PoolsError, type Pool } from '@tenon/pools'
import { refused, closeDescriptor, discardDescriptor } from '@tenon/pools/internal'
import { combineDimensions, isFullySpecified } from '../model/operand-types.ts'
import { fenceStatus, ring } from '../link/socket.ts'
import type { Request } from '../request/request.ts'
import { checkRequest } from '../request/validate-request.ts'
import { DeviceMemory } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'
import { bindExecution, checkRoles } from './execute.ts'
import { type EnginePool, type Use, usesOf } from './use.ts'

/** The fences and times of a fenced execution. The run takes the descriptors over. */
export interface FencedTerms {
  readonly waitFor: readonly number[]
  /** The end of a stream, which is rung when the execution succeeds, and closed in any case. */
  readonly signal: number
  /** The time from the launch, in milliseconds; undefined for any time. */
  readonly timeout: number | undefined
  /** The time from the last fence. */
  readonly timeoutAfterFences: number | undefined
}

/** The outcome of a fenced execution. */
export interface FencedOutcome {
  /** The failure; undefined if the execution succeeded. */
  readonly error: PoolsError | undefined
  /** The shape of each output, if the execution succeeded. */
  readonly outputs: readonly OutputShape[]
  /** The times from the launch, and from the last fence, to the end, in nanoseconds. */
  readonly timeLaunched: number
  readonly timeFenced: number
}

/** A launched execution, which begins when its fences are signalled. */
export class FencedRun {
  readonly #model: EngineModel
  readonly #request: Request<EnginePool>
  readonly #uses: readonly Use[]
  readonly #terms: FencedTerms
  readonly #holds: readonly Hold[]
  readonly #launched = performance.now()
  readonly #waitFor: number[]
  readonly #buffers: readonly DeviceMemory[]
  #error: PoolsError | undefined
  /** The time of the last fence. */
  #fenced = 0
  #isOver = false

  /** Checks everything that is known before the fences. If the constructor throws, the caller keeps the descriptors. */
  constructor(model: EngineModel, request: Request<EnginePool>, terms: FencedTerms) {
    checkRequest(model.model, request)
    const uses = usesOf(model, request)
    checkFencedOutputs(uses)
    checkRoles(model, uses)
    if (terms.waitFor.some((fence) => fenceStatus(fence) === 'failed')) throw fenceFailed()
    this.#model = model
    this.#request = request
    this.#uses = uses
    this.#terms = terms
    this.#waitFor = [...terms.waitFor]
    this.#buffers = request.pools.filter((pool) => pool instanceof DeviceMemory)
    this.#holds = holdAll(new Set(request.pools.filter((pool): pool is Pool => !(pool instanceof DeviceMemory))))
    for (const used of [model, ...this.#buffers]) used.retain()
  }

  /** The descriptors, the first of which is readable before the run is due. */
  get waitsFor(): readonly number[] {
    return this.#waitFor
  }

  /** The time at which it fails without its fences, as of `performance.now()`. */
  get deadline(): number {
    const { timeout } = this.#terms
    return timeout === undefined ? Infinity : this.#launched + timeout
  }

  /** Looks at the fences. @returns whether {@link finish} has work: the run may begin, or has failed. */
  isDue(): boolean {
    while (this.#waitFor.length > 0 && this.#error === undefined) {
      const status = fenceStatus(this.#waitFor[0]!)
      if (status === 'failed') this.#error = fenceFailed()
      else if (status === 'signaled') closeDescriptor(this.#waitFor.shift()!)
      else if (performance.now() >= this.deadline) this.#error = missed('its fences were signalled')
      else return false
    }
    this.#fenced = performance.now()
    return true
  }

  /** The time that is left for the execution, in milliseconds. */
  get timeLeft(): number {
    return Math.min(this.deadline - performance.now(), this.#terms.timeoutAfterFences ?? Infinity)
  }

  /**
   * Runs, once the fences are signalled, and signals its own.
   *
   * @param execute runs what was bound, within {@link timeLeft}.
   */
  finish(execute: (run: () => void) => void): FencedOutcome {
    let outputs: readonly OutputShape[] = []
    try {
      if (this.#error !== undefined) throw this.#error
      outputs = this.#run(execute)
    } catch (thrown) {
      this.#error = thrown instanceof PoolsError ? thrown : new PoolsError('GENERAL_FAILURE', 'the driver failed')
      this.#spoil()
    }
    const error = this.#error
    if (error === undefined) ring(this.#terms.signal)
    const end = performance.now()
    this.close()
    const nanoseconds = (from: number): number => Math.round((end - from) * 1e6)
    return { error, outputs, timeLaunched: nanoseconds(this.#launched), timeFenced: nanoseconds(this.#fenced) }
  }

  /** Releases everything. The fence of a run that has not succeeded fails. Idempotent. */
  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const fence of this.#waitFor) closeDescriptor(fence)
    discardDescriptor(this.#terms.signal)
    releaseAll(this.#holds)
    for (const used of [this.#model, ...this.#buffers]) used.release()
  }

  #run(execute: (run: () => void) => void): readonly OutputShape[] {
    const { timeoutAfterFences } = this.#terms
    if (this.timeLeft <= 0) throw missed('the execution began')
    const bound = bindExecution(this.#model, this.#request)
    try {
      execute(() => bound.run())
    } finally {
      bound.release()
    }
    if (timeoutAfterFences !== undefined && performance.now() - this.#fenced > timeoutAfterFences)
      throw missed('the execution ended')
    return bound.outputShapes
  }

  /** Takes the values of the device buffers that would have been written (D16). */
  #spoil(): void {
    for (const { pool, isInput } of this.#uses) if (!isInput && pool instanceof DeviceMemory) pool.isInitialized = false
  }
}

function checkFencedOutputs(uses: readonly Use[]): void {
  for (const { pool, operand, isInput, path, argument } of uses) {
    if (isInput) continue
    const given = pool instanceof DeviceMemory ? pool.initialDimensions : argument.dimensions
    const combined = combineDimensions(operand.dimensions, given)
    if (pool === undefined || combined === undefined || !isFullySpecified(operand.type, combined))
      throw refused('Q16', `${path}.dimensions must be known for a fenced execution`)
  }
}

const fenceFailed = (): PoolsError =>
  new PoolsError('GENERAL_FAILURE', 'a fence that the execution waits for or its owner died')

const missed = (what: string): PoolsError =>
  new PoolsError('MISSED_DEADLINE_TRANSIENT', `the deadline passed before ${what}`)
