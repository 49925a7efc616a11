import { Segment, tensor, Tensor, tensorType } from '@tenon/core'
import { Block, checkSize, DEVICE_MEMORY, wrongValue } from '@tenon/core/internal'
import type { CudaContext } from './cuda-context.ts'
import { DeviceResource } from './device-resource.ts'

/** The type of CUDA devices in DLPack. */
const CUDA_DEVICE_TYPE = 2

/** Stands for the bytes of device memory, which the host does not have. */
const nothing = new DataView(new ArrayBuffer(0))
const noBytes = Buffer.from(nothing.buffer)

/**
 * Memory of a GPU. The host cannot read or write it: copies on a stream do. Closing frees it after the work that uses it,
 * and is refused while a bound call or a graph holds it. Made by {@link CudaDevice.allocate}.
 *
 * @example
 * using memory = device.allocate(64)
 * const x = memory.tensor('f32', [4])
 * const y = memory.tensor('f32', [4], 16)
 */
export class DeviceMemory extends DeviceResource {
  /** The whole memory. Its views are refused, because the memory is not the host's. */
  readonly segment: Segment

  /** @internal */
  constructor(device: CudaContext, byteSize: number) {
    super(device, `DeviceMemory of ${byteSize} bytes`)
    const address = this.open(() => {
      if (checkSize(byteSize, 'byteSize') === 0) throw wrongValue('byteSize', 'at least 1', 0)
      const { memAlloc } = device.functions
      return device.driver.readHandle((out) => memAlloc(out, byteSize), `allocating ${byteSize} bytes`)
    })
    this.segment = new Segment(new Block(this.gate, nothing, noBytes, address), 0, byteSize, DEVICE_MEMORY)
  }

  protected override destroy(): unknown {
    return this.device.functions.memFree(this.segment.block.address)
  }

  get byteSize(): number {
    return this.segment.byteSize
  }

  /**
   * Makes a tensor in this memory.
   *
   * @param byteOffset the start of the tensor in bytes, a multiple of the element size.
   * @throws {BoundsError} if the tensor reaches outside. @throws {AlignmentError} if it does not start at an element.
   */
  tensor(dtype: string, shape: readonly number[], byteOffset: number = 0): Tensor {
    const device = { type: CUDA_DEVICE_TYPE, id: this.device.ordinal }
    const { byteSize } = tensorType(dtype, shape)
    return tensor(dtype, shape, this.segment.asSlice(byteOffset, byteSize), { device })
  }
}

/** Whether memory is a device's: allocated here, or a tensor over foreign memory that is declared to be there. */
export function isOnDevice(memory: Segment | Tensor): boolean {
  return memory instanceof Tensor ? memory.device.type === CUDA_DEVICE_TYPE : (memory.flags & DEVICE_MEMORY) !== 0
}
