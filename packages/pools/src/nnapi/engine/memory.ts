import { AllocationError } from '@tenon/core'
import { addressOf, newArrayBuffer } from '@tenon/core/internal'
import { PoolsError } from '../../error-status.ts'
import { operandTypes, type OperandType } from '../model/operand-types.ts'

/** Bytes at a fixed address. Those of {@link allocatePrivate} are freed by the garbage collector with this object. */
export interface Place {
  readonly bytes: Buffer
  readonly address: number
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

export function checkWorkingBytes(byteSize: number, limit: number, values: string, hint?: string): void {
  if (byteSize <= limit) return
  const sentence = `${values} must fit ${limit} bytes of the driver, got ${byteSize}`
  throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', sentence, { hint })
}

/** Allocates zeroed private memory of a driver. @throws {PoolsError} `RESOURCE_EXHAUSTED_TRANSIENT` if there is none. */
export function allocatePrivate(byteSize: number): Place {
  try {
    const buffer = newArrayBuffer(byteSize, VALUE_ALIGNMENT)
    const start = addressOf(buffer)
    const base = (VALUE_ALIGNMENT - (start % VALUE_ALIGNMENT)) % VALUE_ALIGNMENT
    return { bytes: Buffer.from(buffer, base, byteSize), address: start + base }
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error
    const sentence = `no memory for ${byteSize} bytes of the driver`
    throw new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', sentence, { cause: error })
  }
}

export class Layout {
  byteSize = 0

  add(byteSize: number): number {
    const offset = Math.ceil(this.byteSize / VALUE_ALIGNMENT) * VALUE_ALIGNMENT
    this.byteSize = offset + byteSize
    return offset
  }
}

export function allocateAll(byteSizes: readonly number[], limit: number, values: string): readonly Place[] {
  const layout = new Layout()
  const offsets = byteSizes.map((byteSize) => layout.add(byteSize))
  checkWorkingBytes(layout.byteSize, limit, values)
  const memory = allocatePrivate(layout.byteSize)
  return byteSizes.map((byteSize, i) => placeIn(memory, offsets[i]!, byteSize))
}
