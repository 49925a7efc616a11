import type { Hold } from '@tenon/core'
import { failed, PoolsError } from '../error-status.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { isFullySpecified, operandTypes } from '../model/operand-types.ts'
import { checkModel } from '../model/validate-model.ts'
import type { Pool } from '../pool/pool.ts'
import type { DriverLimits } from './limits.ts'
import { allocatePrivate, Layout } from './memory.ts'
import { Plan, type Places } from './plan.ts'

/** How many plans a model with open dimensions keeps. */
const PLANS = 16

/** A model that a driver has taken in: its constants in place, its operations planned. */
export class EngineModel {
  readonly model: Model<Pool>
  readonly #kernels: KernelRegistry
  readonly #constants: Places
  readonly #holds: Hold[] = []
  readonly #plans = new Map<string, Plan>()
  /** The most bytes of intermediate results, and of copies, that the driver gives it. */
  readonly workingBytes: number
  #users = 1

  /**
   * Checks everything, then takes the constants: frozen pools are used in place, others copied.
   *
   * @throws {PoolsError} M1 to M20.
   */
  constructor(model: Model<Pool>, kernels: KernelRegistry, limits: DriverLimits) {
    checkModel(model)
    // A copy, since roles of device buffers tell prepared models apart, not the models that they were made of (D7).
    this.model = { ...model }
    this.#kernels = kernels
    this.workingBytes = limits.workingBytes
    model.main.operations.forEach(({ type }, i) => {
      if (!kernels.has(type)) {
        throw failed('M19', `the driver has no operation ${type}`, `main.operations[${i}]`)
      }
    })
    this.#constants = this.#takeConstants()
    const { operands, inputIndexes } = model.main
    // Planned now if nothing is open, so that what can't work fails here.
    const isSettled = inputIndexes.every((i) => isFullySpecified(operands[i]!.type, operands[i]!.dimensions))
    const hasScalarInput = inputIndexes.some((i) => !operandTypes[operands[i]!.type].isTensor)
    try {
      if (isSettled && !hasScalarInput) {
        this.planFor(new Map(inputIndexes.map((i) => [i, operands[i]!.dimensions])), () => {
          throw new PlansLater()
        })
      }
    } catch (error) {
      if (error instanceof PlansLater) return
      this.release()
      throw error
    }
  }

  /** The plan for inputs of certain shapes. @throws {PoolsError} */
  planFor(
    inputDimensions: ReadonlyMap<number, readonly number[] | undefined>,
    inputValue: (operand: number) => Buffer,
  ): Plan {
    const key = [...inputDimensions.values()].map((dimensions) => dimensions?.join() ?? '-').join(';')
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const plan = new Plan({
      kernels: this.#kernels,
      graph: this.model.main,
      constants: this.#constants,
      inputDimensions,
      inputValue,
      workingBytes: this.workingBytes,
    })
    if (!plan.isVolatile) {
      if (this.#plans.size === PLANS) this.#plans.delete(this.#plans.keys().next().value!)
      this.#plans.set(key, plan)
    }
    return plan
  }

  /** Keeps it for one more user: it goes with the last {@link release}. */
  retain(): void {
    this.#users++
  }

  /** Lets go of the pools of its constants, once nobody uses it any more. */
  release(): void {
    if (--this.#users > 0) return
    for (const hold of this.#holds) hold.release()
    this.#holds.length = 0
    this.#plans.clear()
  }

  #takeConstants(): Places {
    const { main, operandValues, pools } = this.model
    const layout = new Layout()
    const places: Places = main.operands.map(() => undefined)
    const copies: { readonly operand: number; readonly length: number; readonly offset: number }[] = []
    const faults = pools.map((pool) => pool.faults)
    main.operands.forEach(({ lifetime, location: { poolIndex, offset, length }, type }, i) => {
      if (lifetime !== 'CONSTANT_COPY' && lifetime !== 'CONSTANT_POOL') return
      const pool = lifetime === 'CONSTANT_POOL' ? pools[poolIndex]! : undefined
      const bytes = pool?.rights === 'frozen' ? pool.bytes : undefined
      if (bytes !== undefined && (pool!.address + offset) % operandTypes[type].byteSize === 0) {
        places[i] = { bytes: bytes.subarray(offset, offset + length), address: pool!.address + offset }
      } else copies.push({ operand: i, length, offset: layout.add(length) })
    })
    if (layout.byteSize > this.workingBytes) {
      throw new PoolsError(
        'RESOURCE_EXHAUSTED_TRANSIENT',
        `the model's constants need ${layout.byteSize} bytes of the driver`,
      )
    }
    const memory = allocatePrivate(layout.byteSize)
    for (const { operand, length, offset } of copies) {
      const bytes = memory.bytes.subarray(offset, offset + length)
      const { lifetime, location } = main.operands[operand]!
      if (lifetime === 'CONSTANT_POOL') pools[location.poolIndex]!.copyOut(location.offset, bytes)
      else bytes.set(operandValues.subarray(location.offset, location.offset + length))
      places[operand] = { bytes, address: memory.address + offset }
    }
    pools.forEach((pool, i) => {
      if (pool.faults !== faults[i]) throw failed('M21', `pools[${i}] became shorter while it was read`, `pools[${i}]`)
    })
    for (const pool of new Set(pools)) if (pool.rights === 'frozen') this.#holds.push(pool.acquire())
    return places
  }
}

/** Planning needs the value of an input, which only a request has. */
class PlansLater extends Error {}
