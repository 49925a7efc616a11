import { addressOf } from '@tenon/core/internal'
import type { CudaDevice } from './cuda-device.ts'
import { checkIs } from './check-is.ts'
import { CudaStream } from './cuda-stream.ts'
import { DeviceResource } from './device-resource.ts'

const NOT_READY = 600
const DEFAULT = 0

/**
 * A mark in a stream: whether the work before it is done, and when it was. Made by {@link CudaDevice.openEvent}.
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
  constructor(device: CudaDevice) {
    super(device)
    const { eventCreate } = device.functions
    this.handle = this.open(() => device.cuda.readHandle((out) => eventCreate(out, DEFAULT), 'creating an event'))
  }

  protected override get label(): string {
    return 'the CUDA event'
  }

  protected override destroy(): unknown {
    return this.device.functions.eventDestroy(this.handle)
  }

  /** Puts the mark behind all work that is in the stream now. @throws {CudaError} if the driver fails. */
  record(stream: CudaStream): void {
    this.#enter()
    checkIs(stream, CudaStream, 'stream')
    stream.checkAlive()
    this.device.check(this.device.functions.eventRecord(this.handle, stream.address), 'recording an event')
    stream.keep([this])
  }

  /** Whether the work before the mark is done; true if it was never recorded. @throws {CudaError} if a kernel failed. */
  get isDone(): boolean {
    this.#enter()
    const result = Number(this.device.functions.eventQuery(this.handle))
    if (result === NOT_READY) return false
    this.device.check(result, 'asking an event')
    return true
  }

  /** Waits for the work before the mark; this thread does nothing else meanwhile. @throws {CudaError} if a kernel failed. */
  synchronize(): void {
    this.#enter()
    this.device.check(this.device.functions.eventSynchronize(this.handle), 'waiting for an event')
  }

  /**
   * The time from another mark to this one on the device, in milliseconds.
   *
   * @throws {CudaError} if one of them was never recorded, or is not done.
   */
  millisecondsSince(earlier: CudaEvent): number {
    this.#enter()
    checkIs(earlier, CudaEvent, 'earlier')
    earlier.checkAlive()
    const out = new Float32Array(2)
    const { eventElapsedTime } = this.device.functions
    this.device.check(eventElapsedTime(addressOf(out), earlier.handle, this.handle), 'measuring between events')
    return out[0]!
  }

  #enter(): void {
    this.checkAlive()
    this.device.enter()
  }
}
