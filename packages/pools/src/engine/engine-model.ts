import type { Hold } from '@tenon/core'
import { holdAll, releaseAll } from '@tenon/core/internal'
import { failed } from '../error-status.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { isFullySpecified, operandTypes } from '../model/operand-types.ts'
import { checkModel } from '../model/validate-model.ts'
import type { Pool } from '../pool/pool.ts'
import type { DriverLimits } from './limits.ts'
import { allocatePrivate, checkWorkingBytes, isAligned, Layout, placeIn } from './memory.ts'
import { Plan, type PlanInput, type Places } from './plan.ts'

const PLANS = 16

/** A model that a driver has prepared: its constants have places, and its operations are planned. */
export class EngineModel {
  readonly model: Model<Pool>
  readonly #kernels: KernelRegistry
  readonly #constants: Places
  #holds: readonly Hold[] = []
  readonly #plans = new Map<string, Plan>()
  /** The most bytes of intermediate results, and of copies. */
  readonly workingBytes: number
  #users = 1

  /**
   * Checks the model, then places its constants: those of frozen pools are used in place, others are copied.
   *
   * @throws {PoolsError} M1 to M20.
   */
  constructor(model: Model<Pool>, kernels: KernelRegistry, limits: DriverLimits) {
    checkModel(model)
    // A copy, since roles of device buffers distinguish prepared models, not the models that they were made of (D7).
    this.model = { ...model }
    this.#kernels = kernels
    this.workingBytes = limits.workingBytes
    model.main.operations.forEach(({ type }, i) => {
      if (!kernels.has(type)) throw failed('M19', `the driver has no operation ${type}`, `main.operations[${i}]`)
    })
    this.#constants = this.#takeConstants()
    const { operands, inputIndexes } = model.main
    // Without open dimensions the plan is made now, so that an impossible operation fails here.
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
  planFor(inputDimensions: PlanInput['inputDimensions'], inputValue: PlanInput['inputValue']): Plan {
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

  retain(): void {
    this.#users++
  }

  /** Ends one use. The last one releases the pools of the constants. */
  release(): void {
    if (--this.#users > 0) return
    releaseAll(this.#holds)
    this.#plans.clear()
  }

  #takeConstants(): Places {
    const { main, operandValues, pools } = this.model
    const layout = new Layout()
    const places: Places = main.operands.map(() => undefined)
    const copies: { readonly operand: number; readonly offset: number }[] = []
    const faults = pools.map((pool) => pool.faults)
    main.operands.forEach(({ lifetime, location: { poolIndex, offset, length }, type }, i) => {
      if (!lifetime.startsWith('CONSTANT')) return
      const pool = lifetime === 'CONSTANT_POOL' ? pools[poolIndex]! : undefined
      const whole = pool?.rights === 'frozen' ? pool.place : undefined
      const place = whole && placeIn(whole, offset, length)
      if (place !== undefined && isAligned(place, type)) places[i] = place
      else copies.push({ operand: i, offset: layout.add(length) })
    })
    checkWorkingBytes(layout.byteSize, this.workingBytes, "the model's constants")
    const memory = allocatePrivate(layout.byteSize)
    for (const { operand, offset } of copies) {
      const { lifetime, location } = main.operands[operand]!
      const place = placeIn(memory, offset, location.length)
      if (lifetime === 'CONSTANT_POOL') pools[location.poolIndex]!.copyOut(location.offset, place.bytes)
      else place.bytes.set(operandValues.subarray(location.offset, location.offset + location.length))
      places[operand] = place
    }
    pools.forEach((pool, i) => {
      if (pool.faults !== faults[i]) throw failed('M21', `pools[${i}] became shorter while it was read`, `pools[${i}]`)
    })
    this.#holds = holdAll(new Set(pools.filter(({ rights }) => rights === 'frozen')))
    return places
  }
}

/** A plan needs the value of an input, which only a request has. */
class PlansLater extends Error {}
