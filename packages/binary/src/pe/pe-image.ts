import { BinaryFormatError } from '../binary-format-error.ts'
import type { BinaryReader, Fields } from '../binary-reader.ts'
import type { FileRange } from '../file-range.ts'

/** A part of the file, and the relative virtual address (RVA) at which the part is mapped. */
export type PeSection = Readonly<Record<'rva' | 'fileSize' | 'offset' | 'characteristics', number>>

/** A table of the optional header's data directory; `rva` is 0 if the table is absent. */
export type PeDirectory = Readonly<Record<'rva' | 'byteSize', number>>

/** The longest name that is read, in bytes. The longest C++ names of real DLLs have some thousands of bytes. */
const MAX_NAME_BYTES = 65_536

const IMAGE_SCN_MEM_EXECUTE = 0x20000000

/** A PE file, read at relative virtual addresses, by which its tables refer to each other. */
export class PeImage {
  readonly bits: 32 | 64
  readonly #reader: BinaryReader
  readonly #sections: readonly PeSection[]
  readonly #headersSize: number
  /** The limit for the bytes of all names, because entries that share one name could otherwise become gigabytes. */
  #nameBudget: number

  constructor(reader: BinaryReader, bits: 32 | 64, sections: readonly PeSection[], headersSize: number) {
    this.bits = bits
    this.#reader = reader
    this.#sections = sections
    this.#headersSize = headersSize
    this.#nameBudget = 16 * reader.byteSize + 65_536
  }

  get fileSize(): number {
    return this.#reader.byteSize
  }

  fields(rva: number, byteSize: number, what: string): Fields {
    const range = this.rangeOf(rva, what)
    if (byteSize > range.byteSize) {
      throw new BinaryFormatError(`the ${what} needs ${byteSize} bytes, but its section has ${range.byteSize} left`)
    }
    return this.#reader.fields(range.offset, byteSize, what)
  }

  /** The NUL-terminated text at `rva`. */
  text(rva: number, what: string): string {
    const range = this.rangeOf(rva, what)
    const limit = Math.min(range.byteSize, MAX_NAME_BYTES, this.#reader.byteSize - range.offset)
    const bytes = this.#reader.untilNul(range.offset, limit, what)
    if (bytes === undefined) throw new BinaryFormatError(`the ${what} has no end within ${limit} bytes`)
    this.#nameBudget -= bytes.length + 1
    if (this.#nameBudget < 0) throw new BinaryFormatError('the names are far larger in total than the file')
    return bytes.toString('utf8')
  }

  isCode(rva: number): boolean {
    return ((this.#sectionAt(rva)?.characteristics ?? 0) & IMAGE_SCN_MEM_EXECUTE) !== 0
  }

  /** The file offset of an RVA, and the number of bytes from there to the end of its section in the file. */
  rangeOf(rva: number, what: string): FileRange {
    const section = this.#sectionAt(rva)
    if (section !== undefined) {
      const within = rva - section.rva
      return { offset: section.offset + within, byteSize: section.fileSize - within }
    }
    // The headers are mapped too, at 0.
    if (rva < this.#headersSize) return { offset: rva, byteSize: this.#headersSize - rva }
    throw new BinaryFormatError(`the ${what} is at 0x${rva.toString(16)}, which is outside of all sections`)
  }

  #sectionAt(rva: number): PeSection | undefined {
    return this.#sections.find((section) => rva >= section.rva && rva < section.rva + section.fileSize)
  }
}
