import { BinaryFormatError } from '../binary-format-error.ts'
import type { BinaryReader, Fields } from '../binary-reader.ts'
import { rangeIn, type FileRange } from '../file-range.ts'

/** A part of the file that the loader maps or reads, from the program header table. */
export type ElfSegment = Readonly<Record<'type' | 'offset' | 'address' | 'fileSize', number>>

/** A section, if the file still has its section table. */
export type ElfSection = Readonly<
  Record<'name' | 'type' | 'flags' | 'address' | 'offset' | 'byteSize' | 'link' | 'info' | 'entrySize', number>
>

export interface ElfHeader {
  /** Fields in the file's own byte order. */
  readonly reader: BinaryReader
  readonly bits: 32 | 64
  /** ET_REL 1, ET_EXEC 2, ET_DYN 3, ET_CORE 4. */
  readonly type: number
  readonly machine: number
  readonly segments: readonly ElfSegment[]
  readonly sections: readonly ElfSection[]
  /** The index of the section with the names of the sections. */
  readonly namesIndex: number
}

const PT_LOAD = 1
export const PT_DYNAMIC = 2
export const PT_INTERP = 3
export const SHT_SYMTAB = 2
export const SHT_DYNSYM = 11

/** Means that the real count, or the real index, is in the first section header. */
const PN_XNUM = 0xffff
const SHN_XINDEX = 0xffff

/** Field offsets of the header and of the entries of its two tables, for both classes. */
const layouts = {
  32: {
    header: { size: 52, phoff: 28, shoff: 32, phentsize: 42, phnum: 44, shentsize: 46, shnum: 48, shstrndx: 50 },
    segment: { size: 32, type: 0, offset: 4, address: 8, fileSize: 16 },
    section: {
      size: 40,
      name: 0,
      type: 4,
      flags: 8,
      address: 12,
      offset: 16,
      byteSize: 20,
      link: 24,
      info: 28,
      entrySize: 36,
    },
  },
  64: {
    header: { size: 64, phoff: 32, shoff: 40, phentsize: 54, phnum: 56, shentsize: 58, shnum: 60, shstrndx: 62 },
    segment: { size: 56, type: 0, offset: 8, address: 16, fileSize: 32 },
    section: {
      size: 64,
      name: 0,
      type: 4,
      flags: 8,
      address: 16,
      offset: 24,
      byteSize: 32,
      link: 40,
      info: 44,
      entrySize: 56,
    },
  },
} as const

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
  const { header: at, segment, section } = layouts[bits]
  const header = reader.fields(0, at.size, 'ELF header')
  const readSections = (count: number): ElfSection[] =>
    reader.table('section header table', header.word(at.shoff, bits), count, header.u16(at.shentsize), section, bits)
  const [first] = readSections(1)
  const namesIndex = header.u16(at.shstrndx)
  // Counts above 16 bits are in the first section header: that of sections in its size, that of segments in its info.
  const segmentCount = header.u16(at.phnum)
  return {
    reader,
    bits,
    type: header.u16(16),
    machine: header.u16(18),
    segments: reader.table(
      'program header table',
      header.word(at.phoff, bits),
      segmentCount === PN_XNUM ? (first?.info ?? 0) : segmentCount,
      header.u16(at.phentsize),
      segment,
      bits,
    ),
    sections: readSections(header.u16(at.shnum) || (first?.byteSize ?? 0)),
    namesIndex: namesIndex === SHN_XINDEX ? (first?.link ?? 0) : namesIndex,
  }
}

/** The file offset of a run-time address, and the number of bytes from there to the end of the segment in the file. */
export function fileRangeOf(header: ElfHeader, address: number, what: string): FileRange {
  return rangeIn(loadedSegments(header), address, what)
}

export function loadedSegments({ segments }: ElfHeader): ElfSegment[] {
  return segments.filter(({ type }) => type === PT_LOAD)
}

export function fieldsAt(header: ElfHeader, address: number, byteSize: number, what: string): Fields {
  return header.reader.fields(fileRangeOf(header, address, what).offset, byteSize, what)
}
