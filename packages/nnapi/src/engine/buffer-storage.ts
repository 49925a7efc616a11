import { failed } from '@tenon/pools/internal'
import { PoolsError } from '@tenon/pools'
import { type Account, type MemoryKind, type Place, placeIn, type PrivateMemory } from './memory.ts'
import type { PlacedBuffer } from './placed-buffer.ts'

/** Where a device buffer has its value. */
export interface BufferStorage {
  /** The buffer of the driver's author; undefined in memory of the engine. */
  readonly placed: PlacedBuffer | undefined
  /** Makes room for a value. Its bytes are undefined afterwards, until it is written. @throws {PoolsError} */
  resize(byteSize: number): void
  /** Returns the place of a value for which there is room; undefined if it was placed elsewhere. */
  place(byteSize: number): Place | undefined
  write(source: Uint8Array): void
  read(target: Uint8Array): void
  release(): void
}

/** The factor by which memory grows, so that a value that grows by little each time is not moved each time. */
const GROWTH = 1.5

/** Memory of the engine. */
export class OwnStorage implements BufferStorage {
  readonly placed = undefined
  readonly #newMemory: () => PrivateMemory
  #memory: PrivateMemory
  #place: Place

  /** @throws {PoolsError} `RESOURCE_EXHAUSTED_TRANSIENT` */
  constructor(newMemory: () => PrivateMemory, byteSize: number) {
    this.#newMemory = newMemory
    this.#memory = newMemory()
    this.#place = this.#memory.allocate(byteSize, 'a device buffer')
  }

  resize(byteSize: number): void {
    const capacity = this.#place.bytes.length
    if (byteSize <= capacity) return
    const roomy = Math.ceil(capacity * GROWTH)
    if (roomy > byteSize && this.#tryReplace(roomy)) return
    this.#replace(byteSize)
  }

  place(byteSize: number): Place {
    return placeIn(this.#place, 0, byteSize)
  }

  write(source: Uint8Array): void {
    this.#place.bytes.set(source)
  }

  read(target: Uint8Array): void {
    target.set(this.#place.bytes.subarray(0, target.length))
  }

  release(): void {
    this.#memory.release()
  }

  #tryReplace(byteSize: number): boolean {
    try {
      this.#replace(byteSize)
      return true
    } catch (error) {
      if (!(error instanceof PoolsError)) throw error
      return false
    }
  }

  /** Frees the memory first, because a value that is replaced is not read again. */
  #replace(byteSize: number): void {
    this.#memory.release()
    this.#place = NOTHING
    this.#memory = this.#newMemory()
    this.#place = this.#memory.allocate(byteSize, 'a device buffer')
  }
}

const NOTHING: Place = { bytes: Buffer.alloc(0), address: 0 }

/** Memory of the driver's author, whose bytes are counted as those of the engine are. */
export class PlacedStorage implements BufferStorage {
  readonly placed: PlacedBuffer
  readonly #account: Account<MemoryKind>
  #byteSize: number
  /** Whether the author's memory has room for a value of this size. */
  #hasRoom = false

  /** Takes the buffer over, whose bytes were counted. */
  constructor(placed: PlacedBuffer, account: Account<MemoryKind>, byteSize: number) {
    this.placed = placed
    this.#account = account
    this.#byteSize = byteSize
  }

  resize(byteSize: number): void {
    const more = byteSize - this.#byteSize
    if (more === 0 && this.#hasRoom) return
    if (more !== 0 && this.placed.resize === undefined)
      throw failed('D20', `a device buffer of ${this.#byteSize} bytes has no room for ${byteSize}`)
    if (more > 0) this.#account.take('bufferBytes', more)
    else this.#account.give('bufferBytes', -more)
    this.#byteSize = byteSize
    this.#hasRoom = false
    this.placed.resize?.(byteSize)
    this.#hasRoom = true
  }

  place(): undefined {
    return undefined
  }

  write(source: Uint8Array): void {
    this.placed.copyFrom(source)
  }

  read(target: Uint8Array): void {
    this.placed.copyTo(target)
  }

  release(): void {
    this.#account.give('bufferBytes', this.#byteSize)
    this.placed.close()
  }
}
