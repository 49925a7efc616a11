/**
 * A device buffer in memory of the driver's author, which clients never map: the part of NNAPI's `IBuffer` that a driver implements. Roles,
 * states, dimensions and limits are checked before a method is called. What a method throws fails the request, and the buffer holds no value then.
 *
 * @example
 * class OnDevice implements PlacedBuffer {
 *   #memory = new Uint8Array(0)
 *   resize = (byteSize: number): void => void (this.#memory = new Uint8Array(byteSize))
 *   copyFrom = (source: Uint8Array): void => this.#memory.set(source)
 *   copyTo = (target: Uint8Array): void => target.set(this.#memory)
 *   close = (): void => void (this.#memory = new Uint8Array(0))
 * }
 * const driver = localDriver({ allocate: () => new OnDevice() })
 * await driver.closeAsync()
 */
export interface PlacedBuffer {
  /**
   * Makes room for a value, which is written next. Called before the first value, and before each of another size. Without this method,
   * `allocate` makes the room, and the driver refuses buffers of open dimensions.
   */
  resize?(byteSize: number): void
  /** Copies a value in. The bytes may lie in memory of the client, which changes it at any time, and are valid during the call. */
  copyFrom(source: Uint8Array): void
  /** Copies the value out. The bytes may lie in memory of the client, and are valid during the call. */
  copyTo(target: Uint8Array): void
  /** Frees the memory. Called once, when the client has closed the buffer and no execution uses it. */
  close(): void
}
