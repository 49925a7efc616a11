import type { Hold } from '@tenon/core'
import { inspectAsText, ManagedLifetime } from '@tenon/core/internal'
import type { CudaContext } from './cuda-context.ts'
import type { DriverFunctionName } from './driver-functions.ts'

/**
 * A resource opened on a device, which it keeps open. Closing the resource waits until no stream of the device is still
 * using it, as the driver itself does when memory is freed.
 */
export abstract class DeviceResource extends ManagedLifetime {
  readonly device: CudaContext
  /** @internal the handle of the resource in the driver, or the address of memory */
  readonly address: number
  readonly #hold: Hold
  /** The class and size, for messages. */
  readonly #kind: string
  readonly #destroy: DriverFunctionName
  /** The promise that {@link closeAsync} waits for. */
  #closing: Promise<void> | undefined

  /**
   * @internal
   *
   * @param destroy the function that frees the resource in the driver.
   * @param open opens it in the driver and returns its address.
   * @throws {ScopeClosedError} if the device is closed. @throws {CudaError} if it is lost, or the driver refuses.
   */
  constructor(device: CudaContext, kind: string, destroy: DriverFunctionName, open: () => number) {
    super()
    this.#kind = kind
    this.#destroy = destroy
    device.checkOpen()
    device.enter()
    this.device = device
    this.#hold = device.acquire()
    try {
      this.address = open()
    } catch (error) {
      this.#hold.release()
      throw error
    }
  }

  protected override get label(): string {
    return `the ${this.#kind} on CUDA device ${this.device.ordinal}`
  }

  /** Returns the class of the resource and its device. */
  override toString(): string {
    return `${this.#kind} on CUDA device ${this.device.ordinal}${this.isAlive ? '' : ' (closed)'}`
  }

  /** @internal Checks that new work can use it. @throws {ScopeClosedError} once closing begins. @throws {CudaError} if the device is lost. */
  enter(): void {
    this.checkOpen()
    this.device.enter()
  }

  /** @internal Checks that its state can be read, also while it is being closed. @throws as {@link enter} */
  enterToRead(): void {
    this.checkAlive()
    this.device.enter()
  }

  /**
   * Waits for the work that uses the resource to finish, then closes it. Blocks this thread while waiting; {@link closeAsync}
   * does not.
   *
   * @throws {ScopeClosedError} if it is closed already. @throws {ScopeHeldError} if something else holds it; it stays open.
   * @throws {CudaError} if the driver reports an error; the resource is closed regardless.
   */
  override close(): void {
    if (this.isAlive && this.gate.holds > 0) this.device.settle()
    super.close()
  }

  /** Waits for the work that uses the resource to finish, then closes it. New work is refused while it waits. @throws as {@link close} */
  async closeAsync(): Promise<void> {
    this.checkOpen()
    this.gate.open = false
    this.#closing = this.#settleAndClose()
    try {
      await this.#closing
    } finally {
      this.#closing = undefined
    }
  }

  async #settleAndClose(): Promise<void> {
    try {
      if (this.gate.holds > 0) await this.device.settled()
    } finally {
      // Unless disposal has closed it meanwhile.
      this.gate.open = this.gate.alive
    }
    if (this.gate.open) this.close()
  }

  /** Closes the resource if it is open or {@link closeAsync} waits. A second disposal does nothing. @throws as {@link close} */
  override [Symbol.dispose](): void {
    if (!this.gate.alive || (!this.gate.open && this.#closing === undefined)) return
    const waits = !this.gate.open
    this.gate.open = true
    try {
      this.close()
    } finally {
      // If it is still held, closeAsync() goes on.
      if (waits && this.gate.alive) this.gate.open = false
    }
  }

  /** Waits if {@link closeAsync} waits, and closes the resource if it is open. @throws as {@link closeAsync} */
  async [Symbol.asyncDispose](): Promise<void> {
    // An error belongs to the caller of closeAsync().
    await this.#closing?.catch(() => {})
    if (this.gate.open) await this.closeAsync()
  }

  protected override release(): void {
    this.device.enterToFree()
    const result = this.device.functions[this.#destroy](this.address)
    this.#hold.release()
    this.device.free(result, `closing ${this.label}`)
  }
}
inspectAsText(DeviceResource)
