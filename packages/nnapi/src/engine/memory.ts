import { AllocationError } from '@tenon/core'
import { addressOf, newArrayBuffer } from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'
import { operandTypes, type OperandType } from '../model/operand-types.ts'
import type { PlacedBuffer } from './placed-buffer.ts'

/** Bytes at a fixed address, or a placed buffer. */
export interface Place {
  readonly bytes: Buffer
  readonly address: number
  /** The buffer of the driver's author, in which the value lies instead. */
  readonly placed?: PlacedBuffer
}

/** The alignment of values in it, in bytes. */
const VALUE_ALIGNMENT = 64

export function placeIn({ bytes, address }: Place, offset: number, byteSize: number): Place {
  return { bytes: bytes.subarray(offset, offset + byteSize), address: address + offset }
}

/** Whether a value of a type can be used in place: its elements lie at multiples of their size. */
export function isAligned({ address }: Place, type: OperandType): boolean {
  return address % operandTypes[type].byteSize === 0
}

export class OperandLayout {
  byteSize = 0

  add(byteSize: number): number {
    const offset = Math.ceil(this.byteSize / VALUE_ALIGNMENT) * VALUE_ALIGNMENT
    this.byteSize = offset + byteSize
    return offset
  }
}

/** Counts the bytes of a driver. */
export interface Account<Kind extends string = string> {
  /** @throws {PoolsError} `RESOURCE_EXHAUSTED_TRANSIENT` if there are too many. */
  take(kind: Kind, byteSize: number): void
  give(kind: Kind, byteSize: number): void
}

/** The kinds of private memory. */
export type MemoryKind = 'workingBytes' | 'bufferBytes'

/**
 * Zeroed private memory of a driver for one owner: a model, a plan, a request or a device buffer. Its owner releases it at once,
 * because the garbage collector frees memory long after the clients that used it have left.
 */
export class PrivateMemory {
  readonly #kind: MemoryKind
  readonly #account: Account<MemoryKind>
  readonly #limit: number
  readonly #buffers: ArrayBuffer[] = []
  #byteSize = 0
  #isReleased = false

  /** @param limit the most bytes of this owner. */
  constructor(account: Account<MemoryKind>, kind: MemoryKind, limit: number) {
    this.#account = account
    this.#kind = kind
    this.#limit = limit
  }

  /** Whether the memory was released: what lies in it cannot be used any more. */
  get isReleased(): boolean {
    return this.#isReleased
  }

  /**
   * Allocates memory; `values` are its contents, for the message.
   *
   * @throws {PoolsError} `RESOURCE_EXHAUSTED_TRANSIENT` if the owner or the driver has too much, or there is none.
   */
  allocate(byteSize: number, values: string, hint?: string): Place {
    const wanted = this.#byteSize + byteSize
    if (wanted > this.#limit) {
      const sentence = `${values} must fit ${this.#limit} bytes of the driver, got ${wanted}`
      throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', sentence, { hint })
    }
    this.#account.take(this.#kind, byteSize)
    let buffer: ArrayBuffer
    try {
      buffer = newArrayBuffer(byteSize, VALUE_ALIGNMENT)
    } catch (error) {
      this.#account.give(this.#kind, byteSize)
      if (!(error instanceof AllocationError)) throw error
      const sentence = `no memory for ${byteSize} bytes of the driver`
      throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', sentence, { cause: error })
    }
    this.#byteSize = wanted
    this.#buffers.push(buffer)
    const start = addressOf(buffer)
    const base = (VALUE_ALIGNMENT - (start % VALUE_ALIGNMENT)) % VALUE_ALIGNMENT
    return { bytes: Buffer.from(buffer, base, byteSize), address: start + base }
  }

  /** Allocates one block, and returns the place of each value in it. @throws as {@link allocate} */
  allocateAll(byteSizes: readonly number[], values: string): readonly Place[] {
    const layout = new OperandLayout()
    const offsets = byteSizes.map((byteSize) => layout.add(byteSize))
    const memory = this.allocate(layout.byteSize, values)
    return byteSizes.map((byteSize, i) => placeIn(memory, offsets[i]!, byteSize))
  }

  /** Frees the memory, and detaches the views of kernels that kept them. Idempotent. */
  release(): void {
    this.#isReleased = true
    for (const buffer of this.#buffers) buffer.transfer(0)
    this.#buffers.length = 0
    this.#account.give(this.#kind, this.#byteSize)
    this.#byteSize = 0
  }
}
