import { BinaryFormatError } from '../binary-format-error.ts'
import type { ByteSource } from '../byte-source.ts'

/** The sizes in bytes of the first part that is read at a place, and of the largest part. Each part is twice as large as the one before it. */
const FIRST_PART = 512
const LARGEST_PART = 65_536

const MOST_LEB = 2 ** 63

/**
 * A position in a part of a file, from which numbers are read one after the other. The bytes are read from the file as they are needed.
 * Numbers above 2^53 lose their low bits, so they stay larger than all real addresses and offsets.
 */
export class DataCursor {
  readonly littleEndian: boolean
  /** The offset of the next byte. */
  position: number
  /** The offset at which reads end. */
  end: number
  readonly #source: ByteSource
  readonly #what: string
  #part: Buffer = Buffer.alloc(0)
  #partStart = 0
  #partSize = FIRST_PART

  /** @throws {BinaryFormatError} if the range from `start` to `end` is not in the source. Errors use the name `what`. */
  constructor(source: ByteSource, littleEndian: boolean, what: string, start = 0, end: number = source.byteSize) {
    this.#source = source
    this.littleEndian = littleEndian
    this.#what = what
    this.position = start
    this.end = end
    if (start > end || end > source.byteSize) this.#fail(`the range from ${start} to ${end}`)
  }

  get left(): number {
    return this.end - this.position
  }

  skip(byteSize: number): void {
    if (byteSize > this.left) this.#fail(`${byteSize} bytes at offset ${this.position}`)
    this.position += byteSize
  }

  /** Limits the reads to the next bytes. */
  limit(byteSize: number): void {
    if (byteSize > this.left) this.#fail(`${byteSize} bytes at offset ${this.position}`)
    this.end = this.position + byteSize
  }

  u8(): number {
    const at = this.#need(1)
    return this.#part[at]!
  }

  i8(): number {
    return (this.u8() << 24) >> 24
  }

  u16(): number {
    const at = this.#need(2)
    return this.littleEndian ? this.#part.readUInt16LE(at) : this.#part.readUInt16BE(at)
  }

  u24(): number {
    const at = this.#need(3)
    return this.littleEndian ? this.#part.readUIntLE(at, 3) : this.#part.readUIntBE(at, 3)
  }

  u32(): number {
    const at = this.#need(4)
    return this.littleEndian ? this.#part.readUInt32LE(at) : this.#part.readUInt32BE(at)
  }

  u64(): number {
    const first = this.u32()
    const second = this.u32()
    return this.littleEndian ? second * 2 ** 32 + first : first * 2 ** 32 + second
  }

  /** A word of `byteSize` 1, 2, 4 or 8 bytes. */
  word(byteSize: number): number {
    if (byteSize === 8) return this.u64()
    if (byteSize === 4) return this.u32()
    if (byteSize === 2) return this.u16()
    if (byteSize === 1) return this.u8()
    throw new BinaryFormatError(`the ${this.#what} has words of ${byteSize} bytes`)
  }

  /** A number in the variable-length encoding LEB128. Bits from the 64th on are ignored. */
  uleb(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.u8()
      if (scale < MOST_LEB) value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  sleb(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.u8()
      if (scale < MOST_LEB) value += (byte & 127) * scale
      if (byte < 128) return (byte & 64) === 0 ? value : value - Math.min(scale * 128, MOST_LEB * 2)
    }
  }

  skipLeb(): void {
    while (this.u8() >= 128);
  }

  /** Moves behind the next NUL. */
  skipText(): void {
    while (true) {
      const at = this.#need(1)
      const found = this.#part.indexOf(0, at)
      const stop = found === -1 ? this.#part.length : found + 1
      this.position = this.#partStart + stop
      if (this.position > this.end) this.#fail('the NUL of a text')
      if (found !== -1) return
    }
  }

  /** The bytes before the next NUL as a text, of which the first `limit` bytes are read. */
  text(limit: number): string {
    const start = this.position
    this.skipText()
    const byteSize = Math.min(this.position - 1 - start, limit)
    return byteSize === 0 ? '' : this.#source.read(start, byteSize).toString('utf8')
  }

  /** Reads a length of DWARF, which is 4 bytes, or 12 bytes in the 64-bit format. */
  initialLength(): { readonly byteSize: number; readonly offsetSize: 4 | 8 } {
    const first = this.u32()
    if (first < 0xfffffff0) return { byteSize: first, offsetSize: 4 }
    if (first === 0xffffffff) return { byteSize: this.u64(), offsetSize: 8 }
    throw new BinaryFormatError(`the ${this.#what} has the reserved length 0x${first.toString(16)}`)
  }

  /** The index in the current part of the next bytes, behind which the position moves. */
  #need(byteSize: number): number {
    const at = this.position - this.#partStart
    if (at < 0 || at + byteSize > this.#part.length || this.position + byteSize > this.end) return this.#load(byteSize)
    this.position += byteSize
    return at
  }

  #load(byteSize: number): number {
    const { position } = this
    if (position + byteSize > this.end) this.#fail(`${byteSize} bytes at offset ${position}`)
    // The next part of a sequence is larger, and one somewhere else is small again.
    const follows = position >= this.#partStart && position <= this.#partStart + this.#part.length
    this.#partSize = follows ? Math.min(this.#partSize * 2, LARGEST_PART) : FIRST_PART
    this.#part = this.#source.read(position, Math.min(this.#partSize, this.#source.byteSize - position))
    this.#partStart = position
    this.position += byteSize
    return 0
  }

  #fail(what: string): never {
    throw new BinaryFormatError(`the ${this.#what} should have ${what}, but ends at ${this.end}`)
  }
}
