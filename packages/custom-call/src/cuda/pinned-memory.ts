import { ArgumentError, Segment, Tensor, type Hold } from '@tenon/core'
import { checkEnterable, describe, DEVICE_MEMORY, type Block } from '@tenon/core/internal'
import type { CudaDevice } from './cuda-device.ts'
import { DeviceResource } from './device-resource.ts'

/** Usable by every context. */
const PORTABLE = 1

/**
 * A range of the Host's memory that is locked in place for copies. It keeps the memory open, and can't be closed while a copy
 * uses it. Made by {@link CudaDevice.pin}.
 *
 * @example
 * const x = tensor('f32', [1 << 20])
 * using pinned = device.pin(x)
 */
export class PinnedMemory extends DeviceResource {
  /** @internal */
  readonly start: number
  /** @internal */
  readonly end: number
  readonly #memory: Hold
  /** @internal memory of the garbage collector must not go while it is pinned */
  readonly block: Block

  /** @internal */
  constructor(device: CudaDevice, memory: Segment | Tensor) {
    super(device)
    const { block, base, byteSize } = this.open(() => segmentOfHost(memory))
    this.block = block
    this.start = block.address + base
    this.end = this.start + byteSize
    this.#memory = this.open(() => {
      const hold = block.gate.owner.acquire()
      const result = Number(device.functions.memHostRegister(this.start, byteSize, PORTABLE))
      if (result === 0) return hold
      hold.release()
      throw device.error(result, `pinning ${byteSize} bytes`)
    })
    // Never lent again: what comes after would be pinned as well.
    block.exposed = true
    device.pinned.add(this)
  }

  protected override get label(): string {
    return `${this.end - this.start} pinned bytes`
  }

  protected override destroy(): unknown {
    this.device.pinned.delete(this)
    const result = this.device.functions.memHostUnregister(this.start)
    this.#memory.release()
    return result
  }
}

function segmentOfHost(memory: Segment | Tensor): Segment {
  const segment: unknown = memory instanceof Tensor ? memory.segment : memory
  if (!(segment instanceof Segment)) {
    throw new ArgumentError(`what is pinned must be a tensor or segment, got ${describe(memory)}`)
  }
  if ((segment.flags & DEVICE_MEMORY) !== 0) {
    throw new ArgumentError('memory of the Host is pinned, that of a device is not pinned: it never moves')
  }
  checkEnterable(segment.block)
  return segment
}
