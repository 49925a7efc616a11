import { addressOf } from './native-memory.ts'

/** The capacity that a writer keeps between records. */
const KEPT_CAPACITY = 4096

/**
 * Writes records for the C core into memory that grows, and that the next record uses again. Values are little-endian, byte strings
 * padded to a multiple of 8.
 */
export class ByteWriter {
  #view = new DataView(new ArrayBuffer(KEPT_CAPACITY))
  #bytes = new Uint8Array(this.#view.buffer)
  #length = 0

  /** Begins a record. The memory of the one before is used again. */
  clear(): void {
    if (this.#bytes.length > KEPT_CAPACITY) this.#allocate(KEPT_CAPACITY)
    else this.#bytes.fill(0, 0, this.#length)
    this.#length = 0
  }

  /** The number of bytes of the record. */
  get length(): number {
    return this.#length
  }

  /** The address of the record, which is valid until more is written. */
  get address(): number {
    return addressOf(this.#bytes)
  }

  /** Returns a copy of the record. */
  copy(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #allocate(capacity: number): void {
    this.#view = new DataView(new ArrayBuffer(capacity))
    this.#bytes = new Uint8Array(this.#view.buffer)
  }

  /** Adds zeroed bytes and returns their offset. */
  reserve(byteSize: number): number {
    const at = this.#length
    this.#length += byteSize
    if (this.#length > this.#bytes.length) {
      const written = this.#bytes.subarray(0, at)
      this.#allocate(Math.max(this.#length, 2 * this.#bytes.length))
      this.#bytes.set(written)
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

  /** Writes an integer of 64 bits, negative or not. */
  i64(value: bigint): void {
    const at = this.reserve(8)
    this.#view.setBigUint64(at, BigInt.asUintN(64, value), true)
  }

  /** Copies bytes and pads them to a multiple of 8. */
  bytes(source: Uint8Array): void {
    const at = this.reserve(Math.ceil(source.length / 8) * 8)
    this.#bytes.set(source, at)
  }
}
