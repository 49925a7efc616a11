import type { BufferShape } from '../driver/allocate.ts'
import { failed, refused } from '@tenon/pools/internal'
import type { PoolsError, Pool, PoolFacts, PoolRights } from '@tenon/pools'
import type { Operand } from '../model/model.ts'
import { operandByteSize } from '../model/operand-types.ts'
import type { BufferStorage } from './buffer-storage.ts'
import type { EngineModel } from './engine-model.ts'

export interface EngineRole {
  readonly model: EngineModel
  readonly isInput: boolean
  readonly index: number
}

/** Memory that only its driver sees, named by a token (D15, D16). */
export class DeviceMemory implements PoolFacts {
  readonly kind = 'token' as const
  readonly byteSize = 0
  readonly rights: PoolRights = 'writable'
  readonly identity: string
  readonly identityOffset = 0
  readonly token: number
  readonly initialDimensions: readonly number[]
  dimensions: readonly number[]
  isInitialized = false
  readonly operand: Operand
  readonly storage: BufferStorage
  readonly #roles: readonly EngineRole[]
  #users = 1

  /** Takes the storage over. */
  constructor(
    token: number,
    { operand, dimensions }: BufferShape,
    roles: readonly EngineRole[],
    storage: BufferStorage,
  ) {
    this.token = token
    this.identity = `token:${token}`
    this.operand = operand
    this.initialDimensions = dimensions
    this.dimensions = dimensions
    this.#roles = roles
    this.storage = storage
  }

  /** The size of its value with its current dimensions, in bytes. */
  get valueSize(): number {
    return operandByteSize(this.operand.type, this.dimensions)
  }

  /** The dimensions of its value; undefined if it holds none. */
  get valueDimensions(): readonly number[] | undefined {
    return this.isInitialized ? this.dimensions : undefined
  }

  retain(): void {
    this.#users++
  }

  /** @internal Ends one use. The last one frees the memory. */
  release(): void {
    if (--this.#users === 0) this.storage.release()
  }

  hasRole(model: EngineModel, isInput: boolean, index: number): boolean {
    return this.#roles.some((role) => role.model === model && role.isInput === isInput && role.index === index)
  }
}

/** The one answer for tokens that are unknown, belong to another client, or were allocated for another use (D31). */
export function refuseToken(path: string): PoolsError {
  return refused('D31', `${path} must be a device buffer allocated for this use`, path)
}

export interface PoolRange {
  readonly pool: Pool
  readonly byteOffset: number
  readonly byteSize: number
}

/**
 * Copies to or from a range of exactly `expected` bytes. `rule` is D23 into the buffer, D25 out of the buffer.
 *
 * @param copy gets the bytes of the range, or of a copy where the runtime forbids views.
 */
export function copyRange(
  range: PoolRange,
  expected: number,
  rule: 'D23' | 'D25',
  copy: (bytes: Uint8Array) => void,
): void {
  const { pool, byteOffset, byteSize } = range
  if (pool.kind === 'device-image')
    throw failed(
      'D22',
      'an image cannot be copied from or to a device buffer, because NNAPI leaves such copies to the driver',
    )
  if (byteSize !== expected) throw refused(rule, `the memory must have exactly ${expected} bytes, got ${byteSize}`)
  if (byteOffset + byteSize > pool.byteSize)
    throw refused('D22', `the memory must lie inside the pool's ${pool.byteSize} bytes`)
  const isWriting = rule === 'D25'
  if (isWriting && pool.rights !== 'writable')
    throw refused('P18', `the target must be writable, got a pool that is ${pool.rights}`)
  useBytes(range, isWriting, copy)
  if (pool.isMissing(byteOffset, byteSize)) throw failed('D22', 'the file of the memory became shorter, or has no room')
}

function useBytes(
  { pool, byteOffset, byteSize }: PoolRange,
  isWriting: boolean,
  use: (bytes: Uint8Array) => void,
): void {
  const { place } = pool
  if (place !== undefined) {
    const { buffer, byteOffset: start } = place.bytes
    pool.withAccess(isWriting, () => use(new Uint8Array(buffer, start + byteOffset, byteSize)))
    return
  }
  const bytes = new Uint8Array(byteSize)
  if (!isWriting) pool.copyOut(byteOffset, bytes)
  use(bytes)
  if (isWriting) pool.copyIn(byteOffset, bytes)
}
