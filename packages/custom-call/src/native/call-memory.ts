import { addressOf, newArrayBuffer, pointerBits } from '@tenon/core/internal'
import { Temp, type Leaf } from '../shape/leaf.ts'

/** The alignment of frames and scratch memory, in bytes. */
const ALIGNMENT = 64

/** The native memory of one call: owned by JavaScript, at a fixed address. */
export interface CallMemory {
  readonly view: DataView
  /** The address of the first byte, which native functions take. */
  readonly address: number
  /** The address as the bits of a float64, for {@link current}. */
  readonly pointer: number
  /**
   * The offsets of the pointers to the tensors in the view, operands before results. A run overwrites the pointers. Not
   * frozen, for the same reason as the `types` of a call's shape.
   */
  readonly places: readonly number[]
  running: boolean
}

/** Allocates zeroed memory for a call, aligned for a frame. */
export function allocateCall(byteSize: number): Pick<CallMemory, 'view' | 'address' | 'pointer'> {
  const buffer = newArrayBuffer(byteSize, ALIGNMENT)
  const address = addressOf(buffer)
  const base = (ALIGNMENT - (address % ALIGNMENT)) % ALIGNMENT
  return { view: new DataView(buffer, base, byteSize), address: address + base, pointer: pointerBits(address + base) }
}

/** Places the scratch of a call behind the first `used` bytes. @returns the offsets by leaf, and the size of the memory. */
export function planScratch(
  leaves: readonly Leaf[],
  used: number,
): { readonly offsets: ReadonlyMap<number, number>; readonly byteSize: number } {
  const offsets = new Map<number, number>()
  let byteSize = used
  leaves.forEach((leaf, index) => {
    if (!(leaf instanceof Temp)) return
    byteSize = Math.ceil(byteSize / ALIGNMENT) * ALIGNMENT
    offsets.set(index, byteSize)
    byteSize += leaf.type.byteSize
  })
  return { offsets, byteSize }
}
