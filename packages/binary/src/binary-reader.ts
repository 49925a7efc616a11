import { BinaryFormatError } from './binary-format-error.ts'
import type { ByteSource } from './byte-source.ts'

/** The largest table that is read, in bytes. Tables of real libraries are far smaller. */
const MAX_TABLE_BYTES: number = 256 * 1024 * 1024

/** The number of bytes of a text that are read at a time. */
const TEXT_BLOCK_BYTES = 256

/** The fields of tables that have 32 bits in all files. */
const WORDS_OF_32_BITS: ReadonlySet<string> = new Set(['name', 'type', 'link', 'info'])

/** Reads the structures of a binary file, and checks every offset and size, because all of them come from the file. */
export class BinaryReader {
  readonly littleEndian: boolean
  /** The bytes, for readers that check each range themselves. */
  readonly source: ByteSource

  constructor(source: ByteSource, littleEndian: boolean) {
    this.source = source
    this.littleEndian = littleEndian
  }

  get byteSize(): number {
    return this.source.byteSize
  }

  withEndianness(littleEndian: boolean): BinaryReader {
    return new BinaryReader(this.source, littleEndian)
  }

  part(offset: number, byteSize: number, what: string): BinaryReader {
    this.#check(offset, byteSize, what)
    const source = this.source
    return new BinaryReader(
      { byteSize, read: (start, length) => source.read(offset + start, length) },
      this.littleEndian,
    )
  }

  /** @throws {BinaryFormatError} if the bytes exceed the file or {@link MAX_TABLE_BYTES}. Errors use the name `what`. */
  fields(offset: number, byteSize: number, what: string): Fields {
    this.#check(offset, byteSize, what)
    if (byteSize > MAX_TABLE_BYTES) {
      throw new BinaryFormatError(`the ${what} has ${byteSize} bytes, more than the limit of ${MAX_TABLE_BYTES}`)
    }
    return new Fields(this.source.read(offset, byteSize), this.littleEndian, what)
  }

  /**
   * Reads the bytes before the first NUL, or undefined if no NUL is among the first `limit` bytes.
   *
   * @throws {BinaryFormatError} if the file ends before the NUL
   */
  untilNul(offset: number, limit: number, what: string): Buffer | undefined {
    const parts: Buffer[] = []
    for (let done = 0; done < limit; done += TEXT_BLOCK_BYTES) {
      const left = Math.min(TEXT_BLOCK_BYTES, limit - done)
      const block = this.fields(offset + done, left, what).bytes
      const end = block.indexOf(0)
      if (end !== -1) return Buffer.concat([...parts, block.subarray(0, end)])
      parts.push(block)
    }
    return undefined
  }

  /**
   * Reads a table as objects of the fields in `layout`, which has their offsets and the size of an entry. The fields `name`,
   * `type`, `link` and `info` have 32 bits, and the other fields have `bits` bits. A table at offset 0 is absent.
   */
  table<Field extends string>(
    what: string,
    offset: number,
    count: number,
    entrySize: number,
    { size, ...layout }: Readonly<Record<Field | 'size', number>>,
    bits: 32 | 64,
  ): Record<Field, number>[] {
    if (offset === 0 || count === 0) return []
    if (entrySize < size) {
      throw new BinaryFormatError(`an entry of the ${what} should have ${size} bytes, but has ${entrySize}`)
    }
    const fields = this.fields(offset, count * entrySize, what)
    const columns = Object.entries<number>(layout).map(
      ([name, at]) => [name, at, WORDS_OF_32_BITS.has(name) ? 32 : bits] as const,
    )
    const entries: Record<string, number>[] = []
    for (let index = 0, start = 0; index < count; index++, start += entrySize) {
      const entry: Record<string, number> = {}
      for (const [name, at, width] of columns) entry[name] = fields.word(start + at, width)
      entries.push(entry)
    }
    return entries
  }

  #check(offset: number, byteSize: number, what: string): void {
    if (offset + byteSize <= this.byteSize) return
    throw new BinaryFormatError(
      `the ${what} should be ${byteSize} bytes at offset ${offset}, but the file ends at ${this.byteSize}`,
      { hint: 'The file is truncated or damaged: build or copy it again.' },
    )
  }
}

/** The fields of one structure or table: numbers at byte offsets, checked against its size. */
export class Fields {
  readonly bytes: Buffer
  readonly #view: DataView
  readonly #littleEndian: boolean
  readonly #what: string

  constructor(bytes: Buffer, littleEndian: boolean, what: string) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#littleEndian = littleEndian
    this.#what = what
  }

  get byteSize(): number {
    return this.bytes.length
  }

  part(offset: number, byteSize: number): Fields {
    this.#check(offset, byteSize)
    return new Fields(this.bytes.subarray(offset, offset + byteSize), this.#littleEndian, this.#what)
  }

  u8(offset: number): number {
    return this.#view.getUint8(this.#check(offset, 1))
  }

  u16(offset: number): number {
    return this.#view.getUint16(this.#check(offset, 2), this.#littleEndian)
  }

  u32(offset: number): number {
    return this.#view.getUint32(this.#check(offset, 4), this.#littleEndian)
  }

  u64(offset: number): bigint {
    return this.#view.getBigUint64(this.#check(offset, 8), this.#littleEndian)
  }

  /** Reads a 64-bit file offset, size or count, which is always below 2^53. */
  size64(offset: number): number {
    const [low, high] = this.#littleEndian ? [offset, offset + 4] : [offset + 4, offset]
    const value = this.u32(high) * 2 ** 32 + this.u32(low)
    if (value > Number.MAX_SAFE_INTEGER) {
      throw new BinaryFormatError(
        `the ${this.#what} has the offset or size 0x${this.u64(offset).toString(16)}, which exceeds any file`,
      )
    }
    return value
  }

  word(offset: number, bits: 32 | 64): number {
    return bits === 64 ? this.size64(offset) : this.u32(offset)
  }

  /** Reads the text at `offset`, which ends at a NUL or at the end of the structure. */
  text(offset: number): string {
    this.#check(offset, 0)
    const end = this.bytes.indexOf(0, offset)
    return this.bytes.toString('utf8', offset, end === -1 ? this.bytes.length : end)
  }

  #check(offset: number, byteSize: number): number {
    if (offset + byteSize > this.bytes.length) {
      throw new BinaryFormatError(
        `the ${this.#what} is cut off: ${this.bytes.length} bytes, needed ${offset + byteSize}`,
      )
    }
    return offset
  }
}

/**
 * A table of NUL-terminated names. Symbols may share one name, which a hostile file could turn into gigabytes of text.
 * Therefore the text that is read is limited to a multiple of the table's size.
 */
export class StringTable {
  readonly #fields: Fields
  #budget: number

  constructor(fields: Fields) {
    this.#fields = fields
    this.#budget = 16 * fields.byteSize + 65_536
  }

  at(offset: number): string {
    if (offset >= this.#fields.byteSize) {
      throw new BinaryFormatError(`a name is at ${offset} of a string table of ${this.#fields.byteSize} bytes`)
    }
    const text = this.#fields.text(offset)
    this.#budget -= text.length + 1
    if (this.#budget < 0) throw new BinaryFormatError('the names are far larger in total than their string table')
    return text
  }

  /** Reads at most `limit` bytes of a name, for readers that keep few of them. An offset outside of the table is an empty name. */
  peek(offset: number, limit: number): string {
    const { bytes } = this.#fields
    const part = bytes.subarray(offset, offset + limit)
    const end = part.indexOf(0)
    return part.toString('utf8', 0, end === -1 ? part.length : end)
  }
}
