import { StringTable } from '../binary-reader.ts'
import { SHT_DYNSYM, SHT_SYMTAB, type ElfHeader, type ElfSection } from './elf-header.ts'
import { STB_LOCAL, SHN_UNDEF, STT_FUNC, symbolLayouts } from './elf-symbols.ts'

const SHN_LORESERVE = 0xff00
const SHN_XINDEX = 0xffff
const STT_NOTYPE = 0
const STT_OBJECT = 1
const STT_GNU_IFUNC = 10
const SHF_ALLOC = 2
const SHT_SYMTAB_SHNDX = 18
const EM_ARM = 40

/** The number of symbols that are read at a time. */
const SYMBOLS_AT_ONCE = 16_384

/** The longest name, in bytes, and the part of one that is compared. */
const MAX_NAME_BYTES = 65_536
const PREFIX_BYTES = 64

/** The order of the types of symbols. */
const Rank = { object: 0, untyped: 1, function: 2 } as const

/** The symbol that contains an address. */
export interface FoundSymbol {
  readonly name: string
  /** The number of bytes from the start of the symbol to the address. */
  readonly offset: number
}

/**
 * The symbols of a file by address: those of the static symbol table, or those of the dynamic one if the file is stripped.
 *
 * A symbol with a size contains an address that is within its bytes. A symbol without a size, as assembly code has them, reaches to the next
 * symbol of its section. Of several that contain an address, the preferred one has a size, starts last, is a function, is the smallest, is not local, has the
 * fewest underscores at its start, and is the first in the table.
 */
export class ElfSymbolLookup {
  readonly #strings: StringTable
  readonly #count: number
  readonly #values: Float64Array
  readonly #sizes: Float64Array
  readonly #sectionIndexes: Uint32Array
  readonly #names: Uint32Array
  /** The rank of the type, times two, plus one for symbols that are not local. */
  readonly #ranks: Uint8Array
  readonly #sections: readonly ElfSection[]

  /** @throws {BinaryFormatError} if the tables are truncated or inconsistent */
  constructor(header: ElfHeader, table: ElfSection) {
    const { reader, bits, machine, sections } = header
    const layout = symbolLayouts[bits]
    const names = sections[table.link]
    const all = Math.floor(table.byteSize / layout.size)
    this.#sections = sections
    this.#strings = new StringTable(reader.fields(names?.offset ?? 0, names?.byteSize ?? 0, 'string table'))
    // Checks the size before it decides about memory.
    reader.part(table.offset, all * layout.size, 'symbol table')
    this.#values = new Float64Array(all)
    this.#sizes = new Float64Array(all)
    this.#sectionIndexes = new Uint32Array(all)
    this.#names = new Uint32Array(all)
    this.#ranks = new Uint8Array(all)
    const tableIndex = sections.indexOf(table)
    const extended = sections.find(({ type, link }) => type === SHT_SYMTAB_SHNDX && link === tableIndex)
    let count = 0
    for (let first = 1; first < all; first += SYMBOLS_AT_ONCE) {
      const many = Math.min(SYMBOLS_AT_ONCE, all - first)
      const symbols = reader.fields(table.offset + first * layout.size, many * layout.size, 'symbol table')
      for (let index = 0; index < many; index += 1) {
        const at = index * layout.size
        const info = symbols.u8(at + layout.info)
        const rank = rankOf(info & 15)
        let section = symbols.u16(at + layout.section)
        if (rank === undefined || section === SHN_UNDEF) continue
        if (section === SHN_XINDEX && extended !== undefined) {
          section = reader.fields(extended.offset + (first + index) * 4, 4, 'section indexes of symbols').u32(0)
        } else if (section >= SHN_LORESERVE) continue
        if (((sections[section]?.flags ?? 0) & SHF_ALLOC) === 0) continue
        const value = bits === 64 ? Number(symbols.u64(at + layout.value)) : symbols.u32(at + layout.value)
        // The lowest bit of the address of a function selects the instruction set Thumb.
        this.#values[count] = machine === EM_ARM && (info & 15) === STT_FUNC ? value - (value % 2) : value
        this.#sizes[count] = bits === 64 ? Number(symbols.u64(at + layout.byteSize)) : symbols.u32(at + layout.byteSize)
        this.#sectionIndexes[count] = section
        this.#names[count] = symbols.u32(at)
        this.#ranks[count] = rank * 2 + (info >> 4 === STB_LOCAL ? 0 : 1)
        count += 1
      }
    }
    this.#count = count
  }

  find(address: number): FoundSymbol | undefined {
    const section = this.#sections.findIndex(
      (one) => (one.flags & SHF_ALLOC) !== 0 && address >= one.address && address - one.address < one.byteSize,
    )
    let best = -1
    for (let index = 0; index < this.#count; index += 1) {
      const within = address - this.#values[index]!
      if (!(within >= 0)) continue
      const size = this.#sizes[index]!
      if (size === 0 ? this.#sectionIndexes[index] !== section : within >= size) continue
      if ((best === -1 || this.#isBetter(index, best)) && this.#isReal(index)) best = index
    }
    if (best === -1 || this.#isEnded(best, address)) return undefined
    return { name: this.#strings.peek(this.#names[best]!, MAX_NAME_BYTES), offset: address - this.#values[best]! }
  }

  /** Whether a symbol without a size has another one behind it, before the address. */
  #isEnded(found: number, address: number): boolean {
    if (this.#sizes[found] !== 0) return false
    const start = this.#values[found]!
    for (let index = 0; index < this.#count; index += 1) {
      const value = this.#values[index]!
      if (value > start && value <= address && this.#isReal(index)) return true
    }
    return false
  }

  #isBetter(index: number, best: number): boolean {
    const order =
      Number(this.#sizes[index] !== 0) - Number(this.#sizes[best] !== 0) ||
      this.#values[index]! - this.#values[best]! ||
      (this.#ranks[index]! >> 1) - (this.#ranks[best]! >> 1) ||
      this.#sizes[best]! - this.#sizes[index]! ||
      (this.#ranks[index]! & 1) - (this.#ranks[best]! & 1)
    return order > 0 || (order === 0 && underscoresOf(this.#prefixOf(index)) < underscoresOf(this.#prefixOf(best)))
  }

  /** Whether the symbol is not one of those that mark code and data (`$a`, `$d`, `$t`, `$x`), which some processors have. */
  #isReal(index: number): boolean {
    const name = this.#prefixOf(index)
    return name !== '' && !/^\$[adtx](\.|$)/.test(name)
  }

  #prefixOf(index: number): string {
    return this.#strings.peek(this.#names[index]!, PREFIX_BYTES)
  }
}

/** The symbols of the file, or undefined if it has no table. The bytes of a table in a file with debug information alone may be missing. */
export function openSymbolLookup(header: ElfHeader): ElfSymbolLookup | undefined {
  const { size } = symbolLayouts[header.bits]
  for (const wanted of [SHT_SYMTAB, SHT_DYNSYM]) {
    const table = header.sections.find(({ type, entrySize }) => type === wanted && entrySize === size)
    if (table !== undefined) return new ElfSymbolLookup(header, table)
  }
  return undefined
}

function rankOf(type: number): number | undefined {
  if (type === STT_FUNC || type === STT_GNU_IFUNC) return Rank.function
  if (type === STT_NOTYPE) return Rank.untyped
  return type === STT_OBJECT ? Rank.object : undefined
}

function underscoresOf(name: string): number {
  return /^_*/.exec(name)![0].length
}
