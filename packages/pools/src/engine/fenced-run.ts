import type { Hold } from '@tenon/core'
import { type OutputShape, PoolsError, refused } from '../error-status.ts'
import { combineDimensions, isFullySpecified } from '../model/operand-types.ts'
import { closeDescriptor, discardDescriptor } from '../native/descriptor.ts'
import { fenceStatus, ring } from '../native/socket.ts'
import type { Pool } from '../pool/pool.ts'
import type { Request } from '../request/request.ts'
import { checkRequest } from '../request/validate-request.ts'
import { DeviceMemory } from './device-memory.ts'
import type { EngineModel } from './engine-model.ts'
import { bindExecution, checkRoles, type EnginePool } from './execute.ts'

/** What a fenced execution waits for, and for how long. Its descriptors become those of the run. */
export interface FencedTerms {
  readonly waitFor: readonly number[]
  /** The end of a stream that is rung when the execution has succeeded, and closed in any case. */
  readonly signal: number
  /** From the launch, in milliseconds; undefined for any time. */
  readonly timeout: number | undefined
  /** From when the last fence was signalled. */
  readonly timeoutAfterFences: number | undefined
}

/** How a fenced execution went. */
export interface FencedOutcome {
  /** Undefined if it succeeded. */
  readonly error: PoolsError | undefined
  readonly outputs: readonly OutputShape[]
  /** From the launch to the end, and from the last fence to the end, in nanoseconds. */
  readonly timeLaunched: number
  readonly timeFenced: number
}

/** An execution that was launched and begins when its fences are signalled. */
export class FencedRun {
  readonly #model: EngineModel
  readonly #request: Request<EnginePool>
  readonly #terms: FencedTerms
  readonly #holds: readonly Hold[]
  readonly #launched = performance.now()
  readonly #waitFor: number[]
  #isOver = false

  /**
   * Checks what can be known before the fences. If this throws, the descriptors are still the caller's.
   *
   * @throws {PoolsError} the rules of requests, Q16, and what the state of a fence says already.
   */
  constructor(model: EngineModel, request: Request<EnginePool>, terms: FencedTerms) {
    checkRequest(model.model, request)
    checkFencedOutputs(model, request)
    checkRoles(model, request)
    if (terms.waitFor.some((fence) => fenceStatus(fence) === 'failed')) throw fenceFailed()
    this.#model = model
    this.#request = request
    this.#terms = terms
    this.#waitFor = [...terms.waitFor]
    const memory = new Set(request.pools.filter((pool): pool is Pool => !(pool instanceof DeviceMemory)))
    this.#holds = [...memory].map((pool) => pool.acquire())
    model.retain()
  }

  /** What has to become readable, or pass, before {@link step} has anything to do. */
  get waitsFor(): readonly number[] {
    return this.#waitFor
  }

  /** When it fails without its fences, as a time of `performance.now()`. */
  get deadline(): number {
    const { timeout } = this.#terms
    return timeout === undefined ? Infinity : this.#launched + timeout
  }

  /** Looks at the fences, and runs once all are signalled. @returns undefined as long as it waits. */
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

  /** Gives everything back; whoever waits for its fence sees that it failed. Idempotent. */
  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const fence of this.#waitFor) closeDescriptor(fence)
    discardDescriptor(this.#terms.signal)
    for (const hold of this.#holds) hold.release()
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

  /** Device buffers that would have been written hold no value then (D16). */
  #spoil(): void {
    for (const { hasNoValue, location } of this.#request.outputs) {
      const pool = hasNoValue ? undefined : this.#request.pools[location.poolIndex]
      if (pool instanceof DeviceMemory) pool.isInitialized = false
    }
  }
}

/** The shapes of all outputs must be known at the launch (Q16). */
function checkFencedOutputs({ model }: EngineModel, { outputs, pools }: Request<EnginePool>): void {
  const { operands, outputIndexes } = model.main
  outputs.forEach(({ hasNoValue, location, dimensions }, i) => {
    const pool = hasNoValue ? undefined : pools[location.poolIndex]
    const operand = operands[outputIndexes[i]!]!
    const given = pool instanceof DeviceMemory ? pool.initialDimensions : dimensions
    const combined = combineDimensions(operand.dimensions, given)
    if (hasNoValue || combined === undefined || !isFullySpecified(operand.type, combined))
      throw refused('Q16', `outputs[${i}].dimensions must be known for a fenced execution`)
  })
}

const fenceFailed = (): PoolsError =>
  new PoolsError('GENERAL_FAILURE', 'a fence that the execution waits for or its owner died')

const missed = (what: string): PoolsError =>
  new PoolsError('MISSED_DEADLINE_TRANSIENT', `the deadline passed before ${what}`)
