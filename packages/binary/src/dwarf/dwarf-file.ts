import { BinaryFormatError } from '../binary-format-error.ts'
import type { ByteSource } from '../byte-source.ts'
import { DataCursor } from '../debug-info/data-cursor.ts'
import type { ElfFile } from '../debug-info/elf-file.ts'
import { AbbreviationTable } from './abbreviations.ts'
import { Budget } from './budget.ts'

/** The sections with debug information. Files of `-gsplit-dwarf` have `.dwo` behind the names. */
const SECTIONS = [
  '.debug_info',
  '.debug_abbrev',
  '.debug_line',
  '.debug_str',
  '.debug_line_str',
  '.debug_str_offsets',
  '.debug_addr',
  '.debug_ranges',
  '.debug_rnglists',
  '.debug_aranges',
] as const

export type DwarfSection = (typeof SECTIONS)[number]

/** The number of tables of abbreviations that are kept. */
const KEPT_TABLES = 16

/** The longest name or path, in bytes. The rest of a longer one is left out. */
const MAX_TEXT_BYTES = 65_536

const SHF_EXECINSTR = 4

/** The debug information of one file: its sections, and the tables of abbreviations that its units share. */
export class DwarfFile {
  readonly elf: ElfFile
  readonly budget: Budget
  /** The suffix of the names of sections. */
  readonly #suffix: '' | '.dwo'
  readonly #opened = new Map<DwarfSection, ByteSource | undefined>()
  readonly #tables = new Map<number, AbbreviationTable>()
  readonly #code: readonly (readonly [start: number, end: number])[]

  constructor(elf: ElfFile, suffix: '' | '.dwo' = '') {
    this.elf = elf
    this.#suffix = suffix
    this.budget = new Budget(elf.source.byteSize)
    this.#code = elf.header.sections
      .filter(({ flags }) => (flags & SHF_EXECINSTR) !== 0)
      .map(({ address, byteSize }) => [address, address + byteSize] as const)
  }

  has(section: DwarfSection): boolean {
    return this.#open(section) !== undefined
  }

  sizeOf(section: DwarfSection): number {
    return this.#open(section)?.byteSize ?? 0
  }

  /** @throws {BinaryFormatError} if the file lacks the section, or the offset is outside of it */
  cursor(section: DwarfSection, offset: number, end?: number): DataCursor {
    const source = this.#open(section)
    const name = `section ${section}${this.#suffix}`
    if (source === undefined)
      throw new BinaryFormatError(`the file has no ${name}, to which its debug information refers`)
    return new DataCursor(source, this.elf.header.reader.littleEndian, name, offset, end)
  }

  text(section: DwarfSection, offset: number): string {
    return this.cursor(section, offset).text(MAX_TEXT_BYTES)
  }

  /** Whether code of the file can be at an address. The linker leaves entries of code that it has removed, with addresses such as 0. */
  isCode(address: number): boolean {
    return this.#code.some(([start, end]) => address >= start && address < end)
  }

  abbreviations(offset: number): AbbreviationTable {
    const table = this.#tables.get(offset) ?? new AbbreviationTable(this.cursor('.debug_abbrev', offset), this.budget)
    keepRecent(this.#tables, offset, table, KEPT_TABLES)
    return table
  }

  #open(section: DwarfSection): ByteSource | undefined {
    if (!this.#opened.has(section)) this.#opened.set(section, this.elf.sections.open(section + this.#suffix))
    return this.#opened.get(section)
  }
}

/** Adds an entry to a cache, or makes it the most recent one. Returns the least recent one of more than `most`, which is removed. */
export function keepRecent<K, V>(cache: Map<K, V>, key: K, value: V, most: number): V | undefined {
  cache.delete(key)
  cache.set(key, value)
  if (cache.size <= most) return undefined
  const [[oldest, removed]] = cache as unknown as [[K, V]]
  cache.delete(oldest)
  return removed
}
