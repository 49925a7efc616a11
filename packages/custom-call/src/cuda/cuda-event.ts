import { addressOf } from '@tenon/core/internal'
import { checkIs } from './check-is.ts'
import type { CudaContext } from './cuda-context.ts'
import { DeviceResource } from './device-resource.ts'
import { StreamQueue } from './stream-queue.ts'

const NOT_READY = 600
const DEFAULT = 0

/**
 * A marker in a stream, which records whether and when the work before it was completed. Made by
 * {@link CudaDevice.openEvent}.
 *
 * @example
 * using before = device.openEvent()
 * using after = device.openEvent()
 * before.record(stream)
 * saxpy.run([dx, dy], [dy])
 * after.record(stream)
 * await stream.finished()
 * after.millisecondsSince(before)
 */
export class CudaEvent extends DeviceResource {
  /** @internal the CUevent */
  readonly handle: number

  /** @internal */
  constructor(device: CudaContext) {
    super(device, 'CudaEvent')
    const { eventCreate } = device.functions
    this.handle = this.open(() => device.driver.readHandle((out) => eventCreate(out, DEFAULT), 'creating an event'))
  }

  protected override destroy(): unknown {
    return this.device.functions.eventDestroy(this.handle)
  }

  /** Places the marker after all work that is in the stream now. @throws {CudaError} if the driver fails. */
  record(stream: StreamQueue): void {
    this.checkOpen()
    this.device.enter()
    checkIs(stream, StreamQueue, 'stream', 'CudaStream')
    stream.checkOpen()
    this.device.check(this.device.functions.eventRecord(this.handle, stream.address), 'recording an event')
    stream.keep([this])
  }

  /** Whether the work before the marker is done; true if it was never recorded. @throws {CudaError} if a kernel failed. */
  get isDone(): boolean {
    this.#enterToRead()
    const result = Number(this.device.functions.eventQuery(this.handle))
    if (result === NOT_READY) return false
    this.device.check(result, 'asking an event')
    return true
  }

  /** Waits for the work before the marker and blocks this thread. @throws {CudaError} if a kernel failed. */
  synchronize(): void {
    this.#enterToRead()
    this.device.check(this.device.functions.eventSynchronize(this.handle), 'waiting for an event')
  }

  /**
   * Returns the time on the device from an earlier marker to this one, in milliseconds.
   *
   * @throws {CudaError} if one of them was never recorded, or its work is not done.
   */
  millisecondsSince(earlier: CudaEvent): number {
    this.#enterToRead()
    checkIs(earlier, CudaEvent, 'earlier')
    earlier.checkAlive()
    const out = new Float32Array(2)
    const { eventElapsedTime } = this.device.functions
    this.device.check(eventElapsedTime(addressOf(out), earlier.handle, this.handle), 'measuring between events')
    return out[0]!
  }

  #enterToRead(): void {
    this.checkAlive()
    this.device.enter()
  }
}
