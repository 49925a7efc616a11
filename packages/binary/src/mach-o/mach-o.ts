import { machOMachines, machineName } from '../architecture.ts'
import { BinaryFormatError } from '../binary-format-error.ts'
import type { BinaryInfo } from '../binary-info.ts'
import type { BinaryReader, Fields } from '../binary-reader.ts'
import type { MappedPart } from '../file-range.ts'
import { readMachOSymbols } from './mach-o-symbols.ts'

/** The first four bytes, read big-endian, of files for several architectures and for one. */
const [FAT_MAGIC, FAT64_MAGIC] = [0xcafebabe, 0xcafebabf]
const thinMagics: Readonly<Record<number, { bits: 32 | 64; littleEndian: boolean }>> = {
  0xfeedface: { bits: 32, littleEndian: false },
  0xfeedfacf: { bits: 64, littleEndian: false },
  0xcefaedfe: { bits: 32, littleEndian: true },
  0xcffaedfe: { bits: 64, littleEndian: true },
}

/** Java's class files begin with the fat magic too, followed by their version, which is 45 or more. */
const MAX_FAT_ENTRIES = 32

const LC_REQ_DYLD = 0x80000000
const Command = {
  segment32: 0x1,
  symtab: 0x2,
  idDylib: 0xd,
  segment64: 0x19,
  rpath: 0x1c,
  codeSignature: 0x1d,
  minimumVersion: 0x24,
  buildVersion: 0x32,
} as const

/** The commands that name a library, and whether loading fails without it. */
const libraryCommands: ReadonlyMap<number, boolean> = new Map([
  [0xc, true], // LC_LOAD_DYLIB
  [0x18, false], // LC_LOAD_WEAK_DYLIB
  [0x1f, true], // LC_REEXPORT_DYLIB
  [0x20, false], // LC_LAZY_LOAD_DYLIB
  [0x23, true], // LC_LOAD_UPWARD_DYLIB
])

const kinds: Readonly<Record<number, BinaryInfo['kind']>> = { 1: 'object', 2: 'executable', 6: 'shared', 8: 'shared' }

/** Whether the first four bytes, read big-endian, begin a Mach-O file of any kind. */
export function isMachO(magic: number): boolean {
  return magic in thinMagics || magic === FAT_MAGIC || magic === FAT64_MAGIC
}

/** Reads a Mach-O file. Of several architectures, the result describes `preferredArch`, or else the first one. */
export function readMachO(file: BinaryReader, preferredArch: string): BinaryInfo {
  const { part, architectures } = choosePart(file, preferredArch)
  const info = readThin(part)
  return architectures === undefined ? info : { ...info, architectures }
}

/** Opens the segments of the part that {@link readMachO} describes. The offsets are relative to this part. */
export function openMachOSegments(
  file: BinaryReader,
  preferredArch: string,
): { part: BinaryReader; segments: readonly MappedPart[] } {
  const { part } = choosePart(file, preferredArch)
  const { reader, bits, header, headerSize } = readHeader(part)
  const commands = reader.fields(headerSize, header.u32(20), 'load commands')
  const wanted = bits === 64 ? Command.segment64 : Command.segment32
  const segments = [...commandsOf(commands, header.u32(16))].flatMap(({ command, body }) =>
    command === wanted ? [segmentOf(body, bits)] : [],
  )
  return { part, segments }
}

/** segment_command { vmaddr 24, vmsize, fileoff 32 or 40, filesize 36 or 48 }, for 32 or 64 bits. */
function segmentOf(body: Fields, bits: 32 | 64): MappedPart {
  const [offset, fileSize] = bits === 64 ? [40, 48] : [32, 36]
  return { address: body.word(24, bits), offset: body.word(offset, bits), fileSize: body.word(fileSize, bits) }
}

/** Of a file for several architectures, the part for `preferredArch`, or else the first one. */
function choosePart(file: BinaryReader, preferredArch: string): { part: BinaryReader; architectures?: string[] } {
  const magic = magicOf(file)
  if (magic in thinMagics) return { part: file }
  const slices = readFatHeader(file.withEndianness(false), magic === FAT64_MAGIC)
  const slice = slices.find((candidate) => candidate.arch === preferredArch) ?? slices[0]!
  return {
    part: file.part(slice.offset, slice.byteSize, `part for ${slice.arch}`),
    architectures: slices.map((candidate) => candidate.arch),
  }
}

function magicOf(file: BinaryReader): number {
  return file.withEndianness(false).fields(0, 4, 'Mach-O magic').u32(0)
}

