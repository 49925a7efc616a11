import { basename, dirname, join, resolve } from 'node:path'
import { crc32 } from 'node:zlib'
import { BinaryFormatError } from '../binary-format-error.ts'
import type { ByteSource } from '../byte-source.ts'
import type { ElfFile } from './elf-file.ts'

/** The directory in which packages of distributions install debug information. */
const SYSTEM_DIRECTORY = '/usr/lib/debug'

/** The longest name of another file, in bytes, and the longest build ID. */
const MAX_NAME_BYTES = 4096
const MAX_ID_BYTES = 64

/** The paths at which the debug information of a build ID may be. */
export function pathsOfBuildId(buildId: string, directories: readonly string[]): string[] {
  if (!/^[0-9a-f]{6,128}$/.test(buildId)) return []
  const name = join('.build-id', buildId.slice(0, 2), `${buildId.slice(2)}.debug`)
  return [...directories, SYSTEM_DIRECTORY].map((directory) => join(directory, name))
}

/** The name of a file with the debug information, and the CRC-32 of its bytes (`.gnu_debuglink`). */
export interface DebugLink {
  readonly paths: readonly string[]
  readonly checksum: number
}

/** Reads the section `.gnu_debuglink`: a name, a NUL, zeros up to a multiple of 4 bytes, and the checksum. */
export function readDebugLink(file: ElfFile, directories: readonly string[]): DebugLink | undefined {
  const section = file.sections.open('.gnu_debuglink')
  if (section === undefined || section.byteSize > MAX_NAME_BYTES) return undefined
  const bytes = section.read(0, section.byteSize)
  const end = bytes.indexOf(0)
  const at = Math.ceil((end + 1) / 4) * 4
  const name = bytes.toString('utf8', 0, end)
  // The name has no directory, so it cannot lead elsewhere.
  if (end <= 0 || at + 4 > bytes.length || basename(name) !== name || name === '..') return undefined
  const folder = dirname(resolve(file.path))
  return {
    paths: [
      ...directories.map((directory) => join(directory, name)),
      join(folder, name),
      join(folder, '.debug', name),
      join(SYSTEM_DIRECTORY, folder, name),
    ],
    checksum: file.header.reader.littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at),
  }
}

/** The paths of the file that several debug files share (`.gnu_debugaltlink`), and its build ID. */
export function readSharedLink(
  file: ElfFile,
  directories: readonly string[],
): { readonly paths: readonly string[]; readonly buildId: string } | undefined {
  const section = file.sections.open('.gnu_debugaltlink')
  if (section === undefined || section.byteSize > MAX_NAME_BYTES + MAX_ID_BYTES) return undefined
  const bytes = section.read(0, section.byteSize)
  const end = bytes.indexOf(0)
  if (end <= 0) return undefined
  const buildId = bytes.toString('hex', end + 1)
  const path = resolve(dirname(resolve(file.path)), bytes.toString('utf8', 0, end))
  return { paths: [path, ...pathsOfBuildId(buildId, directories)], buildId }
}

/** The number of bytes of a file that are read at a time. */
const BLOCK_BYTES: number = 1024 * 1024

export function checksumOf(source: ByteSource): number {
  let checksum = 0
  for (let at = 0; at < source.byteSize; at += BLOCK_BYTES) {
    checksum = crc32(source.read(at, Math.min(BLOCK_BYTES, source.byteSize - at)), checksum)
  }
  return checksum
}

/** The first of the files that `open` accepts. Files that do not exist, cannot be read, or are damaged are passed over. */
export function firstOf<T>(paths: readonly string[], open: (path: string) => T | undefined): T | undefined {
  for (const path of paths) {
    try {
      const opened = open(path)
      if (opened !== undefined) return opened
    } catch (error) {
      const isSystemError = typeof (error as NodeJS.ErrnoException).errno === 'number'
      if (!isSystemError && !(error instanceof BinaryFormatError)) throw error
    }
  }
  return undefined
}
