import type { Hold } from '@tenon/core'
import { holdAll, releaseAll } from '@tenon/core/internal'
import { failed } from '@tenon/pools/internal'
import type { KernelRegistry } from '../kernels/kernel.ts'
import type { Model } from '../model/model.ts'
import { isFullySpecified, operandTypes } from '../model/operand-types.ts'
import { checkModel } from '../model/validate-model.ts'
import type { Pool } from '@tenon/pools'
import { checkGraph } from './check-graph.ts'
import type { DriverLimits } from './limits.ts'
import { type Account, isAligned, type MemoryKind, placeIn, PrivateMemory } from './memory.ts'
import { Plan, type PlanInput, type PlanModel, type Places } from './plan.ts'

/** The most plans that are kept for one model. */
const MAX_PLANS = 16

/** A model that a driver has prepared: its constants have places, and its operations are planned. */
export class EngineModel {
  readonly id: number
  readonly model: Model<Pool>
  readonly #planModel: Omit<PlanModel, 'memory'>
  #holds: readonly Hold[] = []
  readonly #plans = new Map<string, Plan>()
  readonly #constants: PrivateMemory
  /** Makes memory for a plan, or for copies of a request's values, whose owner releases it. */
  readonly newMemory: () => PrivateMemory
  #users = 1

  /** Uses the constants of frozen pools in place and copies the others. @throws {PoolsError} M1 to M19, and M21 */
  constructor(
    id: number,
    model: Model<Pool>,
    kernels: KernelRegistry,
    { workingBytes }: DriverLimits,
    account: Account<MemoryKind>,
  ) {
    checkModel(model)
    this.id = id
    // A copy, because the roles of device buffers identify prepared models, not the models from which they were prepared (D7).
    this.model = { ...model }
    this.newMemory = () => new PrivateMemory(account, 'workingBytes', workingBytes)
    this.#constants = this.newMemory()
    model.main.operations.forEach(({ type }, i) => {
      if (!kernels.has(type)) throw failed('M19', `the driver has no operation ${type}`, `main.operations[${i}]`)
    })
    this.#planModel = { kernels, graph: model.main, constants: this.#takeConstants() }
    const { operands, inputIndexes } = model.main
    // If all input dimensions are specified, the plan is made now, so that an operation that cannot run fails here.
    const hasAllDimensions = inputIndexes.every((i) => isFullySpecified(operands[i]!.type, operands[i]!.dimensions))
    // The value of a scalar input, such as an axis, is known only in a request.
    const hasScalarInput = inputIndexes.some((i) => !operandTypes[operands[i]!.type].isTensor)
    try {
      if (!hasAllDimensions || hasScalarInput || !this.#canPlanNow()) this.#checkOperations()
    } catch (error) {
      this.release()
      throw error
    }
  }

  /** Plans the operations, and returns false if the plan depends on values of requests. */
  #canPlanNow(): boolean {
    const { operands, inputIndexes } = this.model.main
    try {
      this.planFor(new Map(inputIndexes.map((i) => [i, operands[i]!.dimensions])), () => {
        throw new PlansLater()
      })
      return true
    } catch (error) {
      if (error instanceof PlansLater) return false
      throw error
    }
  }

  /** Refuses a model with an operation that no request can run. */
  #checkOperations(): void {
    const { kernels, graph, constants } = this.#planModel
    const firstError = checkGraph(kernels, graph, (i) => constants[i]?.bytes).find((error) => error !== undefined)
    if (firstError !== undefined) throw firstError
  }

  /** Returns the kept plan for these dimensions, or makes one. */
  planFor(inputDimensions: PlanInput['inputDimensions'], inputValue: PlanInput['inputValue']): Plan {
    const key = [...inputDimensions.values()].map((dimensions) => dimensions?.join() ?? '-').join(';')
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const memory = this.newMemory()
    let plan: Plan
    try {
      plan = new Plan({ ...this.#planModel, memory, inputDimensions, inputValue })
    } catch (error) {
      memory.release()
      throw error
    }
    if (!plan.isVolatile) {
      if (this.#plans.size === MAX_PLANS) this.#forget(this.#plans.entries().next().value!)
      this.#plans.set(key, plan)
    }
    return plan
  }

  retain(): void {
    this.#users++
  }

  /** Ends one use. The last one releases the holds of the pools, the plans, and the memory of the constants. */
  release(): void {
    if (--this.#users > 0) return
    releaseAll(this.#holds)
    for (const entry of this.#plans) this.#forget(entry)
    this.#constants.release()
  }

  #forget([key, plan]: readonly [string, Plan]): void {
    this.#plans.delete(key)
    plan.memory.release()
  }

  #takeConstants(): Places {
    const { main, operandValues, pools } = this.model
    const places: Places = main.operands.map(() => undefined)
    const copied: number[] = []
    main.operands.forEach(({ lifetime, location: { poolIndex, offset, length }, type }, i) => {
      if (!lifetime.startsWith('CONSTANT')) return
      const pool = lifetime === 'CONSTANT_POOL' ? pools[poolIndex]! : undefined
      const whole = pool?.rights === 'frozen' ? pool.place : undefined
      const place = whole && placeIn(whole, offset, length)
      if (place !== undefined && isAligned(place, type)) places[i] = place
      else copied.push(i)
    })
    const sizes = copied.map((operand) => main.operands[operand]!.location.length)
    const copies = this.#constants.allocateAll(sizes, "the model's constants")
    copied.forEach((operand, i) => {
      const {
        lifetime,
        location: { poolIndex, offset, length },
      } = main.operands[operand]!
      const { bytes } = (places[operand] = copies[i]!)
      if (lifetime !== 'CONSTANT_POOL') return bytes.set(operandValues.subarray(offset, offset + length))
      const pool = pools[poolIndex]!
      pool.copyOut(offset, bytes)
      if (!pool.isMissing(offset, length)) return
      this.#constants.release()
      throw failed('M21', `the file of pools[${poolIndex}] became shorter`, `pools[${poolIndex}]`)
    })
    this.#holds = holdAll(new Set(pools.filter(({ rights }) => rights === 'frozen')))
    return places
  }
}

/** A plan needs the value of an input, which only a request has. */
class PlansLater extends Error {}
