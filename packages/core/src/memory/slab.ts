import { bufferOver, hasNativeBuffers } from '../native/call/buffer-over.ts'
import { coreLibrary } from '../native/core-library.ts'
import { isMainThread } from '../native/main-thread.ts'
import { addressOf } from '../native/native-memory.ts'
import { newArrayBuffer } from './array-buffer.ts'
import type { ThreadRange } from './thread-range.ts'

/** The alignment in bytes of the first byte of a slab, and the largest alignment of its parts. */
export const SLAB_ALIGNMENT = 64

/**
 * Zeroed memory from which parts are taken one behind the other. Blocks of different owners share it, so its buffer never leaves
 * the packages of Tenon: a part of which a raw view is handed out first gets a buffer of its own over its bytes.
 *
 * The garbage collector frees a slab with the last block and the last buffer over it.
 */
export class Slab {
  readonly buffer: ArrayBufferLike
  /** The address of the first byte, a multiple of {@link SLAB_ALIGNMENT}. */
  readonly address: number
  /** The offset of the first byte in the buffer. */
  readonly start: number
  readonly byteSize: number
  /** The memory of the slab, if threads can share it. */
  private readonly range: ThreadRange | undefined
  /** The offset of the first free byte. */
  private used: number

  /**
   * @param range memory for the slab that begins at a multiple of {@link SLAB_ALIGNMENT}. By default, the slab has memory of this thread.
   * @throws {AllocationError} if memory is exhausted.
   */
  constructor(byteSize: number, range?: ThreadRange) {
    this.range = range
    this.buffer = range === undefined ? newArrayBuffer(byteSize, SLAB_ALIGNMENT) : range.buffer
    const address = addressOf(this.buffer)
    this.start = -address & (SLAB_ALIGNMENT - 1)
    this.address = address + this.start
    this.byteSize = byteSize
    this.used = 0
  }

  /**
   * Takes a part that nobody has had.
   *
   * @param byteSize a whole number from 1.
   * @param byteAlignment a power of two up to {@link SLAB_ALIGNMENT}.
   * @returns the offset of the part, or -1 if it does not fit.
   */
  take(byteSize: number, byteAlignment: number): number {
    const offset = (this.used + byteAlignment - 1) & -byteAlignment
    const end = offset + byteSize
    // Also if a number is not valid, because nobody may get what another has.
    if (!(offset >= this.used && end > offset && end <= this.byteSize)) return -1
    this.used = end
    return offset
  }

  /**
   * Returns a buffer over exactly these bytes. It keeps the slab alive, also after it was transferred.
   *
   * @throws {NativeError} if the engine refuses.
   */
  bufferOf(offset: number, byteSize: number): ArrayBufferLike {
    if (this.range !== undefined) return this.range.bufferOf(offset, byteSize)
    return bufferOver(this.address + offset, byteSize, this.buffer as ArrayBuffer)
  }
}

let known: boolean | undefined

/**
 * Whether this thread can make buffers over parts of slabs: Electron cannot, and koffi's buffers do not keep the slab alive. Those
 * of a worker do not either when the worker ends, but the user can transfer them to a thread that lives longer. Memory then
 * needs buffers of its own.
 */
export function hasSlabs(): boolean {
  return (known ??= canShare())
}

/** The number of buffers of this thread over parts of slabs that are not freed. */
export function partBuffers(): number {
  const { driver } = coreLibrary()
  return driver.kind === 'koffi' ? 0 : driver.module.parts()
}

function canShare(): boolean {
  return coreLibrary().driver.kind !== 'koffi' && isMainThread() && hasNativeBuffers()
}
