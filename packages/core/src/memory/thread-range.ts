import { coreLibrary } from '../native/core-library.ts'
import type { NodeModule } from '../native/driver/node-module.ts'
import { addressOf } from '../native/native-memory.ts'
import { allocationError } from './array-buffer.ts'
import type { PartSource } from './block.ts'

/** The functions of `tenon.node` for memory of several threads. */
type RangeModule = Required<Pick<NodeModule, 'openRange' | 'rangeBuffer' | 'closeRange'>>

let known: RangeModule | null | undefined

/** The functions, or null where they do not work: Node.js before 22.20, Windows, Deno, Electron, and koffi's driver. */
function rangeModule(): RangeModule | null {
  return known === undefined ? (known = findModule()) : known
}

function findModule(): RangeModule | null {
  const { driver } = coreLibrary()
  if (driver.kind === 'koffi' || driver.module.openRange === undefined) return null
  const module = driver.module as RangeModule
  const handle = module.openRange(1, 1, 0)
  if (handle === undefined || handle === 0) return null
  try {
    module.rangeBuffer(handle, 0, 1)
    return module
  } catch {
    return null
  } finally {
    module.closeRange(handle)
  }
}

/**
 * Zeroed native memory of which several threads can have buffers. The garbage collectors of these threads free it together: it lives as
 * long as one of them has a buffer over a part of it, so no thread closes it.
 */
export class ThreadRange implements PartSource {
  /** A buffer over all of the memory, which never leaves the packages of Tenon. */
  readonly buffer: SharedArrayBuffer
  readonly address: number
  readonly start = 0
  readonly #handle: number

  private constructor(buffer: SharedArrayBuffer, handle: number) {
    this.buffer = buffer
    this.address = addressOf(buffer)
    this.#handle = handle
  }

  /**
   * Allocates memory.
   *
   * @param byteSize a whole number from 1. @param byteAlignment a power of two.
   * @returns undefined where this runtime cannot share native memory between threads.
   * @throws {AllocationError} if memory is exhausted.
   */
  static open(byteSize: number, byteAlignment: number): ThreadRange | undefined {
    const module = rangeModule()
    if (module === null) return undefined
    const handle = module.openRange(byteSize, byteAlignment, 0)
    if (handle === 0 || handle === undefined) throw allocationError(byteSize, byteAlignment)
    try {
      return new ThreadRange(module.rangeBuffer(handle, 0, byteSize), handle)
    } catch (error) {
      throw allocationError(byteSize, byteAlignment, error)
    } finally {
      // The buffer keeps the memory, and with it the handle.
      module.closeRange(handle)
    }
  }

  /** Returns a buffer over exactly these bytes, which can be posted to other threads. @throws an error of the engine */
  bufferOf(byteOffset: number, byteSize: number): SharedArrayBuffer {
    return rangeModule()!.rangeBuffer(this.#handle, byteOffset, byteSize)
  }
}

/** A mapping that several threads use. It is unmapped when the opener has closed it and no thread has a buffer over it any more. */
export interface ThreadMapping {
  /** The mapping for other threads. */
  readonly buffer: SharedArrayBuffer
  /** Ends the use by the opener. It does not refer to the buffer. */
  readonly close: () => void
}

/** Lets other threads use a mapping, which belongs to the result from then on. Returns undefined as {@link ThreadRange.open}. */
export function shareMapping(address: number, byteSize: number): ThreadMapping | undefined {
  const module = rangeModule()
  const handle = module?.openRange(byteSize, 1, address)
  if (module === null || !handle) return undefined
  const buffer = module.rangeBuffer(handle, 0, byteSize)
  return { buffer, close: () => module.closeRange(handle) }
}
