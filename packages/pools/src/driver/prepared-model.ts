import type { Hold } from '@tenon/core'
import { ArgumentError } from '@tenon/core'
import { describe, ManagedLifetime } from '@tenon/core/internal'
import type { Model } from '../model/model.ts'
import { NOWHERE } from '../model/model.ts'
import type { Pool } from '../pool/pool.ts'
import { PoolSlice } from '../pool/pool-slice.ts'
import type { Request, RequestArgument } from '../request/request.ts'
import { Burst } from './burst.ts'
import { checkTimeout } from './check-options.ts'
import { DeviceBuffer } from './device-buffer.ts'
import type { Driver } from './driver-client.ts'
import type { FallbackBuffer } from './fallback-buffer.ts'
import { Fence } from './fence.ts'
import { FencedExecution, infoOf, type FencedOptions } from './fenced-execution.ts'
import type {
  AsyncRequestOptions,
  BackendFenced,
  BackendModel,
  BackendPool,
  ExecutionResult,
  RequestOptions,
} from './driver.ts'

/** Stands for an operand that is left out. */
export const OMIT: unique symbol = Symbol('tenon.pools.omit')

/** What an execution reads and writes, in the order of the model's inputs and outputs. */
export interface ExecutionArguments {
  readonly inputs: readonly (PoolSlice | DeviceBuffer | typeof OMIT)[]
  readonly outputs: readonly (PoolSlice<'writable'> | DeviceBuffer | typeof OMIT)[]
}

/** One use of a device buffer, for {@link Driver.allocate}. Made by a prepared model. */
export interface Role {
  readonly preparedModel: PreparedModel
  readonly isInput: boolean
  readonly index: number
  readonly frequency: number
}

type Gate = ManagedLifetime['gate']

const NO_OPTIONS: RequestOptions = Object.freeze({})

/** What arguments came to. */
interface Call {
  readonly inputs: readonly unknown[]
  readonly outputs: readonly unknown[]
  readonly request: Request<Pool | BackendPool>
  /** What an execution holds. */
  readonly gates: readonly Gate[]
  /** Device buffers that are ordinary memory, whose uses are checked here. */
  readonly fallbacks: readonly FallbackUse[]
}

/** One use of a device buffer that is ordinary memory. */
interface FallbackUse {
  readonly buffer: FallbackBuffer
  readonly isOutput: boolean
}

/**
 * A model that a driver has taken in. Close it when it is not needed any more; closing the driver does that as well.
 *
 * Every execution holds its pools until it is answered.
 */
export class PreparedModel extends ManagedLifetime {
  /** The driver that took it in. */
  readonly driver: Driver
  readonly model: Model<Pool>
  /** @internal */
  readonly backend: BackendModel
  readonly #holds: readonly Hold[]
  #last: Call | undefined

  /** @internal */
  constructor(driver: Driver, model: Model<Pool>, backend: BackendModel) {
    super()
    this.driver = driver
    this.model = model
    this.backend = backend
    this.#holds = model.pools.map((pool) => pool.acquire())
  }

  /**
   * Executes and blocks until the answer is there: the shortest way.
   *
   * @returns the shapes of the outputs, whose values lie in the pools.
   * @throws {PoolsError} with the driver's status, the rule that was broken and the place.
   * @throws {ScopeClosedError} if the model or a pool is closed.
   */
  executeSync(args: ExecutionArguments | Request<Pool>, options: RequestOptions = NO_OPTIONS): ExecutionResult {
    const { request, gates, fallbacks } = this.#callOf(args)
    enterAll(gates)
    let hasSucceeded = false
    try {
      const result = this.backend.executeSync(request, options)
      hasSucceeded = true
      return result
    } finally {
      exitAll(gates)
      if (fallbacks.length > 0) settleAll(fallbacks, hasSucceeded)
    }
  }

  /** Executes while the event loop runs on. The pools can't be closed until it is answered. @throws as {@link executeSync} */
  async execute(
    args: ExecutionArguments | Request<Pool>,
    options: AsyncRequestOptions = NO_OPTIONS,
  ): Promise<ExecutionResult> {
    const { request, gates, fallbacks } = this.#callOf(args)
    enterAll(gates)
    let hasSucceeded = false
    try {
      const result = await this.backend.execute(request, options)
      hasSucceeded = true
      return result
    } finally {
      exitAll(gates)
      if (fallbacks.length > 0) settleAll(fallbacks, hasSucceeded)
    }
  }

  /**
   * Launches an execution that begins once the fences of others are signalled, and signals one of its own. What can be
   * checked before is: if this rejects, nothing was launched. The pools can't be closed until it is over.
   *
   * @throws {PoolsError} Q16: the dimensions of all outputs must be known; and as {@link executeSync}.
   * @example
   * const source = createFence()
   * const pool = createPool(64)
   * const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
   * const execution = await prepared.executeFenced(args, { waitFor: [source.fence] })
   * pool.write(0, new Float32Array([1, 2]))
   * source.signal()
   * await execution.fence.wait()
   * const { status } = await execution.info
   * status // 'NONE'
   * for (const owned of [execution.fence, source.fence, pool]) owned.close()
   */
  async executeFenced(args: ExecutionArguments | Request<Pool>, options: FencedOptions = {}): Promise<FencedExecution> {
    const { waitFor = [], timeout, timeoutAfterFences } = options
    checkTimeout(timeoutAfterFences, 'timeoutAfterFences')
    const { request, gates, fallbacks } = this.#callOf(args)
    const held = [...gates, ...waitFor.map(({ gate }) => gate)]
    enterAll(held)
    let launched: BackendFenced
    try {
      const fences = { waitFor: waitFor.map(({ descriptor }) => descriptor), timeout, timeoutAfterFences }
      launched = await this.backend.executeFenced(request, fences)
    } catch (error) {
      exitAll(gates)
      throw error
    } finally {
      exitAll(held.slice(gates.length))
    }
    // What others do in turn may be launched before this is over.
    settleAll(fallbacks, true)
    let hasSucceeded = false
    const info = launched.outcome
      .then((outcome) => {
        hasSucceeded = outcome.error === undefined
        return infoOf(outcome)
      })
      .finally(() => {
        exitAll(gates)
        settleAll(fallbacks, hasSucceeded)
      })
    return new FencedExecution(new Fence(launched.fence), info)
  }

