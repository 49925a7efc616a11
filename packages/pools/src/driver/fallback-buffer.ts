import { refuseToken } from '../engine/execute.ts'
import { PoolsError } from '../error-status.ts'
import { operandByteSize } from '../model/operand-types.ts'
import { createPool } from '../pool/create-pool.ts'
import type { Pool } from '../pool/pool.ts'
import type { PoolSlice } from '../pool/pool-slice.ts'
import { checkCopyFrom, type BufferShape } from './allocate.ts'
import type { BackendBuffer } from './driver.ts'
import type { PreparedModel, Role } from './prepared-model.ts'

/** Ordinary memory in place of a driver's (D14): a pool with the roles and the states of a device buffer (D16). */
export class FallbackBuffer implements BackendBuffer {
  readonly pool: Pool<'writable'>
  readonly dimensions: readonly number[]
  readonly #shape: BufferShape
  readonly #roles: readonly Role[]
  #isInitialized = false
  #isReleased = false

  constructor(shape: BufferShape, roles: readonly Role[]) {
    this.#shape = shape
    this.#roles = roles
    this.dimensions = shape.dimensions
    this.pool = createPool(operandByteSize(shape.operand.type, shape.dimensions), { label: 'device buffer' })
  }

  /** Checks one use of it by an execution. @throws {PoolsError} D17, D31 */
  checkUse(preparedModel: PreparedModel, isInput: boolean, index: number): void {
    const path = `${isInput ? 'inputs' : 'outputs'}[${index}]`
    const isAllowed = this.#roles.some(
      (role) => role.preparedModel === preparedModel && role.isInput === isInput && role.index === index,
    )
    if (!isAllowed) throw refuseToken(path)
    if (isInput && !this.#isInitialized)
      throw new PoolsError('GENERAL_FAILURE', `${path} is a device buffer that holds no value (rule D17)`, {
        rule: 'D17',
        path,
      })
  }

  /** An execution that used it is over. */
  settle(use: { readonly isOutput: boolean; readonly hasSucceeded: boolean }): void {
    if (use.isOutput) this.#isInitialized = use.hasSucceeded
    if (this.#isReleased) this.release()
  }

  async copyFrom({ pool, byteOffset, byteSize, dimensions }: PoolSlice): Promise<void> {
    this.#isInitialized = false
    checkCopyFrom(this.#shape, dimensions)
    this.#checkSize(pool, byteSize, 'D23')
    const faults = pool.faults
    this.pool.write(0, pool.read(byteOffset, byteSize))
    checkFaults(pool, faults)
    this.#isInitialized = true
  }

  async copyTo({ pool, byteOffset, byteSize }: PoolSlice<'writable'>): Promise<void> {
    if (!this.#isInitialized)
      throw new PoolsError('GENERAL_FAILURE', 'the device buffer holds no value (rule D25)', { rule: 'D25' })
    this.#checkSize(pool, byteSize, 'D25')
    if ((pool as Pool).rights !== 'writable')
      throw new PoolsError('INVALID_ARGUMENT', `the target must be writable, it is ${pool.rights} (rule P18)`, {
        rule: 'P18',
      })
    const faults = pool.faults
    pool.write(byteOffset, this.pool.read(0))
    checkFaults(pool, faults)
  }

  /** Closes the memory, once no execution uses it any more (D29). */
  release(): void {
    this.#isReleased = true
    if (this.pool.gate.holds === 0) this.pool[Symbol.dispose]()
  }

  #checkSize({ kind }: Pool, byteSize: number, rule: string): void {
    if (kind === 'device-image')
      throw new PoolsError('GENERAL_FAILURE', 'an image can not be copied from or to a device buffer (rule D22)', {
        rule: 'D22',
      })
    if (byteSize === this.pool.byteSize) return
    const sentence = `the memory must have exactly ${this.pool.byteSize} bytes, got ${byteSize} (rule ${rule})`
    throw new PoolsError('INVALID_ARGUMENT', sentence, { rule })
  }
}

function checkFaults(pool: Pool, before: number): void {
  if (pool.faults === before) return
  throw new PoolsError('GENERAL_FAILURE', 'the file became shorter during the copy (rule D22)', { rule: 'D22' })
}
