import { failed } from '@tenon/pools/internal'
import { checkCopyFrom, type BufferShape } from '../driver/allocate.ts'
import { type BufferStorage, OwnStorage, PlacedStorage } from '../engine/buffer-storage.ts'
import { copyRange, DeviceMemory, type EngineRole, type PoolRange, refuseToken } from '../engine/device-memory.ts'
import { type DriverLimits, exhausted } from '../engine/limits.ts'
import { type Account, type MemoryKind, PrivateMemory } from '../engine/memory.ts'
import type { PlaceBuffer } from '../engine/place-buffer.ts'
import type { PlacedBuffer } from '../engine/placed-buffer.ts'
import { TokenSource } from '../engine/token-source.ts'
import { isFullySpecified, operandByteSize } from '../model/operand-types.ts'
import type { Budget } from './budget.ts'

/** The device buffers of a client by their tokens, and the bytes that they have together. */
export class ClientBuffers implements Account<MemoryKind> {
  readonly #limits: DriverLimits
  readonly #budget: Budget
  readonly #place: PlaceBuffer | undefined
  readonly #buffers = new Map<number, DeviceMemory>()
  readonly #tokens = new TokenSource()
  #byteSize = 0

  constructor(limits: DriverLimits, budget: Budget, place: PlaceBuffer | undefined) {
    this.#limits = limits
    this.#budget = budget
    this.#place = place
  }

  add(shape: BufferShape, roles: readonly EngineRole[]): DeviceMemory {
    if (this.#buffers.size >= this.#limits.buffers) throw exhausted(`${this.#limits.buffers} device buffers`)
    const buffer = new DeviceMemory(this.#tokens.next(), shape, roles, this.#storageFor(shape))
    this.#buffers.set(buffer.token, buffer)
    return buffer
  }

  /** @throws {PoolsError} D31 */
  get(token: number, path: string): DeviceMemory {
    const buffer = this.#buffers.get(token)
    if (buffer === undefined) throw refuseToken(path)
    return buffer
  }

  has(buffer: DeviceMemory): boolean {
    return this.#buffers.get(buffer.token) === buffer
  }

  /** Releases a device buffer. Unknown tokens are ignored. @returns whether there was one */
  release(token: number): boolean {
    const buffer = this.#buffers.get(token)
    if (buffer === undefined) return false
    this.#buffers.delete(token)
    buffer.release()
    return true
  }

  /** Copies into a device buffer (D22 to D24), which holds no value if that fails. @throws {PoolsError} */
  copyFrom(buffer: DeviceMemory, source: PoolRange, given: readonly number[]): void {
    buffer.isInitialized = false
    const { operand, initialDimensions, storage } = buffer
    const dimensions = checkCopyFrom({ operand, dimensions: initialDimensions }, given)
    const byteSize = operandByteSize(operand.type, dimensions)
    copyRange(source, byteSize, 'D23', (bytes) => {
      storage.resize(byteSize)
      storage.write(bytes)
    })
    buffer.dimensions = dimensions
    buffer.isInitialized = true
  }

  copyTo({ isInitialized, valueSize, storage }: DeviceMemory, target: PoolRange): void {
    if (!isInitialized) throw failed('D25', 'the device buffer holds no value')
    copyRange(target, valueSize, 'D25', (bytes) => storage.read(bytes))
  }

  close(): void {
    for (const token of [...this.#buffers.keys()]) this.release(token)
  }

  /** Counts bytes of buffers, of which the client may have only so many. @throws {PoolsError} */
  take(kind: MemoryKind, byteSize: number): void {
    const { bufferBytes } = this.#limits
    if (this.#byteSize + byteSize > bufferBytes) throw exhausted(`${bufferBytes} bytes of device buffers`)
    this.#budget.take(kind, byteSize)
    this.#byteSize += byteSize
  }

  give(kind: MemoryKind, byteSize: number): void {
    this.#budget.give(kind, byteSize)
    this.#byteSize -= byteSize
  }

  #storageFor({ operand, dimensions }: BufferShape): BufferStorage {
    const byteSize = operandByteSize(operand.type, dimensions)
    const newMemory = (): PrivateMemory => new PrivateMemory(this, 'bufferBytes', Infinity)
    if (this.#place === undefined) return new OwnStorage(newMemory, byteSize)
    // The bytes are counted before the driver's author takes memory for them.
    this.take('bufferBytes', byteSize)
    let placed: PlacedBuffer | undefined
    try {
      placed = this.#place({ ...operand, dimensions }, byteSize)
    } finally {
      if (placed === undefined) this.give('bufferBytes', byteSize)
    }
    if (placed === undefined) return new OwnStorage(newMemory, byteSize)
    const storage = new PlacedStorage(placed, this, byteSize)
    if (placed.resize !== undefined || isFullySpecified(operand.type, dimensions)) return storage
    storage.release()
    throw failed('D11', 'a device buffer of open size is not supported by this driver')
  }
}
