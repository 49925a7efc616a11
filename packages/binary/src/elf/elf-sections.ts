import { inflateSync, zstdDecompressSync } from 'node:zlib'
import { BinaryFormatError } from '../binary-format-error.ts'
import { StringTable } from '../binary-reader.ts'
import type { ByteSource } from '../byte-source.ts'
import type { ElfHeader, ElfSection } from './elf-header.ts'

/** A section whose bytes are not in the file. */
export const SHT_NOBITS = 8
/** Means that the section begins with a header that says how it is compressed. */
const SHF_COMPRESSED = 0x800
/** Means that linkers leave the section out. */
const SHF_EXCLUDE = 0x8000_0000
const ELFCOMPRESS_ZLIB = 1
const ELFCOMPRESS_ZSTD = 2

/** The most bytes to which the compressed sections of a file may expand together, if nothing else is said. */
const MAX_EXPANDED_BYTES: number = 128 * 1024 * 1024

/** Deflate makes at most 1,032 bytes of one. */
const MAX_DEFLATE_RATIO = 1032

/**
 * The sections of a file by name. If several sections have a name, the first one counts. In files of units (`.dwo`), it is the first one that linkers
 * leave out, because gcc writes each type to another section of the name.
 */
export class ElfSections {
  readonly #header: ElfHeader
  readonly #byName: ReadonlyMap<string, ElfSection>
  readonly #mostExpanded: number
  #budget: number

  constructor(header: ElfHeader, mostExpanded: number = MAX_EXPANDED_BYTES) {
    this.#header = header
    this.#mostExpanded = mostExpanded
    this.#budget = mostExpanded
    this.#byName = sectionsByName(header)
  }

  find(name: string): ElfSection | undefined {
    return this.#byName.get(name)
  }

  /**
   * The bytes of a section, such as `.debug_info`, without compression (SHF_COMPRESSED, or `.zdebug_info` of older compilers). Undefined if
   * the file does not have them. Bytes that are not compressed are read from the file when they are needed.
   *
   * @throws {BinaryFormatError} if the section is damaged, or all compressed ones have more bytes than allowed
   */
  open(name: string): ByteSource | undefined {
    const { reader, bits } = this.#header
    const plain = this.#byName.get(name)
    const old = plain === undefined ? this.#byName.get(name.replace('.', '.z')) : undefined
    const section = plain ?? old
    if (section === undefined || section.type === SHT_NOBITS || section.byteSize === 0) return undefined
    const { offset, byteSize } = section
    if (old !== undefined) {
      // The text "ZLIB", and the size as eight bytes, the most significant first.
      const head = reader.withEndianness(false).fields(offset, 12, name)
      if (head.bytes.toString('latin1', 0, 4) !== 'ZLIB')
        throw new BinaryFormatError(`the ${name} should begin with ZLIB`)
      return this.#expand(name, offset + 12, byteSize - 12, head.size64(4), ELFCOMPRESS_ZLIB)
    }
    if ((section.flags & SHF_COMPRESSED) === 0) return reader.part(offset, byteSize, name).source
    // Elf64_Chdr { type u32 0, reserved u32 4, size u64 8, alignment u64 16 }, Elf32_Chdr { type u32 0, size u32 4, alignment u32 8 }
    const headSize = bits === 64 ? 24 : 12
    const head = reader.fields(offset, headSize, name)
    const expanded = head.word(bits === 64 ? 8 : 4, bits)
    return this.#expand(name, offset + headSize, byteSize - headSize, expanded, head.u32(0))
  }

  #expand(name: string, offset: number, byteSize: number, expandedSize: number, method: number): ByteSource {
    if (byteSize < 0) throw new BinaryFormatError(`the compressed ${name} is cut off`)
    if (method !== ELFCOMPRESS_ZLIB && method !== ELFCOMPRESS_ZSTD) {
      throw new BinaryFormatError(`the ${name} is compressed by the unknown method ${method}`)
    }
    if (method === ELFCOMPRESS_ZLIB && expandedSize > byteSize * MAX_DEFLATE_RATIO) {
      throw new BinaryFormatError(`the ${name} of ${byteSize} bytes cannot expand to ${expandedSize}`)
    }
    if (expandedSize > this.#budget) {
      throw new BinaryFormatError(
        `the compressed sections must have at most ${this.#mostExpanded} bytes, but the ${name} alone has ${expandedSize}, and ${this.#budget} are left`,
        { hint: 'Decompress them with objcopy --decompress-debug-sections.' },
      )
    }
    // Older versions of Node.js 22 do not have it.
    const zstd = zstdDecompressSync as typeof zstdDecompressSync | undefined
    if (method === ELFCOMPRESS_ZSTD && zstd === undefined) {
      throw new BinaryFormatError(
        `the ${name} is compressed with Zstandard, for which Node.js 22.15 or later is needed`,
      )
    }
    this.#budget -= expandedSize
    const bytes = this.#header.reader.fields(offset, byteSize, name).bytes
    const options = { chunkSize: Math.max(64, expandedSize), maxOutputLength: Math.max(1, expandedSize) }
    let expanded: Buffer
    try {
      expanded = method === ELFCOMPRESS_ZLIB ? inflateSync(bytes, options) : zstd!(bytes, options)
    } catch (error) {
      throw new BinaryFormatError(`the ${name} cannot be decompressed: ${(error as Error).message}`, { cause: error })
    }
    if (expanded.length !== expandedSize) {
      throw new BinaryFormatError(`the ${name} should expand to ${expandedSize} bytes, but has ${expanded.length}`)
    }
    return { byteSize: expandedSize, read: (start, length) => expanded.subarray(start, start + length) }
  }
}

const isExcluded = ({ flags }: ElfSection): number => Math.floor(flags / SHF_EXCLUDE) % 2

function sectionsByName({ reader, sections, namesIndex }: ElfHeader): ReadonlyMap<string, ElfSection> {
  const names = sections[namesIndex]
  if (namesIndex === 0 || names === undefined || names.type === SHT_NOBITS) return new Map()
  const strings = new StringTable(reader.fields(names.offset, names.byteSize, 'section names'))
  const byName = new Map<string, ElfSection>()
  for (const section of sections) {
    if (section.name >= names.byteSize) continue
    const name = strings.at(section.name)
    const known = byName.get(name)
    if (known === undefined || isExcluded(section) > isExcluded(known)) byName.set(name, section)
  }
  return byName
}
