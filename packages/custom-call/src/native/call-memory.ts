import type { Tensor } from '@tenon/core'
import { addressOf, highWord, lowWord, newArrayBuffer } from '@tenon/core/internal'
import { Temp, type Leaf } from '../shape/leaf.ts'

/** The alignment of frames and scratch memory, in bytes. */
const ALIGNMENT = 64

/** The native memory of one call: owned by JavaScript, at a fixed address. */
export interface CallMemory {
  readonly view: DataView
  /** The same memory in words, for addresses: see `lo` and `hi` of tensors. */
  readonly words: Int32Array
  /** The address of the first byte, which native functions take. */
  readonly address: number
  /** The low and the high 32 bits of the address, as int32. */
  readonly lo: number
  readonly hi: number
  /**
   * The indices in `words` of the pointers to the tensors, operands before results. A run overwrites the pointers. Not
   * frozen, for the same reason as the `types` of a call's shape.
   */
  readonly places: readonly number[]
  running: boolean
  /** Copies of row-major operands in the layouts of the call, by the index of the tensor, once a run has needed them. */
  staged: (Tensor | undefined)[] | undefined
}

/** Allocates zeroed memory for a call, aligned for a frame. */
export function allocateCall(byteSize: number): Omit<CallMemory, 'places'> {
  const buffer = newArrayBuffer(byteSize, ALIGNMENT)
  const start = addressOf(buffer)
  const base = (ALIGNMENT - (start % ALIGNMENT)) % ALIGNMENT
  const address = start + base
  return {
    view: new DataView(buffer, base, byteSize),
    words: new Int32Array(buffer, base, byteSize >>> 2),
    address,
    lo: lowWord(address),
    hi: highWord(address),
    running: false,
    staged: undefined,
  }
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