/** fat_arch { cputype 0, cpusubtype 4, offset 8, size 12, align 16 }; the 64-bit form has an offset and size of 8 bytes. */
function readFatHeader(file: BinaryReader, wide: boolean): { arch: string; offset: number; byteSize: number }[] {
  const count = file.fields(4, 4, 'Mach-O header').u32(0)
  if (count === 0 || count > MAX_FAT_ENTRIES) {
    throw new BinaryFormatError(
      `a Mach-O file for several architectures should name 1 to ${MAX_FAT_ENTRIES} of them, but names ${count}`,
      { hint: 'Check that it is not a Java class file, which begins with the same four bytes.' },
    )
  }
  const layout = wide ? { size: 32, type: 0, offset: 8, byteSize: 16 } : { size: 20, type: 0, offset: 8, byteSize: 12 }
  return file
    .table('table of architectures', 8, count, layout.size, layout, wide ? 64 : 32)
    .map(({ type, offset, byteSize }) => ({ arch: machineName(machOMachines, type), offset, byteSize }))
}

function readHeader(part: BinaryReader): { reader: BinaryReader; bits: 32 | 64; header: Fields; headerSize: number } {
  const magic = magicOf(part)
  const identity = thinMagics[magic]
  if (identity === undefined)
    throw new BinaryFormatError(`the file begins with 0x${magic.toString(16)}, which is not a Mach-O header`)
  const { bits, littleEndian } = identity
  const reader = part.withEndianness(littleEndian)
  const headerSize = bits === 64 ? 32 : 28
  return { reader, bits, header: reader.fields(0, headerSize, 'Mach-O header'), headerSize }
}

function readThin(part: BinaryReader): BinaryInfo {
  const { reader, bits, header, headerSize } = readHeader(part)
  const arch = machineName(machOMachines, header.u32(4))
  const { name, needed, rpath, libraries, symbols, codeSections, ...facts } = readCommands(
    reader.fields(headerSize, header.u32(20), 'load commands'),
    header.u32(16),
    bits,
  )
  return {
    format: 'mach-o',
    kind: kinds[header.u32(12)] ?? 'other',
    arch,
    architectures: [arch],
    bits,
    endianness: reader.littleEndian ? 'little' : 'big',
    ...(name === undefined ? {} : { soname: name }),
    needed,
    rpath,
    runpath: [],
    ...facts,
    ...readMachOSymbols(reader, bits, symbols, codeSections, libraries),
  }
}

interface Commands {
  name?: string
  needed: string[]
  /** All libraries, in the order in which symbols number them from 1. */
  libraries: string[]
  rpath: string[]
  symbols?: Fields
  /** Whether each section has instructions, in the order in which symbols number them from 1. */
  codeSections: boolean[]
  minimumMacos?: string
  signed: boolean
}

/** Every command is { cmd u32 0, cmdsize u32 4, ... }. */
function* commandsOf(fields: Fields, count: number): Generator<{ command: number; body: Fields }> {
  for (let left = count, at = 0; left > 0; left -= 1) {
    const byteSize = fields.u32(at + 4)
    if (byteSize < 8) throw new BinaryFormatError(`a load command should have 8 bytes or more, but has ${byteSize}`)
    yield { command: fields.u32(at) & ~LC_REQ_DYLD, body: fields.part(at, byteSize) }
    at += byteSize
  }
}

/** The word at 8 of a command is the offset of its text. */
function readCommands(fields: Fields, count: number, bits: 32 | 64): Commands {
  const commands: Commands = { needed: [], libraries: [], rpath: [], codeSections: [], signed: false }
  for (const { command, body } of commandsOf(fields, count)) {
    const required = libraryCommands.get(command)
    if (required !== undefined) {
      const library = body.text(body.u32(8))
      commands.libraries.push(library)
      if (required) commands.needed.push(library)
    } else if (command === Command.idDylib) commands.name = body.text(body.u32(8))
    else if (command === Command.rpath) commands.rpath.push(body.text(body.u32(8)))
    else if (command === Command.symtab) commands.symbols = body
    else if (command === Command.codeSignature) commands.signed = true
    else if (command === Command.minimumVersion) commands.minimumMacos = versionOf(body.u32(8))
    else if (command === Command.buildVersion && body.u32(8) === PLATFORM_MACOS)
      commands.minimumMacos = versionOf(body.u32(12))
    else if (command === (bits === 64 ? Command.segment64 : Command.segment32)) {
      commands.codeSections.push(...codeSectionsOf(body, bits))
    }
  }
  return commands
}

const PLATFORM_MACOS = 1

/** Versions have 16, 8 and 8 bits. */
function versionOf(packed: number): string {
  return `${packed >>> 16}.${(packed >>> 8) & 0xff}`
}

const S_ATTR_PURE_INSTRUCTIONS = 0x80000000
const S_ATTR_SOME_INSTRUCTIONS = 0x400

function codeSectionsOf(segment: Fields, bits: 32 | 64): boolean[] {
  const layout =
    bits === 64 ? { count: 64, first: 72, size: 80, flags: 64 } : { count: 48, first: 56, size: 68, flags: 56 }
  const sections: boolean[] = []
  for (let index = 0; index < segment.u32(layout.count); index += 1) {
    const flags = segment.u32(layout.first + index * layout.size + layout.flags)
    sections.push((flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS)) !== 0)
  }
  return sections
}
