import type { Hold } from '@tenon/core'
import { holdAll, releaseAll } from '@tenon/core/internal'
import { type OutputShape, PoolsError, refused } from '../../error-status.ts'
import { combineDimensions, isFullySpecified } from '../model/operand-types.ts'
import { closeDescriptor, discardDescriptor } from '../../memory/descriptor.ts'
import { fenceStatus, ring } from '../../link/socket.ts'
import type { Pool } from '../../memory/pool.ts'
import type { Request } from '../request/request.ts'
import { checkRequest } from '../request/validate-request.ts'
import { DeviceMemory } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'
import { bindExecution, checkRoles, type EnginePool, type Use, usesOf } from './execute.ts'

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
    const memory = new Set(request.pools.filter((pool): pool is Pool => !(pool instanceof DeviceMemory)))
    this.#holds = holdAll(memory)
    model.retain()
  }

  /** The descriptors, the first of which is readable before {@link step} has work. */
  get waitsFor(): readonly number[] {
    return this.#waitFor
  }

  /** The time at which it fails without its fences, as of `performance.now()`. */
  get deadline(): number {
    const { timeout } = this.#terms
    return timeout === undefined ? Infinity : this.#launched + timeout
  }

  /** Checks the fences, and runs once all are signalled. @returns undefined while it waits. */
  step(): FencedOutcome | undefined {
    let error: PoolsError | undefined
    while (this.#waitFor.length > 0 && error === undefined) {
      const status = fenceStatus(this.#waitFor[0]!)
      if (status === 'failed') error = fenceFailed()
      else if (status === 'signaled') closeDescriptor(this.#waitFor.shift()!)
      else if (performance.now() >= this.deadline) error = missed('its fences were signalled')
      else return undefined
    }
    const fenced = performance.now()
    let outputs: readonly OutputShape[] = []
    try {
      if (error === undefined) outputs = this.#run(fenced)
      else this.#spoil()
    } catch (thrown) {
      error = thrown instanceof PoolsError ? thrown : new PoolsError('GENERAL_FAILURE', 'the driver failed')
    }
    if (error === undefined) ring(this.#terms.signal)
    const end = performance.now()
    this.close()
    const nanoseconds = (from: number): number => Math.round((end - from) * 1e6)
    return { error, outputs, timeLaunched: nanoseconds(this.#launched), timeFenced: nanoseconds(fenced) }
  }

  /** Releases everything. The fence of a run that has not succeeded fails. Idempotent. */
  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const fence of this.#waitFor) closeDescriptor(fence)
    discardDescriptor(this.#terms.signal)
    releaseAll(this.#holds)
    this.#model.release()
  }

  #run(fenced: number): readonly OutputShape[] {
    const { timeoutAfterFences } = this.#terms
    if (fenced >= this.deadline || (timeoutAfterFences !== undefined && timeoutAfterFences <= 0))
      throw missed('the execution began')
    const bound = bindExecution(this.#model, this.#request)
    bound.run()
    if (timeoutAfterFences !== undefined && performance.now() - fenced > timeoutAfterFences)
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
