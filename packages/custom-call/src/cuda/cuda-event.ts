import { addressOf } from '@tenon/core/internal'
import { checkIs } from './check-is.ts'
import type { CudaContext } from './cuda-context.ts'
import { DeviceResource } from './device-resource.ts'
import { StreamQueue } from './stream-queue.ts'

const DEFAULT = 0

/**
 * A marker in a stream, which records whether and when the work before the marker was completed. Created by
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
  /** @internal */
  constructor(device: CudaContext) {
    super(device, 'CudaEvent', 'eventDestroy', () => device.driver.read('eventCreate', 'creating an event', DEFAULT))
  }

  /** Places the marker after all work that is in the stream now. @throws {CudaError} if the driver fails. */
  record(stream: StreamQueue): void {
    this.enter()
    checkIs(stream, StreamQueue, 'stream', 'CudaStream')
    stream.checkOpen()
    this.device.run('eventRecord', 'recording an event', this.address, stream.address)
    stream.keep([this])
  }

  /** Whether the work before the marker is done. True if it was never recorded. @throws {CudaError} if a kernel failed. */
  get isDone(): boolean {
    this.enterToRead()
    return this.device.isDone('eventQuery', this.address, 'asking an event')
  }

  /** Blocks this thread until the work before the marker is done. @throws {CudaError} if a kernel failed. */
  synchronize(): void {
    this.enterToRead()
    this.device.run('eventSynchronize', 'waiting for an event', this.address)
  }

  /**
   * Returns the time on the device from an earlier marker to this one, in milliseconds.
   *
   * @throws {CudaError} if one of the markers was never recorded, or the work before it is not done.
   */
  millisecondsSince(earlier: CudaEvent): number {
    this.enterToRead()
    checkIs(earlier, CudaEvent, 'earlier')
    earlier.checkAlive()
    const out = new Float32Array(2)
    this.device.run('eventElapsedTime', 'measuring between events', addressOf(out), earlier.address, this.address)
    return out[0]!
  }
}
