import { BinaryFormatError } from './binary-format-error.ts'
import type { BinaryFormat, BinaryInfo } from './binary-info.ts'
import { BinaryReader } from './binary-reader.ts'
import { withFileSource, type ByteSource } from './byte-source.ts'
import { elfMagic, readElf } from './elf/elf.ts'
import { isMachO, readMachO } from './mach-o/mach-o.ts'
import { peMagic, readPe } from './pe/pe.ts'

/**
 * Reads the headers of a shared library (ELF, Mach-O or PE, for any processor) without loading or executing it.
 *
 * @param path of the file. If a Mach-O file has several processors, the part for this one is described.
 * @throws {BinaryFormatError} if it is another kind of file, or its tables are truncated or inconsistent
 * @throws the system's error (ENOENT, EACCES, ...) if it cannot be opened
 * @example
 * const { arch, needed, exports } = readBinary(path)
 */
export function readBinary(path: string): BinaryInfo {
  return parseFile(path, parseBinary)
}

/** Opens a file and parses it. The errors name its path. */
export function parseFile<T>(path: string, parse: (source: ByteSource) => T): T {
  try {
    return withFileSource(path, parse)
  } catch (error) {
    if (!(error instanceof BinaryFormatError)) throw error
    throw new BinaryFormatError(`cannot read ${path}: ${error.sentence}`, {
      hint: error.hint,
      details: { path, reason: error.sentence },
    })
  }
}

export function parseBinary(source: ByteSource): BinaryInfo {
  const reader = new BinaryReader(source, false)
  switch (formatOf(reader)) {
    case 'elf':
      return readElf(reader)
    case 'mach-o':
      return readMachO(reader, process.arch)
    case 'pe':
      return readPe(reader)
  }
}

/** @throws {BinaryFormatError} if the file is not a library; the message says what it seems to be */
export function formatOf(reader: BinaryReader): BinaryFormat {
  const start = reader.fields(0, Math.min(reader.byteSize, 64), 'start of the file').bytes
  const magic = start.length < 4 ? 0 : start.readUInt32BE(0)
  if (magic === elfMagic) return 'elf'
  if (isMachO(magic)) return 'mach-o'
  if (magic >>> 16 === peMagic) return 'pe'
  const text = start.toString('latin1')
  const [, name, hint] = beginnings.find(([beginning]) => text.startsWith(beginning)) ?? []
  throw new BinaryFormatError(`the file is not a shared library, but ${name ?? describe(start, text)}`, {
    hint: hint ?? 'Pass a shared library, which begins with an ELF (Linux), Mach-O (macOS) or PE (Windows) header.',
  })
}

/** The format of the libraries that this system loads. */
export const nativeFormat: BinaryFormat =
  process.platform === 'darwin' ? 'mach-o' : process.platform === 'win32' ? 'pe' : 'elf'

/** The beginnings of files that are often mistaken for libraries, with their names and hints. */
const beginnings: readonly (readonly [text: string, name: string, hint: string])[] = [
  ['!<arch>\n', 'a static library', 'Link it into a shared library: cc -shared -o lib.so -Wl,--whole-archive lib.a'],
  ['!<thin>\n', 'a static library (thin archive)', 'Link its object files into a shared library.'],
  ['/* GNU ld script', 'a linker script', 'Open the library that it names in its GROUP or INPUT line.'],
  ['\0asm', 'a WebAssembly module', 'Run it with new WebAssembly.Module(bytes).'],
  ['BC\xc0\xde', 'LLVM bitcode', 'Compile it into a shared library first.'],
  ['PK\x03\x04', 'a zip archive (a wheel, or a jar)', 'Unpack it and open the library inside.'],
  ['\x1f\x8b', 'a gzip archive', 'Unpack it and open the library inside.'],
  ['version https://git-lfs', 'a Git LFS pointer', 'Run git lfs pull to download the file.'],
]

function describe(start: Buffer, text: string): string {
  if (start.length === 0) return 'an empty file'
  if (/^[\t\n\r\x20-\x7e]+$/.test(text)) return `a text file (it begins with ${JSON.stringify(text.slice(0, 24))})`
  return `a file that begins with the bytes ${start.toString('hex', 0, 8).replace(/..(?!$)/g, '$& ')}`
}
