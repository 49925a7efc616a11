import { addressOf, newArrayBuffer, pointerBits } from '@tenon/core/internal'
import { Temp, type Leaf } from '../shape/leaf.ts'

/** What frames and scratch memory are aligned to, in bytes. */
const ALIGNMENT = 64

/** The native memory of one call: JavaScript's own, at a fixed address. */
export interface CallMemory {
  readonly view: DataView
  /** The start of the call's memory: what the native functions are given. */
  readonly address: number
  /** The same as the bits of a float64, for {@link current}. */
  readonly pointer: number
  /**
   * Where the pointers to the tensors lie, operands before results, in bytes from the view's start: they are patched
   * before a run. Not frozen, as `types` of a call's shape.
   */
  readonly places: readonly number[]
  /** Set while a run uses the memory. */
  running: boolean
}

/** Zeroed memory for a call, aligned for a frame. */
export function allocateCall(byteSize: number): Pick<CallMemory, 'view' | 'address' | 'pointer'> {
  const buffer = newArrayBuffer(byteSize, ALIGNMENT)
  const address = addressOf(buffer)
  const base = (ALIGNMENT - (address % ALIGNMENT)) % ALIGNMENT
  return { view: new DataView(buffer, base, byteSize), address: address + base, pointer: pointerBits(address + base) }
}

/** Where the scratch of a call lies in its memory. */
export interface ScratchPlan {
  /** By the index of the leaf, in bytes from the start of the memory. */
  readonly offsets: ReadonlyMap<number, number>
  /** All bytes of the memory. */
  readonly byteSize: number
}

/** Puts the scratch among the leaves behind `used` bytes. */
export function planScratch(leaves: readonly Leaf[], used: number): ScratchPlan {
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
