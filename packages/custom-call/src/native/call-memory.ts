import type { Tensor } from '@tenon/core'
import { highWord, lowWord, Slab } from '@tenon/core/internal'
import { Temp, type Leaf } from '../shape/leaf.ts'

/** The alignment of frames and scratch memory, in bytes. */
const ALIGNMENT = 64

/** The bytes of a slab. A single call keeps all of them. */
const SLAB_SIZE = 16384

/** The largest memory of a call that is a part of a slab. Larger memory gets a buffer of its own. */
const LARGEST_PART = SLAB_SIZE / 4

/** Memory with the parts of several calls. No view of it leaves this package. */
class CallSlab {
  readonly slab: Slab
  readonly view: DataView
  readonly words: Int32Array

  constructor(byteSize: number) {
    this.slab = new Slab(byteSize)
    const { buffer, start } = this.slab
    this.view = new DataView(buffer, start, byteSize)
    this.words = new Int32Array(buffer, start, byteSize >>> 2)
  }
}

/** The native memory of one call: owned by JavaScript, at a fixed address. The memory of other calls is around it. */
export class CallMemory {
  readonly view: DataView
  /** The same memory in words, for addresses: see `lo` and `hi` of tensors. */
  readonly words: Int32Array
  /** The offset of the first byte in `view`. */
  readonly start: number
  /** The address of the first byte, which native functions take. */
  readonly address: number
  /** The low and the high 32 bits of the address, as int32. */
  readonly lo: number
  readonly hi: number
  /**
   * The indices in `words` of the pointers to the tensors, operands before results. A run overwrites the pointers. Not
   * frozen, for the same reason as the `types` of a call's shape.
   */
  places: readonly number[] = []
  running = false
  /** Copies of row-major operands in the layouts of the call, by the index of the tensor, once a run has needed them. */
  staged: (Tensor | undefined)[] | undefined = undefined

  constructor({ slab, view, words }: CallSlab, start: number) {
    this.view = view
    this.words = words
    this.start = start
    this.address = slab.address + start
    this.lo = lowWord(this.address)
    this.hi = highWord(this.address)
  }
}

let current: CallSlab | undefined

/** Allocates zeroed memory for a call, aligned for a frame. @throws {AllocationError} if memory is exhausted. */
export function allocateCall(byteSize: number): CallMemory {
  if (byteSize > LARGEST_PART) return new CallMemory(new CallSlab(byteSize), 0)
  let start = current === undefined ? -1 : current.slab.take(byteSize, ALIGNMENT)
  if (start === -1) {
    current = new CallSlab(SLAB_SIZE)
    start = current.slab.take(byteSize, ALIGNMENT)
  }
  return new CallMemory(current!, start)
}

/** The scratch of a call without scratch. */
const NO_SCRATCH: ReadonlyMap<number, number> = new Map()

/** Places the scratch of a call behind the first `used` bytes. @returns the offsets by leaf, and the size of the memory. */
export function planScratch(
  leaves: readonly Leaf[],
  used: number,
): { readonly offsets: ReadonlyMap<number, number>; readonly byteSize: number } {
  let offsets: Map<number, number> | undefined
  let byteSize = used
  for (const [index, leaf] of leaves.entries()) {
    if (!(leaf instanceof Temp)) continue
    byteSize += (ALIGNMENT - (byteSize % ALIGNMENT)) % ALIGNMENT
    offsets ??= new Map()
    offsets.set(index, byteSize)
    byteSize += leaf.type.byteSize
  }
  return { offsets: offsets ?? NO_SCRATCH, byteSize }
}
