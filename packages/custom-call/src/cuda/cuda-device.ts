import type { Segment, Tensor } from '@tenon/core'
import { addressOf, inspectAsText } from '@tenon/core/internal'
import { CudaContext } from './cuda-context.ts'
import type { CudaDriver } from './cuda-driver.ts'
import { CudaEvent } from './cuda-event.ts'
import { CudaModule } from './cuda-module.ts'
import { CudaStream } from './cuda-stream.ts'
import { DeviceMemory } from './device-memory.ts'
import { PinnedMemory } from './pinned-memory.ts'

const COMPUTE_CAPABILITY_MAJOR = 75
const COMPUTE_CAPABILITY_MINOR = 76

/**
 * A GPU. Close its streams, memory, events, modules and pinned ranges first. Created by {@link Cuda.openDevice}.
 *
 * @example
 * using device = Cuda.open().openDevice(0)
 * device.memoryInfo.total // in bytes
 */
export class CudaDevice extends CudaContext {
  readonly name: string
  /** The compute capability, such as `9.0` for Hopper. */
  readonly computeCapability: string

  /** @internal */
  constructor(driver: CudaDriver, ordinal: number) {
    const handle = driver.read('deviceGet', `opening device ${ordinal}`, ordinal)
    const attribute = (id: number): number =>
      driver.read('deviceGetAttribute', `describing device ${ordinal}`, id, handle)
    const computeCapability = `${attribute(COMPUTE_CAPABILITY_MAJOR)}.${attribute(COMPUTE_CAPABILITY_MINOR)}`
    const name = Buffer.alloc(256)
    const result = driver.functions.deviceGetName(addressOf(name), name.length, handle)
    driver.check(result, 'asking for the name of a device')
    super(driver, ordinal, handle)
    this.computeCapability = computeCapability
    this.name = name.toString('utf8', 0, name.indexOf(0))
  }

  /** The total memory of the device and how much of it is free, in bytes. @throws {CudaError} if the driver fails. */
  get memoryInfo(): { readonly free: number; readonly total: number } {
    this.checkAlive()
    this.enter()
    const out = new BigUint64Array(2)
    const at = addressOf(out)
    this.run('memGetInfo', 'asking for the memory of a device', at, at + 8)
    return { free: Number(out[0]), total: Number(out[1]) }
  }

  /**
   * Allocates memory on the device, aligned to 256 bytes. Its contents are undefined.
   *
   * @param byteSize at least 1.
   * @throws {CudaOutOfMemoryError} if the device does not have enough memory. @throws {ArgumentRangeError} for 0 bytes.
   */
  allocate(byteSize: number): DeviceMemory {
    return new DeviceMemory(this, byteSize)
  }

  /** Opens a queue of work that is independent of other queues. @throws {CudaError} if the driver fails. */
  openStream(): CudaStream {
    return new CudaStream(this)
  }

  /** Opens a marker, which can be recorded in streams. @throws {CudaError} if the driver fails. */
  openEvent(): CudaEvent {
    return new CudaEvent(this)
  }

  /**
   * Loads compiled kernels: PTX as text, which the driver compiles for the device, or a cubin or fatbin as bytes.
   *
   * @throws {CudaError} if the driver refuses the image.
   */
  loadModule(image: string | Uint8Array): CudaModule {
    return new CudaModule(this, image)
  }

  /**
   * Pins host memory until `close()` unpins it, so that copies run at full speed and overlap with other work. Copies of
   * memory that is not pinned are equally safe, but slower.
   *
   * @throws {CudaError} if the memory is already pinned, or the system refuses. @throws {ArgumentError} for device memory.
   */
  pin(memory: Segment | Tensor): PinnedMemory {
    return new PinnedMemory(this, memory)
  }

  /** Returns the number and name of the device. */
  override toString(): string {
    return `CudaDevice ${this.ordinal} (${this.name})${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(CudaDevice)
