import { Segment, tensor, Tensor, tensorType } from '@tenon/core'
import { Block, checkSize, DEVICE_MEMORY, checkEnterable, wrongType, wrongValue } from '@tenon/core/internal'
import type { CudaContext } from './cuda-context.ts'
import { DeviceResource } from './device-resource.ts'

const CUDA_DEVICE_TYPE = 2

/** Stands for the bytes of device memory, which the host does not have. */
const nothing = new DataView(new ArrayBuffer(0))
const noBytes = Buffer.from(nothing.buffer)

/**
 * GPU memory. The host cannot access this memory directly. Use copies on a stream instead. Closing waits for the work that
 * uses the memory, and is refused while a bound call or a graph holds it. Created by {@link CudaDevice.allocate}.
 *
 * @example
 * using memory = device.allocate(64)
 * const x = memory.tensor('f32', [4])
 * const y = memory.tensor('f32', [4], 16)
 */
export class DeviceMemory extends DeviceResource {
  /** A segment of the whole memory. Creating a view of it throws, because the memory is not on the host. */
  readonly segment: Segment

  /** @internal */
  constructor(device: CudaContext, byteSize: number) {
    super(device, `DeviceMemory of ${String(byteSize)} bytes`, 'memFree', () => {
      if (checkSize(byteSize, 'byteSize') === 0) throw wrongValue('byteSize', 'at least 1', 0)
      return device.driver.read('memAlloc', `allocating ${byteSize} bytes`, byteSize)
    })
    this.segment = new Segment(new Block(this.gate, nothing, noBytes, this.address), 0, byteSize, DEVICE_MEMORY)
  }

  get byteSize(): number {
    return this.segment.byteSize
  }

  /**
   * Makes a tensor in this memory.
   *
   * @param byteOffset the start of the tensor in bytes, a multiple of the element size.
   * @throws {BoundsError} if the tensor exceeds the memory. @throws {AlignmentError} if `byteOffset` is not a multiple.
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

/** Returns the segment of an argument that is memory. @throws {ArgumentError} if it is not. @throws {ScopeClosedError} */
export function segmentOf(memory: unknown, place: string): Segment {
  const segment = memory instanceof Tensor ? memory.segment : memory
  if (!(segment instanceof Segment)) throw wrongType(place, 'a tensor or segment', memory)
  checkEnterable(segment.block)
  return segment
}

/** The address of a segment as a number. */
export function addressIn(segment: Segment): number {
  return segment.block.address + segment.base
}
