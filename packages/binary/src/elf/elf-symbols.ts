import type { ExportedSymbol, ImportedSymbol, SymbolKind } from '../binary-info.ts'
import { BinaryFormatError } from '../binary-format-error.ts'
import { StringTable } from '../binary-reader.ts'
import { Tag, type ElfDynamic } from './elf-dynamic.ts'
import { SHT_DYNSYM, SHT_SYMTAB, fieldsAt, fileRangeOf, type ElfHeader } from './elf-header.ts'
import type { NeededVersion } from './elf-versions.ts'

/** Field offsets of a symbol. */
export const symbolLayouts = {
  32: { size: 16, info: 12, other: 13, section: 14, value: 4, byteSize: 8 },
  64: { size: 24, info: 4, other: 5, section: 6, value: 8, byteSize: 16 },
} as const

export const SHN_UNDEF = 0
const SHN_ABS = 0xfff1
export const STB_LOCAL = 0
const STB_GLOBAL = 1
const STB_WEAK = 2
const STB_GNU_UNIQUE = 10
/** The processor whose 64-bit hash tables have words of eight bytes. */
const EM_S390 = 22
export const STT_FUNC = 2
const STV_INTERNAL = 1
const STV_HIDDEN = 2

/** The kinds of STT_OBJECT, STT_FUNC and STT_GNU_IFUNC. */
const kinds: Readonly<Record<number, SymbolKind>> = { 1: 'object', 2: 'function', 10: 'function' }

/** Marks a symbol of a version that is not the library's default. A lookup by name alone does not find it. */
const VERSYM_HIDDEN = 0x8000
/** The number of symbols without a version. */
const VER_NDX_GLOBAL = 1

/** Reads the exported and imported symbols from the dynamic symbol table. */
export function readElfSymbols(
  header: ElfHeader,
  dynamic: ElfDynamic,
  versions: ReadonlyMap<number, NeededVersion>,
  defined: ReadonlyMap<number, string>,
): { exports: ExportedSymbol[]; imports: ImportedSymbol[]; versionedExports?: string[] } {
  const exports: ExportedSymbol[] = []
  const versionedExports: string[] = []
  const imports: ImportedSymbol[] = []
  const address = dynamic.value(Tag.symtab)
  if (address === undefined) return { exports, imports }
  const { reader, bits } = header
  const layout = symbolLayouts[bits]
  const start = fileRangeOf(header, address, 'dynamic symbol table').offset
  const count = symbolCount(header, dynamic, start)
  const symbols = reader.fields(start, count * layout.size, 'dynamic symbol table')
  const versionsAt = dynamic.value(Tag.versym)
  const versionNumbers =
    versionsAt === undefined ? undefined : fieldsAt(header, versionsAt, count * 2, 'symbol versions')
  for (let index = 1; index < count; index += 1) {
    const at = index * layout.size
    const binding = symbols.u8(at + layout.info) >> 4
    if (binding !== STB_GLOBAL && binding !== STB_WEAK && binding !== STB_GNU_UNIQUE) continue
    const version = versionNumbers?.u16(index * 2) ?? 1
    const weak = binding === STB_WEAK
    const section = symbols.u16(at + layout.section)
    if (section === SHN_UNDEF) {
      const name = dynamic.strings.at(symbols.u32(at))
      if (name !== '') imports.push({ name, weak, ...versions.get(version & ~VERSYM_HIDDEN) })
      continue
    }
    const visibility = symbols.u8(at + layout.other) & 3
    if (visibility === STV_HIDDEN || visibility === STV_INTERNAL) continue
    const value = bits === 64 ? symbols.u64(at + layout.value) : BigInt(symbols.u32(at + layout.value))
    // The names of the library's own versions are in the table too, as absolute symbols of value 0.
    if (section === SHN_ABS && value === 0n) continue
    const name = dynamic.strings.at(symbols.u32(at))
    const definedVersion = defined.get(version & ~VERSYM_HIDDEN)
    // The first version is the name of the file itself, which symbols without a version have.
    if (definedVersion !== undefined && (version & ~VERSYM_HIDDEN) > VER_NDX_GLOBAL)
      versionedExports.push(`${name}@${definedVersion}`)
    if ((version & VERSYM_HIDDEN) !== 0) continue
    exports.push({
      name,
      kind: kinds[symbols.u8(at + layout.info) & 15] ?? 'other',
      address: value,
      byteSize: bits === 64 ? Number(symbols.u64(at + layout.byteSize)) : symbols.u32(at + layout.byteSize),
      weak,
    })
  }
  return { exports, imports, ...(versionedExports.length === 0 ? {} : { versionedExports }) }
}

