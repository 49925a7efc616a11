import type { Hold } from '@tenon/core'
import { inspectAsText, ManagedLifetime } from '@tenon/core/internal'
import type { CudaContext } from './cuda-context.ts'

/**
 * Something that is opened on a device and keeps the device open. Closing it waits for the work of the device's streams
 * that uses it, as the driver itself does when memory is freed.
 */
export abstract class DeviceResource extends ManagedLifetime {
  readonly device: CudaContext
  readonly #hold: Hold

  /** The class and size, for messages. */
  readonly #kind: string

  /** @throws {ScopeClosedError} if the device is closed. @throws {CudaError} if it is lost. */
  constructor(device: CudaContext, kind: string) {
    super()
    this.#kind = kind
    device.checkOpen()
    device.enter()
    this.device = device
    this.#hold = device.acquire()
  }

  /** Frees the resource in the driver. @returns the CUresult. */
  protected abstract destroy(): unknown

  protected override get label(): string {
    return `the ${this.#kind} on CUDA device ${this.device.ordinal}`
  }

  /** The class and the device, for people. */
  override toString(): string {
    return `${this.#kind} on CUDA device ${this.device.ordinal}${this.isAlive ? '' : ' (closed)'}`
  }

  /** @internal Runs what opens the resource in the driver, and releases the device if that throws. */
  protected open<Result>(body: () => Result): Result {
    try {
      return body()
    } catch (error) {
      this.#hold.release()
      throw error
    }
  }

  /**
   * Closes the resource after the work that uses it. This thread is blocked meanwhile; {@link closeAsync} does not block.
   *
   * @throws {ScopeClosedError} if it is closed already. @throws {ScopeHeldError} if something else holds it: it stays open.
   * @throws {CudaError} if the driver refuses; it is closed all the same.
   */
  override close(): void {
    if (this.isAlive && this.gate.holds > 0) this.device.settle()
    super.close()
  }

  /** Closes the resource after the work that uses it. Meanwhile no new work can use it. @throws as {@link close} */
  async closeAsync(): Promise<void> {
    this.checkOpen()
    this.gate.open = false
    if (this.gate.holds > 0) await this.device.settled()
    this.gate.open = true
    this.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.gate.open) await this.closeAsync()
  }

  protected override release(): void {
    this.device.enterToFree()
    const result = this.destroy()
    this.#hold.release()
    this.device.free(result, `closing ${this.label}`)
  }
}
inspectAsText(DeviceResource)
