import { StringTable } from '../binary-reader.ts'
import { PT_DYNAMIC, fieldsAt, type ElfHeader } from './elf-header.ts'

/** Tags of the dynamic section (System V ABI and its GNU extensions). */
export const Tag = {
  null: 0,
  needed: 1,
  hash: 4,
  strtab: 5,
  symtab: 6,
  strsz: 10,
  soname: 14,
  rpath: 15,
  runpath: 29,
  gnuHash: 0x6ffffef5,
  versym: 0x6ffffff0,
  flags1: 0x6ffffffb,
  verdef: 0x6ffffffc,
  verdefnum: 0x6ffffffd,
  verneed: 0x6ffffffe,
  verneednum: 0x6fffffff,
} as const

/** The entries that the loader reads, by tag, and the names that they refer to; empty for static programs and object files. */
export interface ElfDynamic {
  readonly strings: StringTable
  value(tag: number): number | undefined
  texts(tag: number): string[]
}

export function readElfDynamic(header: ElfHeader): ElfDynamic {
  const entries = readEntries(header)
  const value = (tag: number): number | undefined => entries.find((entry) => entry.tag === tag)?.value
  const what = 'dynamic string table'
  const address = value(Tag.strtab)
  const strings = new StringTable(
    address === undefined ? header.reader.fields(0, 0, what) : fieldsAt(header, address, value(Tag.strsz) ?? 0, what),
  )
  const texts = (tag: number): string[] =>
    entries.filter((entry) => entry.tag === tag).map((entry) => strings.at(entry.value))
  return { strings, value, texts }
}

function readEntries({ reader, bits, segments }: ElfHeader): { tag: number; value: number }[] {
  const entries: { tag: number; value: number }[] = []
  const segment = segments.find(({ type }) => type === PT_DYNAMIC)
  if (segment === undefined) return entries
  const word = bits / 8
  const fields = reader.fields(segment.offset, segment.fileSize, 'dynamic section')
  for (let at = 0; at + 2 * word <= segment.fileSize; at += 2 * word) {
    // Tags have 32 bits. Values of unknown tags may be any 64 bits, so only known tags are read.
    const tag = bits === 64 ? Number(fields.u64(at)) : fields.u32(at)
    if (tag === Tag.null) break
    if (knownTags.has(tag)) entries.push({ tag, value: fields.word(at + word, bits) })
  }
  return entries
}

const knownTags: ReadonlySet<number> = new Set(Object.values(Tag))
