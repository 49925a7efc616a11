import { BinaryReader } from '../binary-reader.ts'
import type { ByteSource } from '../byte-source.ts'

const magic = 'glibc-ld.so.cache1.1'
/** Caches of older systems begin with the table of libc 5, followed by the present one, aligned to 8 bytes. */
const oldMagic = 'ld.so-1.7.0\0'
const OLD_HEADER_BYTES = 16
const OLD_ENTRY_BYTES = 12
const HEADER_BYTES = 48
const ENTRY_BYTES = 24

/**
 * Reads the libraries in glibc's /etc/ld.so.cache: the file paths of each name, several if it exists for several
 * processors.
 *
 * Layout: magic (20 bytes), count u32 20, size of the names u32 24, ...; entries of 24 bytes from 48 on, with the
 * offsets of name u32 4 and path u32 8 from the magic on. The byte order is the machine's.
 *
 * @throws {BinaryFormatError} if it is truncated
 */
export function parseLdSoCache(source: ByteSource, littleEndian = true): Map<string, string[]> {
  const libraries = new Map<string, string[]>()
  const reader = new BinaryReader(source, littleEndian)
  const start = startOfCache(reader)
  if (start === undefined) return libraries
  const cache = reader.fields(start, reader.byteSize - start, 'loader cache')
  for (let left = cache.u32(20), at = HEADER_BYTES; left > 0; left -= 1, at += ENTRY_BYTES) {
    const name = cache.text(cache.u32(at + 4))
    const path = cache.text(cache.u32(at + 8))
    const paths = libraries.get(name) ?? []
    paths.push(path)
    libraries.set(name, paths)
  }
  return libraries
}

function startOfCache(reader: BinaryReader): number | undefined {
  const begins = (offset: number, text: string): boolean =>
    offset + HEADER_BYTES <= reader.byteSize &&
    reader.fields(offset, text.length, 'loader cache').text(0) === text.replace('\0', '')
  if (begins(0, magic)) return 0
  if (!begins(0, oldMagic)) return undefined
  const end = OLD_HEADER_BYTES + reader.fields(12, 4, 'loader cache').u32(0) * OLD_ENTRY_BYTES
  const aligned = Math.ceil(end / 8) * 8
  return begins(aligned, magic) ? aligned : undefined
}
