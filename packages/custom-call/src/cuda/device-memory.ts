import { ArgumentRangeError, Segment, tensor, Tensor, tensorType } from '@tenon/core'
import { Block, checkSize, DEVICE_MEMORY } from '@tenon/core/internal'
import type { CudaDevice } from './cuda-device.ts'
import { DeviceResource } from './device-resource.ts'

/** How DLPack numbers CUDA devices. */
const CUDA_DEVICE_TYPE = 2

/** Device memory has no bytes for the Host. */
const nothing = new DataView(new ArrayBuffer(0))
const noBytes = Buffer.from(nothing.buffer)

/**
 * Memory of a GPU. The Host can't read or write it: copies do, on a stream. It is freed when it is closed, which waits for the work
 * that uses it, and is refused while a bound call or a graph does.
 * Made by {@link CudaDevice.allocate}.
 *
 * @example
 * using memory = device.allocate(64)
 * const x = memory.tensor('f32', [4])
 * const y = memory.tensor('f32', [4], 16)
 */
export class DeviceMemory extends DeviceResource {
  /** All of it. Its view is refused: the memory is not the Host's. */
  readonly segment: Segment

  /** @internal */
  constructor(device: CudaDevice, byteSize: number) {
    super(device)
    const address = this.open(() => {
      if (checkSize(byteSize, 'byteSize') === 0) throw new ArgumentRangeError('byteSize must be at least 1, got 0')
      const { memAlloc } = device.functions
      return device.cuda.readHandle((out) => memAlloc(out, byteSize), `allocating ${byteSize} bytes`)
    })
    this.segment = new Segment(new Block(this.gate, nothing, noBytes, address), 0, byteSize, DEVICE_MEMORY)
  }

  protected override get label(): string {
    return `${this.byteSize} bytes of CUDA device ${this.device.ordinal}`
  }

  protected override destroy(): unknown {
    return this.device.functions.memFree(this.segment.block.address)
  }

  get byteSize(): number {
    return this.segment.byteSize
  }

  /**
   * A tensor in this memory.
   *
   * @param byteOffset where it starts, in bytes; a multiple of the element's size.
   * @throws {BoundsError} if it reaches outside. @throws {AlignmentError} if it starts between elements.
   */
  tensor(dtype: string, shape: readonly number[], byteOffset: number = 0): Tensor {
    const device = { type: CUDA_DEVICE_TYPE, id: this.device.ordinal }
    const { byteSize } = tensorType(dtype, shape)
    return tensor(dtype, shape, this.segment.asSlice(byteOffset, byteSize), { device })
  }
}

/** Whether memory is a device's: allocated here, or a tensor over foreign memory that is said to be there. */
export function isOnDevice(memory: Segment | Tensor): boolean {
  return memory instanceof Tensor ? memory.device.type === CUDA_DEVICE_TYPE : (memory.flags & DEVICE_MEMORY) !== 0
}
