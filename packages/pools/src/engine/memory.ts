import { AllocationError } from '@tenon/core'
import { addressOf, newArrayBuffer } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'

/** Zeroed private memory of a driver at a fixed address, freed by the garbage collector with this object. */
export interface PrivateMemory {
  readonly bytes: Buffer
  readonly address: number
}

/** The alignment of values in it, in bytes. */
const VALUE_ALIGNMENT = 64

/** @throws {PoolsError} `RESOURCE_EXHAUSTED_TRANSIENT` if there is no memory. */
export function allocatePrivate(byteSize: number): PrivateMemory {
  try {
    const buffer = newArrayBuffer(byteSize, VALUE_ALIGNMENT)
    const start = addressOf(buffer)
    const base = (VALUE_ALIGNMENT - (start % VALUE_ALIGNMENT)) % VALUE_ALIGNMENT
    return { bytes: Buffer.from(buffer, base, byteSize), address: start + base }
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error
    throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `no memory for ${byteSize} bytes of the driver`, {
      cause: error,
    })
  }
}

/** Allocates places one after another. */
export class Layout {
  byteSize = 0

  /** Returns the offset of a new place. */
  add(byteSize: number): number {
    const offset = Math.ceil(this.byteSize / VALUE_ALIGNMENT) * VALUE_ALIGNMENT
    this.byteSize = offset + byteSize
    return offset
  }
}
