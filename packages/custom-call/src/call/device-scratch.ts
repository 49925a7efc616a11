import { ArgumentError } from '@tenon/core'
import type { CallFrame } from '../native/call-frame.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { Temp } from '../shape/leaf.ts'

/** A stream in whose order memory is allocated and freed. */
interface ScratchStream {
  allocateScratch(byteSize: number): number
  freeScratch(address: number): void
}

/**
 * Scratch memory on a device for the frames of a call. Each frame has its own, because runs of several frames can be in the stream at
 * once; those of one frame are one after the other. Memory is allocated and freed in the order of the stream, so nothing waits for work.
 */
export class DeviceScratch {
  readonly #stream: ScratchStream
  readonly #addresses = new Map<CallFrame, number>()

  constructor(stream: ScratchStream) {
    this.#stream = stream
  }

  /** Allocates the memory of a frame. @returns its address; 0 for no bytes. @throws {CudaError} @throws {ScopeClosedError} */
  allocate(frame: CallFrame, byteSize: number): number {
    if (byteSize === 0) return 0
    const address = this.#stream.allocateScratch(byteSize)
    this.#addresses.set(frame, address)
    frame.byteSize += byteSize
    return address
  }

  /** Frees the memory of a frame that will not run again, after the work that uses it. */
  free(frame: CallFrame): void {
    const address = this.#addresses.get(frame)
    if (address === undefined) return
    this.#addresses.delete(frame)
    this.#stream.freeScratch(address)
  }

  freeAll(): void {
    for (const frame of this.#addresses.keys()) this.free(frame)
  }
}

const CPU = 1

/** Returns the scratch memory of a call on a device; undefined for a call without scratch, and on the Host. @throws {ArgumentError} */
export function deviceScratch(
  { name, deviceType, leaves }: CallShape,
  stream: Partial<ScratchStream> | undefined,
): DeviceScratch | undefined {
  if (deviceType === CPU || !leaves.some((leaf) => leaf instanceof Temp)) return undefined
  if (stream?.allocateScratch !== undefined && stream.freeScratch !== undefined)
    return new DeviceScratch(stream as ScratchStream)
  throw new ArgumentError(
    `${name} must be prepared with a CudaStream, which allocates its scratch, got another stream`,
    {
      hint: 'Pass stream: device.openStream(), or device memory as a result in place of temp().',
    },
  )
}
