import { copyRange, refuseToken } from '../engine/device-memory.ts'
import { failed } from '@tenon/pools/internal'
import { operandByteSize } from '../model/operand-types.ts'
import { createPool, type Pool, type PoolSlice } from '@tenon/pools'
import { checkCopyFrom, type BufferShape } from './allocate.ts'
import type { BackendBuffer } from './driver.ts'

interface AllowedUse {
  readonly preparedModel: object
  readonly isInput: boolean
  readonly index: number
}

/** Ordinary memory in place of a driver's (D14): a pool with the roles and the states of a device buffer (D16). */
export class FallbackBuffer implements BackendBuffer {
  readonly pool: Pool<'writable'>
  readonly dimensions: readonly number[]
  readonly #shape: BufferShape
  readonly #roles: readonly AllowedUse[]
  #isInitialized = false
  #isReleased = false

  constructor(shape: BufferShape, roles: readonly AllowedUse[]) {
    this.#shape = shape
    this.#roles = roles
    this.dimensions = shape.dimensions
    this.pool = createPool(operandByteSize(shape.operand.type, shape.dimensions), { label: 'device buffer' })
  }

  /** Checks one use by an execution. @throws {PoolsError} D17, D31 */
  checkUse(preparedModel: object, isInput: boolean, index: number): void {
    const path = `${isInput ? 'inputs' : 'outputs'}[${index}]`
    const isAllowed = this.#roles.some(
      (role) => role.preparedModel === preparedModel && role.isInput === isInput && role.index === index,
    )
    if (!isAllowed) throw refuseToken(path)
    if (isInput && !this.#isInitialized) throw failed('D17', `${path} is a device buffer that holds no value`, path)
  }

  settle(isOutput: boolean, hasSucceeded: boolean): void {
    if (isOutput) this.#isInitialized = hasSucceeded
  }

  async copyFrom(source: PoolSlice): Promise<void> {
    this.#isInitialized = false
    checkCopyFrom(this.#shape, source.dimensions)
    copyRange(source, this.pool.byteSize, 'D23', (bytes) => this.pool.write(0, bytes))
    this.#isInitialized = true
  }

  async copyTo(target: PoolSlice<'writable'>): Promise<void> {
    if (!this.#isInitialized) throw failed('D25', 'the device buffer holds no value')
    copyRange(target, this.pool.byteSize, 'D25', (bytes) => this.pool.copyOut(0, bytes))
  }

  async shape(): Promise<readonly number[] | undefined> {
    return this.#isInitialized ? this.dimensions : undefined
  }

  /** Closes the memory, once no execution uses it any more (D29). */
  release(): void {
    this.#isReleased = true
    this.closeUnused()
  }

  /** Closes the memory if it was released and no execution uses it. */
  closeUnused(): void {
    if (this.#isReleased && this.pool.gate.holds === 0) this.pool[Symbol.dispose]()
  }
}
