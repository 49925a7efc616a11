import { machineName, peMachines } from '../architecture.ts'
import { BinaryFormatError } from '../binary-format-error.ts'
import type { BinaryInfo } from '../binary-info.ts'
import type { BinaryReader, Fields } from '../binary-reader.ts'
import { PeImage, type PeDirectory, type PeSection } from './pe-image.ts'
import { readPeExports, readPeImports } from './pe-symbols.ts'

/** "MZ", the first two bytes read big-endian. */
export const peMagic = 0x4d5a

/** "PE\0\0", read little-endian. */
const PE_SIGNATURE = 0x4550
const IMAGE_FILE_EXECUTABLE_IMAGE = 0x2
const IMAGE_FILE_DLL = 0x2000
/** Field offsets of a section header. */
const sectionLayout = { size: 40, rva: 12, fileSize: 16, offset: 20, characteristics: 36 } as const

/** The largest number of sections. Windows refused more than 96 for a long time, and linkers merge them into about ten. */
const MAX_SECTIONS = 1024

const Directory = { export: 0, import: 1, delayImport: 13 } as const

/** The headers of a PE file. */
interface PeHeaders {
  readonly image: PeImage
  readonly header: Fields
  directory(index: number): PeDirectory
}

/** Opens the image of a PE file, whose bytes are found by their addresses. */
export function openPeImage(file: BinaryReader): PeImage {
  return readHeaders(file).image
}

export function readPe(file: BinaryReader): BinaryInfo {
  const { image, header, directory } = readHeaders(file)
  const { name, exports } = readPeExports(image, directory(Directory.export))
  const { needed, imports } = readPeImports(image, directory(Directory.import), directory(Directory.delayImport))
  const arch = machineName(peMachines, header.u16(4))
  return {
    format: 'pe',
    kind: kindOf(header.u16(22)),
    arch,
    architectures: [arch],
    bits: image.bits,
    endianness: 'little',
    ...(name === undefined ? {} : { soname: name }),
    needed,
    rpath: [],
    runpath: [],
    // The number of symbols for debuggers.
    stripped: header.u32(16) === 0,
    exports,
    imports,
  }
}

function readHeaders(file: BinaryReader): PeHeaders {
  const reader = file.withEndianness(true)
  const headerAt = reader.fields(0, 64, 'MS-DOS header').u32(60)
  const header = reader.fields(headerAt, 24, 'PE header')
  if (header.u32(0) !== PE_SIGNATURE) {
    throw new BinaryFormatError('the file begins like a program for MS-DOS, but does not have a PE header', {
      hint: 'Pass a DLL of 32 or 64 bits.',
    })
  }
  const optionalSize = header.u16(20)
  const optional = reader.fields(headerAt + 24, optionalSize, 'PE optional header')
  const magic = optional.u16(0)
  if (magic !== 0x10b && magic !== 0x20b) {
    throw new BinaryFormatError(`the PE optional header should begin with 0x10b or 0x20b, not 0x${magic.toString(16)}`)
  }
  const bits = magic === 0x20b ? 64 : 32
  const sections = readSections(reader, headerAt + 24 + optionalSize, header.u16(6))
  const image = new PeImage(reader, bits, sections, optional.u32(60))
  const directoryAt = bits === 64 ? 112 : 96
  const directoryCount = optional.u32(directoryAt - 4)
  const directory = (index: number): PeDirectory =>
    index < directoryCount
      ? { rva: optional.u32(directoryAt + index * 8), byteSize: optional.u32(directoryAt + index * 8 + 4) }
      : { rva: 0, byteSize: 0 }
  return { image, header, directory }
}

function kindOf(characteristics: number): BinaryInfo['kind'] {
  if ((characteristics & IMAGE_FILE_DLL) !== 0) return 'shared'
  return (characteristics & IMAGE_FILE_EXECUTABLE_IMAGE) === 0 ? 'object' : 'executable'
}

function readSections(reader: BinaryReader, offset: number, count: number): PeSection[] {
  if (count > MAX_SECTIONS) throw new BinaryFormatError(`a PE file has at most ${MAX_SECTIONS} sections, not ${count}`)
  return reader.table('section table', offset, count, sectionLayout.size, sectionLayout, 32)
}
