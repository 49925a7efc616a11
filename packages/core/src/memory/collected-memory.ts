import { addressOf } from '../native/native-memory.ts'
import { newArrayBuffer } from './array-buffer.ts'
import { Block, exposures } from './block.ts'
import { globalGate } from './global-lifetime.ts'
import { guardMode } from './guard-mode.ts'
import { newGuardedMemory } from './guarded-memory.ts'
import { Segment } from './segment.ts'
import { hasSlabs, partBuffers, Slab, SLAB_ALIGNMENT } from './slab.ts'

/** The alignment in bytes of memory that tensors allocate, as XLA and vector instructions need it. */
export const TENSOR_ALIGNMENT = 64

/** The bytes of a slab. A single survivor keeps all of them. */
const SLAB_SIZE = 16384

/** The largest part. Larger memory gets a buffer of its own, so that little of a slab is left over. */
const LARGEST_PART = SLAB_SIZE / 8

/** How many allocations without a raw view weigh as much as one raw view. */
const VIEW_WEIGHT = 4

/** The weight of raw views at which memory gets buffers of its own. */
const MANY_VIEWS = 64

/** The buffers over parts that may wait for the garbage collector and the event loop. */
const MOST_BUFFERS = 4096

let slab: Slab | undefined
let weight = 0
let seen = 0

/**
 * Takes memory of the garbage collector from the current slab of this thread.
 *
 * A raw view of a part costs twice as much as a raw view of a buffer, and its memory is freed only when the event loop goes on.
 * While a quarter of all memory is viewed, or many such views are alive, memory gets buffers of its own.
 *
 * @returns undefined if the memory is to have a buffer of its own.
 * @throws {AllocationError} if memory is exhausted.
 */
function sharedBlock(byteSize: number, byteAlignment: number): Block | undefined {
  if (byteSize > LARGEST_PART || byteAlignment > SLAB_ALIGNMENT) return undefined
  const views = exposures.collected - seen
  if (weight !== 0 || views !== 0) {
    seen += views
    const heavier = views !== 0 && partBuffers() > MOST_BUFFERS ? 2 * MANY_VIEWS : weight + VIEW_WEIGHT * views - 1
    weight = Math.min(Math.max(heavier, 0), 2 * MANY_VIEWS)
    if (weight > MANY_VIEWS) return undefined
  }
  const size = byteSize === 0 ? 1 : byteSize
  let offset = slab === undefined ? -1 : slab.take(size, byteAlignment)
  if (offset === -1) {
    if (guardMode || !hasSlabs()) return undefined
    slab = new Slab(SLAB_SIZE)
    offset = slab.take(size, byteAlignment)
    if (offset === -1) return undefined
  }
  return Block.ofPart(globalGate, slab!, offset, size)
}

/** A block over a whole buffer of which only this block is known. */
export const blockOver = (buffer: ArrayBuffer, address: number): Block =>
  new Block(globalGate, new DataView(buffer), Buffer.from(buffer), address)

/** Zeroed memory of the garbage collector. The numbers are those that `allocate()` accepts. @throws {AllocationError} */
export function newCollected(byteSize: number, byteAlignment: number = TENSOR_ALIGNMENT): Segment {
  const shared = sharedBlock(byteSize, byteAlignment)
  if (shared !== undefined) return new Segment(shared, 0, byteSize, 0)
  if (guardMode) {
    const guarded = newGuardedMemory(byteSize, byteAlignment, 'gcAllocator', true)
    if (guarded !== undefined) return new Segment(blockOver(guarded.buffer, guarded.address), 0, byteSize, 0)
  }
  const buffer = newArrayBuffer(byteSize, byteAlignment)
  const address = addressOf(buffer)
  const base = (byteAlignment - (address % byteAlignment)) % byteAlignment
  return new Segment(blockOver(buffer, address), base, byteSize, 0)
}
