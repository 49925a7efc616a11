/** Writes records for the C core into memory that grows. Values are little-endian, byte strings padded to a multiple of 8. */
export class ByteWriter {
  #view: DataView
  #bytes: Uint8Array
  #length = 0

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(new ArrayBuffer(capacity))
    this.#view = new DataView(this.#bytes.buffer)
  }

  /** Adds zeroed bytes and returns their offset. */
  reserve(byteSize: number): number {
    const at = this.#length
    this.#length += byteSize
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(new ArrayBuffer(Math.max(this.#length, 2 * this.#bytes.length)))
      grown.set(this.#bytes.subarray(0, at))
      this.#bytes = grown
      this.#view = new DataView(grown.buffer)
    }
    return at
  }

  u32(value: number): void {
    this.patchU32(this.reserve(4), value)
  }

  /** Overwrites a u32. Negative values are written as the bits of an i32. */
  patchU32(at: number, value: number): void {
    this.#view.setUint32(at, value, true)
  }

  /** Writes a safe integer that is not negative. */
  u64(value: number): void {
    const at = this.reserve(8)
    this.#view.setUint32(at, value, true)
    this.#view.setUint32(at + 4, Math.floor(value / 2 ** 32), true)
  }

  /** Copies bytes and pads them to a multiple of 8. */
  bytes(source: Uint8Array): void {
    const at = this.reserve(Math.ceil(source.length / 8) * 8)
    this.#bytes.set(source, at)
  }

  toBytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }
}
