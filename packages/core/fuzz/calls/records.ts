/** A file of 32-bit numbers and bytes, which generated programs read and write. */
export class RecordWriter {
  readonly #parts: Uint8Array[] = []

  numbers(...values: readonly number[]): void {
    this.#parts.push(new Uint8Array(Uint32Array.from(values).buffer))
  }

  bytes(bytes: Uint8Array): void {
    this.#parts.push(bytes)
  }

  /** Bytes with their size. */
  block(bytes: Uint8Array): void {
    this.numbers(bytes.length)
    this.bytes(bytes)
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts)
  }
}

export class RecordReader {
  readonly #bytes: Buffer
  #offset = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  number(): number {
    return this.bytes(4).readUInt32LE()
  }

  /** Bytes with their size. */
  block(): Buffer {
    return this.bytes(this.number())
  }

  bytes(size: number): Buffer {
    const end = this.#offset + size
    if (end > this.#bytes.length) throw new RangeError('the output of the program ends too early')
    const bytes = this.#bytes.subarray(this.#offset, end)
    this.#offset = end
    return bytes
  }
}
