import { ArgumentError, Segment, Tensor, type Hold } from '@tenon/core'
import { checkEnterable, DEVICE_MEMORY, wrongType, type Block } from '@tenon/core/internal'
import type { CudaContext, PinnedRange } from './cuda-context.ts'
import { DeviceResource } from './device-resource.ts'

/** The flag of memory that is pinned for every context. */
const PORTABLE = 1

/**
 * A range of host memory that is locked in place for copies. It keeps the memory open, and cannot be closed while a copy
 * uses it. Made by {@link CudaDevice.pin}.
 *
 * @example
 * const x = tensor('f32', [1 << 20])
 * using pinned = device.pin(x)
 */
export class PinnedMemory extends DeviceResource implements PinnedRange {
  /** @internal */
  readonly start: number
  /** @internal */
  readonly end: number
  readonly #memory: Hold
  /** @internal keeps memory of the garbage collector reachable while it is pinned */
  readonly block: Block

  /** @internal */
  constructor(device: CudaContext, memory: Segment | Tensor) {
    const { block, base, byteSize } = hostSegmentOf(memory)
    super(device, `PinnedMemory of ${byteSize} bytes`)
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
    // The chunk is never lent again, because its next segments would be pinned as well.
    block.exposed = true
    device.pinned.add(this)
  }

  protected override destroy(): unknown {
    this.device.pinned.delete(this)
    const result = this.device.functions.memHostUnregister(this.start)
    this.#memory.release()
    return result
  }
}

function hostSegmentOf(memory: unknown): Segment {
  const segment = memory instanceof Tensor ? memory.segment : memory
  if (!(segment instanceof Segment)) throw wrongType('memory', 'a tensor or segment', memory)
  if ((segment.flags & DEVICE_MEMORY) !== 0) {
    throw new ArgumentError('only host memory can be pinned; device memory never moves')
  }
  checkEnterable(segment.block)
  return segment
}