/** The names of the local functions in the static symbol table, which stripped files do not have. */
export function readElfLocalFunctions({ reader, bits, sections }: ElfHeader): string[] {
  const layout = symbolLayouts[bits]
  const table = sections.find(({ type, entrySize }) => type === SHT_SYMTAB && entrySize === layout.size)
  const names = sections[table?.link ?? sections.length]
  if (table === undefined || names === undefined) return []
  const count = Math.floor(table.byteSize / layout.size)
  const symbols = reader.fields(table.offset, count * layout.size, 'symbol table')
  const strings = new StringTable(reader.fields(names.offset, names.byteSize, 'string table'))
  const functions: string[] = []
  for (let index = 1; index < count; index += 1) {
    const at = index * layout.size
    const info = symbols.u8(at + layout.info)
    if (info >> 4 !== STB_LOCAL || (info & 15) !== STT_FUNC || symbols.u16(at + layout.section) === SHN_UNDEF) continue
    functions.push(strings.at(symbols.u32(at)))
  }
  return functions
}

/**
 * The number of symbols, which the dynamic section does not record. It comes from the section table if the file has one,
 * else from the chains of a hash table, and else from the start of the names, which follow the symbols.
 */
function symbolCount(header: ElfHeader, dynamic: ElfDynamic, start: number): number {
  const { size } = symbolLayouts[header.bits]
  const section = header.sections.find((candidate) => candidate.type === SHT_DYNSYM && candidate.offset === start)
  if (section !== undefined && section.entrySize === size) return Math.floor(section.byteSize / size)
  const hash = dynamic.value(Tag.hash)
  if (hash !== undefined) {
    const fields = fieldsAt(header, hash, 16, 'hash table')
    return header.machine === EM_S390 && header.bits === 64 ? fields.size64(8) : fields.u32(4)
  }
  const gnuHash = dynamic.value(Tag.gnuHash)
  const counted = gnuHash === undefined ? 0 : gnuHashCount(header, gnuHash)
  if (counted > 0) return counted
  const strings = dynamic.value(Tag.strtab)
  const end = strings === undefined ? 0 : fileRangeOf(header, strings, 'dynamic string table').offset
  if (end < start) throw new BinaryFormatError('the number of symbols cannot be determined')
  return Math.floor((end - start) / size)
}

/** The bytes of the last chain that are read at a time. Most chains are shorter. */
const CHAIN_BLOCK_BYTES = 4096

/**
 * The number of symbols that a GNU hash table covers, which may be 0.
 *
 * Layout: nbuckets, symoffset, bloom_size, bloom_shift (u32 each), bloom words, buckets u32[nbuckets], chains u32 of
 * the symbols from symoffset on; a chain ends with a set low bit, and the last one ends with the last symbol.
 */
function gnuHashCount(header: ElfHeader, address: number): number {
  const { reader, bits } = header
  const { offset, byteSize } = fileRangeOf(header, address, 'GNU hash table')
  const head = reader.fields(offset, 16, 'GNU hash table')
  const bucketCount = head.u32(0)
  const firstSymbol = head.u32(4)
  const bucketsAt = 16 + head.u32(8) * (bits / 8)
  const buckets = reader.fields(offset + bucketsAt, bucketCount * 4, 'GNU hash table')
  let last = 0
  for (let index = 0; index < bucketCount; index += 1) last = Math.max(last, buckets.u32(index * 4))
  if (last < firstSymbol || last === 0) return 0
  const chainsAt = bucketsAt + bucketCount * 4
  for (let at = chainsAt + (last - firstSymbol) * 4; at + 4 <= byteSize; at += CHAIN_BLOCK_BYTES) {
    const blockSize = Math.min(CHAIN_BLOCK_BYTES, (byteSize - at) & ~3)
    const block = reader.fields(offset + at, blockSize, 'GNU hash table')
    for (let within = 0; within < blockSize; within += 4, last += 1) {
      if ((block.u32(within) & 1) !== 0) return last + 1
    }
  }
  throw new BinaryFormatError('the last chain of the GNU hash table does not end')
}
