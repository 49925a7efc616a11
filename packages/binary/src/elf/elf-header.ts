import { BinaryFormatError } from '../binary-format-error.ts'
import type { BinaryReader, Fields } from '../binary-reader.ts'

/** A part of the file that the loader maps or reads, from the program header table. */
export interface ElfSegment {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly fileSize: number
}

/** A section, if the file still has its section table. */
export interface ElfSection {
  readonly type: number
  readonly offset: number
  readonly byteSize: number
  readonly entrySize: number
}

export interface ElfHeader {
  /** Fields in the file's own byte order. */
  readonly reader: BinaryReader
  readonly bits: 32 | 64
  /** ET_REL 1, ET_EXEC 2, ET_DYN 3, ET_CORE 4. */
  readonly type: number
  readonly machine: number
  readonly segments: readonly ElfSegment[]
  readonly sections: readonly ElfSection[]
}

const PT_LOAD = 1
export const PT_DYNAMIC = 2
export const PT_INTERP = 3
export const SHT_DYNSYM = 11

/** Means that the real count is in the first section header. */
const PN_XNUM = 0xffff

/** Field offsets of the three tables of the System V ABI, for both classes; `w` fields are as wide as the class. */
const layouts = {
  32: {
    header: { size: 52, phoff: 28, shoff: 32, phentsize: 42, phnum: 44, shentsize: 46, shnum: 48 },
    segment: { size: 32, type: 0, offset: 4, address: 8, fileSize: 16 },
    section: { size: 40, type: 4, offset: 16, byteSize: 20, info: 28, entrySize: 36 },
  },
  64: {
    header: { size: 64, phoff: 32, shoff: 40, phentsize: 54, phnum: 56, shentsize: 58, shnum: 60 },
    segment: { size: 56, type: 0, offset: 8, address: 16, fileSize: 32 },
    section: { size: 64, type: 4, offset: 24, byteSize: 32, info: 44, entrySize: 56 },
  },
} as const

/** A number as wide as the file's class: 4 or 8 bytes. */
export function wordOf(fields: Fields, offset: number, bits: 32 | 64): number {
  return bits === 64 ? fields.size64(offset) : fields.u32(offset)
}

/**
 * Reads the ELF header and the tables that it refers to.
 *
 * @throws {BinaryFormatError} if they are truncated or inconsistent
 */
export function readElfHeader(file: BinaryReader): ElfHeader {
  const identity = file.fields(0, 16, 'ELF identification')
  const elfClass = identity.u8(4)
  const encoding = identity.u8(5)
  if (elfClass !== 1 && elfClass !== 2)
    throw new BinaryFormatError(`the ELF class should be 1 or 2, but is ${elfClass}`)
  if (encoding !== 1 && encoding !== 2) {
    throw new BinaryFormatError(`the ELF byte order should be 1 or 2, but is ${encoding}`)
  }
  const bits = elfClass === 2 ? 64 : 32
  const reader = file.withEndianness(encoding === 1)
  const layout = layouts[bits].header
  const header = reader.fields(0, layout.size, 'ELF header')
  const sectionTable = {
    offset: wordOf(header, layout.shoff, bits),
    count: header.u16(layout.shnum),
    entrySize: header.u16(layout.shentsize),
  }
  const first = sectionTable.offset === 0 ? [] : readSections(reader, bits, { ...sectionTable, count: 1 })
  // Counts above 16 bits are in the first section header: that of sections in its size, that of segments in its info.
  const sectionCount = sectionTable.count === 0 ? (first[0]?.byteSize ?? 0) : sectionTable.count
  const segmentCount = header.u16(layout.phnum)
  return {
    reader,
    bits,
    type: header.u16(16),
    machine: header.u16(18),
    segments: readSegments(reader, bits, {
      offset: wordOf(header, layout.phoff, bits),
      count: segmentCount === PN_XNUM ? (first[0]?.info ?? 0) : segmentCount,
      entrySize: header.u16(layout.phentsize),
    }),
    sections: first.length === 0 ? [] : readSections(reader, bits, { ...sectionTable, count: sectionCount }),
  }
}

interface Table {
  readonly offset: number
  readonly count: number
  readonly entrySize: number
}

function readTable(reader: BinaryReader, table: Table, minimumSize: number, what: string): Fields | undefined {
  if (table.offset === 0 || table.count === 0) return undefined
  if (table.entrySize < minimumSize) {
    throw new BinaryFormatError(`an entry of the ${what} should have ${minimumSize} bytes, but has ${table.entrySize}`)
  }
  return reader.fields(table.offset, table.count * table.entrySize, what)
}

function readSegments(reader: BinaryReader, bits: 32 | 64, table: Table): ElfSegment[] {
  const layout = layouts[bits].segment
  const fields = readTable(reader, table, layout.size, 'program header table')
  if (fields === undefined) return []
  return Array.from({ length: table.count }, (_, index) => {
    const at = index * table.entrySize
    return {
      type: fields.u32(at + layout.type),
      offset: wordOf(fields, at + layout.offset, bits),
      address: wordOf(fields, at + layout.address, bits),
      fileSize: wordOf(fields, at + layout.fileSize, bits),
    }
  })
}

function readSections(reader: BinaryReader, bits: 32 | 64, table: Table): (ElfSection & { readonly info: number })[] {
  const layout = layouts[bits].section
  const fields = readTable(reader, table, layout.size, 'section header table')
  if (fields === undefined) return []
  return Array.from({ length: table.count }, (_, index) => {
    const at = index * table.entrySize
    return {
      type: fields.u32(at + layout.type),
      offset: wordOf(fields, at + layout.offset, bits),
      byteSize: wordOf(fields, at + layout.byteSize, bits),
      info: fields.u32(at + layout.info),
      entrySize: wordOf(fields, at + layout.entrySize, bits),
    }
  })
}

/** The file offset of a run-time address, and the number of bytes from there to the end of the segment in the file. */
export function fileRangeOf(header: ElfHeader, address: number, what: string): { offset: number; byteSize: number } {
  for (const segment of header.segments) {
    const within = address - segment.address
    if (segment.type === PT_LOAD && within >= 0 && within < segment.fileSize) {
      return { offset: segment.offset + within, byteSize: segment.fileSize - within }
    }
  }
  throw new BinaryFormatError(
    `the ${what} is at address 0x${address.toString(16)}, which is outside of the file's segments`,
  )
}