  /**
   * Begins a burst: executions in a row, whose pools the driver keeps.
   *
   * @returns what the caller closes.
   */
  burst(): Burst {
    this.checkAlive()
    return new Burst(this)
  }

  /** The role of being an input of this model. */
  input(index: number, options: { readonly frequency?: number } = {}): Role {
    return { preparedModel: this, isInput: true, index, frequency: options.frequency ?? 1 }
  }

  /** The role of being an output of this model. */
  output(index: number, options: { readonly frequency?: number } = {}): Role {
    return { preparedModel: this, isInput: false, index, frequency: options.frequency ?? 1 }
  }

  /** What arguments come to. The same slices as last time, as a loop has them, come to the same request. */
  #callOf(args: ExecutionArguments | Request<Pool>): Call {
    const last = this.#last
    if (
      last !== undefined &&
      sameItems(args.inputs, last.inputs) &&
      sameItems(args.outputs, last.outputs) &&
      !('pools' in args)
    )
      return last
    const fallbacks = this.#fallbacksOf(args)
    const request = requestOf(args)
    const memory = request.pools.filter((pool): pool is Pool => pool.kind !== 'token')
    const call = {
      inputs: [...args.inputs],
      outputs: [...args.outputs],
      request,
      gates: [this.gate, ...memory.map(({ gate }) => gate)],
      fallbacks,
    }
    // States of device buffers are looked at each time.
    const isRemembered = !('pools' in args) && memory.length === request.pools.length && fallbacks.length === 0
    this.#last = isRemembered ? call : undefined
    return call
  }

  /** Checks the uses of device buffers that are ordinary memory. @throws {PoolsError} */
  #fallbacksOf(args: ExecutionArguments | Request<Pool>): readonly FallbackUse[] {
    if ('pools' in args) return []
    const uses = (list: ExecutionArguments['inputs'], isInput: boolean): FallbackUse[] =>
      list.flatMap((argument, i) => {
        if (!(argument instanceof DeviceBuffer) || argument.fallback === undefined) return []
        argument.checkAlive()
        argument.fallback.checkUse(this, isInput, i)
        return [{ buffer: argument.fallback, isOutput: !isInput }]
      })
    return [...uses(args.inputs, true), ...uses(args.outputs, false)]
  }

  protected override get label(): string {
    return 'the prepared model'
  }

  protected override release(): void {
    try {
      this.backend.release()
    } finally {
      for (const hold of this.#holds) hold.release()
    }
  }
}

const OMITTED: RequestArgument = Object.freeze({ hasNoValue: true, location: NOWHERE, dimensions: [] })

/** A device buffer's pool in a request is the buffer itself, behind its facts. */
function requestOf(args: ExecutionArguments | Request<Pool>): Request<Pool | BackendPool> {
  if ('pools' in args) return args
  const pools: (Pool | BackendPool)[] = []
  const indexOf = (pool: Pool | BackendPool): number => {
    const known = pools.indexOf(pool)
    return known === -1 ? pools.push(pool) - 1 : known
  }
  const convert = (argument: PoolSlice | DeviceBuffer | typeof OMIT): RequestArgument => {
    if (argument instanceof PoolSlice) {
      const { pool, byteOffset, byteSize, padding, dimensions } = argument
      const location = { poolIndex: indexOf(pool), offset: byteOffset, length: byteSize, padding }
      return { hasNoValue: false, location, dimensions }
    }
    if (argument === OMIT) return OMITTED
    if (argument instanceof DeviceBuffer) {
      argument.checkAlive()
      const { fallback } = argument
      if (fallback !== undefined) {
        const { pool, dimensions } = fallback
        const location = { poolIndex: indexOf(pool), offset: 0, length: pool.byteSize, padding: 0 }
        return { hasNoValue: false, location, dimensions }
      }
      return {
        hasNoValue: false,
        location: { poolIndex: indexOf(argument.facts), offset: 0, length: 0, padding: 0 },
        dimensions: [],
      }
    }
    throw new ArgumentError(
      `an argument must be a slice of a pool, a device buffer, or OMIT, got ${describe(argument)}`,
    )
  }
  return { inputs: args.inputs.map(convert), outputs: args.outputs.map(convert), pools }
}

/** Holds everything that a call uses. @throws {ScopeClosedError} and holds nothing */
function enterAll(gates: readonly Gate[]): void {
  for (let i = 0; i < gates.length; i++) {
    try {
      gates[i]!.enter()
    } catch (error) {
      exitAll(gates.slice(0, i))
      throw error
    }
  }
}

function exitAll(gates: readonly Gate[]): void {
  for (let i = 0; i < gates.length; i++) gates[i]!.exit()
}

function settleAll(fallbacks: readonly FallbackUse[], hasSucceeded: boolean): void {
  for (const { buffer, isOutput } of fallbacks) buffer.settle({ isOutput, hasSucceeded })
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
