import type { Hold } from '@tenon/core'
import { ManagedLifetime } from '@tenon/core/internal'
import type { CudaDevice } from './cuda-device.ts'

/**
 * What is opened on a device, which stays open as long. Closing it waits for the work of the device's streams that uses it, as the
 * driver itself does when memory is freed.
 */
export abstract class DeviceResource extends ManagedLifetime {
  readonly device: CudaDevice
  readonly #hold: Hold

  /** @throws {ScopeClosedError} if the device is closed. @throws {CudaError} if it is lost. */
  constructor(device: CudaDevice) {
    super()
    device.enter()
    this.device = device
    this.#hold = device.acquire()
  }

  /** Gives it back to the driver. @returns the CUresult */
  protected abstract destroy(): unknown

  /** @internal runs what opens it in the driver; if that throws, the device is let go */
  protected open<Result>(body: () => Result): Result {
    try {
      return body()
    } catch (error) {
      this.#hold.release()
      throw error
    }
  }

  /**
   * Closes it, after the work that uses it; this thread does nothing else meanwhile.
   *
   * @throws {ScopeClosedError} if it is closed already. @throws {ScopeHeldError} if something else holds it: it stays open.
   * @throws {CudaError} if the driver refuses; it is closed all the same.
   */
  override close(): void {
    if (this.isAlive && this.gate.holds > 0) this.device.settle()
    super.close()
  }

  protected override release(): void {
    this.device.leave()
    const result = this.destroy()
    this.#hold.release()
    this.device.free(result, `closing ${this.label}`)
  }
}
