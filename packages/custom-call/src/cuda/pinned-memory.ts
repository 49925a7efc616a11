import { ArgumentError, type Hold, type Segment, type Tensor } from '@tenon/core'
import { DEVICE_MEMORY, type Block } from '@tenon/core/internal'
import type { CudaContext } from './cuda-context.ts'
import { addressIn, segmentOf } from './device-memory.ts'
import { DeviceResource } from './device-resource.ts'

/** The flag of memory that is pinned for every context. */
const PORTABLE = 1

/**
 * A range of page-locked host memory, for fast copies. It holds the memory open, and cannot be closed while a copy uses it.
 * Created by {@link CudaDevice.pin}.
 *
 * @example
 * const x = tensor('f32', [1 << 20])
 * using pinned = device.pin(x)
 */
export class PinnedMemory extends DeviceResource {
  /** @internal */
  readonly end: number
  readonly #memory: Hold
  /** @internal keeps memory of the garbage collector reachable while it is pinned */
  readonly block: Block

  /** @internal */
  constructor(device: CudaContext, memory: Segment | Tensor) {
    const segment = segmentOf(memory, 'memory')
    const { block, byteSize } = segment
    if ((segment.flags & DEVICE_MEMORY) !== 0) {
      throw new ArgumentError('only host memory can be pinned; device memory never moves')
    }
    const start = addressIn(segment)
    let hold!: Hold
    super(device, `PinnedMemory of ${byteSize} bytes`, 'memHostUnregister', () => {
      hold = block.gate.owner.acquire()
      const result = Number(device.functions.memHostRegister(start, byteSize, PORTABLE))
      if (result === 0) return start
      hold.release()
      throw device.error(result, `pinning ${byteSize} bytes`)
    })
    this.block = block
    this.end = start + byteSize
    this.#memory = hold
    // The chunk is never lent again, because its next segments would be pinned as well.
    block.exposed = true
    device.pinned.add(this)
  }

  protected override release(): void {
    this.device.pinned.delete(this)
    try {
      super.release()
    } finally {
      this.#memory.release()
    }
  }
}
