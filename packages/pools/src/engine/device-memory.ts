import type { PoolFacts, PoolRights } from '../pool/pool-facts.ts'
import type { Operand } from '../model/model.ts'
import { operandByteSize } from '../model/operand-types.ts'
import { allocatePrivate, type PrivateMemory } from './memory.ts'
import type { EngineModel } from './engine-model.ts'

/** One use of a device buffer: an input or output of a prepared model. */
export interface EngineRole {
  readonly model: EngineModel
  readonly isInput: boolean
  readonly index: number
}

/** Memory of a driver that only it sees, named by a token (D15, D16). */
export class DeviceMemory implements PoolFacts {
  readonly kind = 'token' as const
  readonly byteSize = 0
  readonly rights: PoolRights = 'writable'
  readonly identity: string
  readonly identityOffset = 0
  readonly token: number
  /** As far as allocation settled them. */
  readonly initialDimensions: readonly number[]
  dimensions: readonly number[]
  isInitialized = false
  readonly operand: Pick<Operand, 'type' | 'scale' | 'zeroPoint'>
  readonly memory: PrivateMemory
  readonly #roles: readonly EngineRole[]

  constructor(
    token: number,
    operand: Pick<Operand, 'type' | 'scale' | 'zeroPoint'>,
    dimensions: readonly number[],
    roles: readonly EngineRole[],
  ) {
    this.token = token
    this.identity = `token:${token}`
    this.operand = operand
    this.initialDimensions = dimensions
    this.dimensions = dimensions
    this.#roles = roles
    this.memory = allocatePrivate(operandByteSize(operand.type, dimensions))
  }

  /** The size of its value with its current dimensions, in bytes. */
  get valueSize(): number {
    return operandByteSize(this.operand.type, this.dimensions)
  }

  hasRole(model: EngineModel, isInput: boolean, index: number): boolean {
    return this.#roles.some((role) => role.model === model && role.isInput === isInput && role.index === index)
  }
}
