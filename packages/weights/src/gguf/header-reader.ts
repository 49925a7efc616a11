import type { FileBytes } from '../files/file-bytes.ts'

/** The largest header in bytes: vocabularies of a million tokens need a tenth of it. */
const MOST_HEADER = 2 ** 28

/** The bytes that are copied out of the file at a time. */
const WINDOW = 2 ** 16

const lenient = new TextDecoder('utf-8', { ignoreBOM: true })
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads little-endian values one after another. Each byte of the file is copied once before it is used. */
export class HeaderReader {
  readonly file: FileBytes
  readonly #end: number
  #window: Buffer = Buffer.alloc(0)
  /** The place of the window in the file. */
  #start = 0
  /** The place of the next value in the window. */
  #at = 0

  constructor(file: FileBytes) {
    this.file = file
    this.#end = Math.min(file.byteSize, MOST_HEADER)
  }

  /** The place of the next value in the file. */
  get position(): number {
    return this.#start + this.#at
  }

  /** The bytes that the header can still have. */
  get left(): number {
    return this.#end - this.position
  }

  /** Returns the place of the next bytes in the window. @throws {WeightsFormatError} if the header has no such bytes. */
  #take(byteSize: number, what: string): number {
    if (byteSize > this.left) {
      const limit =
        this.#end === MOST_HEADER
          ? `more than the limit of ${MOST_HEADER} bytes of a header`
          : 'but the file ends there'
      throw this.file.error(this.position, `${what} should have ${byteSize} bytes, ${limit}`)
    }
    if (this.#at + byteSize > this.#window.length) {
      this.#start = this.position
      this.#at = 0
      this.#window = this.file.copy(this.#start, Math.min(Math.max(WINDOW, byteSize), this.left))
    }
    const at = this.#at
    this.#at += byteSize
    return at
  }

  uint32(what: string): number {
    const at = this.#take(4, what)
    return this.#window.readUInt32LE(at)
  }

  uint64(what: string): bigint {
    const at = this.#take(8, what)
    return this.#window.readBigUInt64LE(at)
  }

  /** A number of things of which each has at least `least` bytes in the header. @throws {WeightsFormatError} if it has no room for them. */
  count(what: string, least: number): number {
    const { position } = this
    const count = this.uint64(what)
    if (count <= BigInt(Math.floor(this.left / least))) return Number(count)
    throw this.file.error(position, `${what} is ${count}, for which the header has no room`)
  }

  /** A size or an offset. @throws {WeightsFormatError} from 2^53 on */
  size(what: string): number {
    const { position } = this
    const size = this.uint64(what)
    if (size <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(size)
    throw this.file.error(position, `${what} should be below 2^53, but is ${size}`)
  }

  /** A copy of bytes. */
  bytes(byteSize: number, what: string): Buffer {
    const at = this.#take(byteSize, what)
    return Buffer.from(this.#window.subarray(at, at + byteSize))
  }

  /** A text. @param most the most bytes. Names must be UTF-8; in other texts, what is not is replaced. */
  text(what: string, most: number = Infinity, isName: boolean = false): string {
    const { position } = this
    const length = this.count(`the length of ${what}`, 1)
    if (length > most) throw this.file.error(position, `${what} should have at most ${most} bytes, but has ${length}`)
    const at = this.#take(length, what)
    const bytes = this.#window.subarray(at, at + length)
    if (!isName) return lenient.decode(bytes)
    try {
      return strict.decode(bytes)
    } catch (cause) {
      throw this.file.error(position, `${what} is not UTF-8`, { cause })
    }
  }
}
