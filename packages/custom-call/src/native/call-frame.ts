import { cpu, Tensor, type TensorType } from '@tenon/core'
import {
  copyBytes,
  highWord,
  LAYOUTS,
  lowWord,
  newCollected,
  Slab,
  TENSOR_ALIGNMENT,
  threadDriver,
} from '@tenon/core/internal'
import type { CallShape } from '../shape/call-shape.ts'
import { Temp, type Leaf } from '../shape/leaf.ts'

/** The place of the offset of the dimensions in the frame of a typed call. */
const DIMS_OFFSET = LAYOUTS.tn_xla_call_head_t.offsets.dims_offset

/** The alignment of frames and scratch memory, in bytes. */
const ALIGNMENT = 64

/** The bytes of a slab. A single frame keeps all of them. */
const SLAB_SIZE = 16384

/** The largest frame that is a part of a slab. A larger frame gets a buffer of its own. */
const LARGEST_PART = SLAB_SIZE / 4

/** Memory with several frames. No view of it leaves this package. */
class FrameSlab {
  readonly slab: Slab
  readonly view: DataView
  readonly words: Int32Array

  constructor(byteSize: number) {
    // The driver may start reports of crashes, which trace calls, and a call asks whether it is traced before it uses the driver.
    threadDriver()
    this.slab = new Slab(byteSize)
    const { buffer, start } = this.slab
    this.view = new DataView(buffer, start, byteSize)
    this.words = new Int32Array(buffer, start, byteSize >>> 2)
  }
}

/** The native memory of one call, which JavaScript owns, at a fixed address. The frames of other calls are around it. */
export class CallFrame {
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
  /** The types whose dimensions are in the frame. A run with other types writes those of its own. */
  types: readonly TensorType[]
  /** Whether a run uses the frame. */
  running = false
  /** The copies of row-major operands in the layouts of the call, by the index of the tensor, once a run has needed them. */
  staged: (Tensor | undefined)[] | undefined = undefined

  /** The bytes of the frame, with its scratch memory and its copies of operands. */
  byteSize: number

  constructor({ slab, view, words }: FrameSlab, start: number, byteSize: number, types: readonly TensorType[]) {
    this.view = view
    this.words = words
    this.start = start
    this.address = slab.address + start
    this.lo = lowWord(this.address)
    this.hi = highWord(this.address)
    this.byteSize = byteSize
    this.types = types
  }

  /**
   * Copies a row-major operand into memory of the frame, in the layout of the operand.
   *
   * @param index the index of the tensor.
   * @returns the copy, whose memory the frame keeps for its next run.
   */
  stage(index: number, type: TensorType, alignment: number, operand: Tensor): Tensor {
    const staged = (this.staged ??= [])
    let copy = staged[index]
    if (copy === undefined) {
      copy = new Tensor(newCollected(type.byteSize, Math.max(alignment, TENSOR_ALIGNMENT)), type, cpu)
      staged[index] = copy
      this.byteSize += type.byteSize
    }
    copyBytes(operand, copy)
    stagedBytes += type.byteSize
    return copy
  }

  /** Writes the dimensions of the tensors of a run, which the frame of an untyped call does not have. */
  resize({ types, dims }: CallShape): void {
    const { words, start } = this
    if (dims.length > 0) {
      const at = (start + words[(start + DIMS_OFFSET) / 4]!) / 4
      for (let i = 0; i < dims.length; i++) words[at + i] = dims[i]!
    }
    this.types = types
  }

  /** Copies the operands of a bound call again, which may have other values now. */
  stageAgain(operands: readonly Tensor[]): void {
    this.staged?.forEach((copy, index) => {
      if (copy === undefined) return
      copyBytes(operands[index]!, copy)
      stagedBytes += copy.type.byteSize
    })
  }
}

/** The bytes of all operands that were copied into frames. */
export let stagedBytes = 0

let current: FrameSlab | undefined

/** A frame without tensors. */
const NO_TYPES: readonly TensorType[] = Object.freeze([])

/** Allocates a zeroed frame. @param types of its tensors. @throws {AllocationError} if memory is exhausted. */
export function allocateFrame(byteSize: number, types: readonly TensorType[] = NO_TYPES): CallFrame {
  if (byteSize > LARGEST_PART) return new CallFrame(new FrameSlab(byteSize), 0, byteSize, types)
  let start = current === undefined ? -1 : current.slab.take(byteSize, ALIGNMENT)
  if (start === -1) {
    current = new FrameSlab(SLAB_SIZE)
    start = current.slab.take(byteSize, ALIGNMENT)
  }
  return new CallFrame(current!, start, byteSize, types)
}

/** The scratch of a call without scratch. */
const NO_SCRATCH: ReadonlyMap<number, number> = new Map()

/**
 * Places the scratch of a call behind the first `used` bytes, or from 0 on in other memory.
 *
 * @returns the offsets by leaf, and the size of the memory.
 */
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
