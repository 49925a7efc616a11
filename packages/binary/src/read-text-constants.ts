import { BinaryFormatError } from './binary-format-error.ts'
import type { ExportedSymbol } from './binary-info.ts'
import { BinaryReader } from './binary-reader.ts'
import type { ByteSource } from './byte-source.ts'
import { loadedSegments, readElfHeader } from './elf/elf-header.ts'
import { rangeIn, type FileRange, type MappedPart } from './file-range.ts'
import { openMachOSegments } from './mach-o/mach-o.ts'
import { openPeImage } from './pe/pe.ts'
import { formatOf, parseFile } from './read-binary.ts'
import { TenonError } from './tenon-error.ts'

/** The longest text, in bytes without its NUL. */
const MAX_TEXT_BYTES = 65_536

/**
 * Reads the texts of exported constants, such as `const char name[] = "..."`, from the file of a library. The library is
 * neither loaded nor executed.
 *
 * A text ends at its first NUL, or at the end of the constant if the format records the size (ELF). It has at most 65,536
 * bytes, and lies within one part of the file that the loader maps.
 *
 * @param path of the file. If a Mach-O file has several processors, the part for this one is read.
 * @param symbols exports of this file, from {@link readBinary}
 * @returns for each symbol its text, or the error that says why the text cannot be read: the symbol is a function, the
 * text is not valid UTF-8 or too long, or the file does not have its bytes, as for memory that is zero at first
 * @throws {TenonError} if `symbols` is not an array of exports
 * @throws {BinaryFormatError} if the headers of the file are damaged
 * @throws the system's error (ENOENT, EACCES, ...) if the file cannot be opened
 * @example
 * const { exports } = readBinary(path)
 * const [text] = readTextConstants(path, exports.filter(({ name }) => name === 'softmax__tn_signature'))
 */
export function readTextConstants(path: string, symbols: readonly ExportedSymbol[]): (string | BinaryFormatError)[] {
  const isList =
    Array.isArray(symbols) &&
    symbols.every((symbol: Partial<ExportedSymbol> | null) => typeof symbol?.address === 'bigint')
  if (!isList) throw new TenonError('TENON_ARGUMENT', 'symbols must be an array of exports of readBinary()')
  return parseFile(path, (source) => parseTextConstants(source, symbols))
}

export function parseTextConstants(
  source: ByteSource,
  symbols: readonly ExportedSymbol[],
): (string | BinaryFormatError)[] {
  if (symbols.length === 0) return []
  const { reader, rangeOf } = openImage(new BinaryReader(source, false))
  // Symbols of a hostile file may share their bytes, which could otherwise become gigabytes.
  let budget = 16 * source.byteSize + 65_536
  return symbols.map((symbol) => {
    try {
      const bytes = readBytes(reader, rangeOf, symbol)
      budget -= bytes.length
      if (budget < 0) throw new BinaryFormatError('the constants are far larger in total than the file')
      return decode(bytes, symbol.name)
    } catch (error) {
      if (error instanceof BinaryFormatError) return error
      throw error
    }
  })
}

/** The largest number of segments. Real files have fewer than a hundred, and each constant is searched for in all of them. */
const MAX_SEGMENTS = 1024

/** A reader, and the function that finds the bytes at an address of the loaded image in it. */
interface Image {
  readonly reader: BinaryReader
  rangeOf(address: number, what: string): FileRange
}

function openImage(file: BinaryReader): Image {
  switch (formatOf(file)) {
    case 'elf': {
      const segments = loadedSegments(readElfHeader(file))
      return { reader: file, rangeOf: inSegments(segments) }
    }
    case 'pe': {
      const image = openPeImage(file)
      return { reader: file, rangeOf: (address, what) => image.rangeOf(address, what) }
    }
    case 'mach-o': {
      const { part, segments } = openMachOSegments(file, process.arch)
      return { reader: part, rangeOf: inSegments(segments) }
    }
  }
}

function inSegments(segments: readonly MappedPart[]): Image['rangeOf'] {
  if (segments.length > MAX_SEGMENTS) {
    throw new BinaryFormatError(`a library has at most ${MAX_SEGMENTS} segments, not ${segments.length}`)
  }
  return (address, what) => rangeIn(segments, address, what)
}

function readBytes(reader: BinaryReader, rangeOf: Image['rangeOf'], symbol: ExportedSymbol): Buffer {
  const { name, kind, address } = symbol
  if (kind !== 'object') {
    const received = kind === 'function' ? 'a function' : 'another kind of symbol'
    throw new BinaryFormatError(`${name} must be a constant, got ${received}`)
  }
  const range = rangeOf(Number(address), `constant ${name}`)
  // Not every compiler records the size.
  const size = symbol.byteSize || undefined
  if (size !== undefined && size > range.byteSize) {
    throw new BinaryFormatError(`the constant ${name} has ${size} bytes, but its segment has ${range.byteSize} left`)
  }
  const most = Math.min(size ?? range.byteSize, MAX_TEXT_BYTES + 1)
  const bytes = reader.untilNul(range.offset, most, `constant ${name}`)
  if (bytes !== undefined) return bytes
  if (most > MAX_TEXT_BYTES) throw new BinaryFormatError(`${name} must have at most ${MAX_TEXT_BYTES} bytes`)
  if (size === undefined) throw new BinaryFormatError(`the constant ${name} does not end within its segment`)
  return reader.fields(range.offset, size, `constant ${name}`).bytes
}

function decode(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new BinaryFormatError(`the text of ${name} must be valid UTF-8`, { cause })
  }
}
