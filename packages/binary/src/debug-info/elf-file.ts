import { BinaryReader } from '../binary-reader.ts'
import { BinaryFormatError } from '../binary-format-error.ts'
import { cached, openFileSource, type ByteSource, type FileSource } from '../byte-source.ts'
import { readElfHeader, type ElfHeader } from '../elf/elf-header.ts'
import { readBuildId } from '../elf/elf-notes.ts'
import { ElfSections } from '../elf/elf-sections.ts'
import { formatOf } from '../read-binary.ts'
import type { BinaryFormat } from '../binary-info.ts'

/** An ELF file whose sections are read as they are needed. */
export interface ElfFile {
  readonly path: string
  readonly header: ElfHeader
  readonly sections: ElfSections
  readonly buildId: string | undefined
  readonly source: ByteSource
  close(): void
}

/**
 * Opens a file. The result for a library of macOS or Windows is the name of its format.
 *
 * @param mostExpanded the bytes to which its compressed sections may expand together
 * @throws {BinaryFormatError} if it is another kind of file, or its tables are damaged
 * @throws the system's error (ENOENT, EACCES, ...) if it cannot be opened
 */
export function openElfFile(path: string, mostExpanded?: number): ElfFile | Exclude<BinaryFormat, 'elf'> {
  const source: FileSource = openFileSource(path)
  try {
    const reader = new BinaryReader(cached(source), false)
    const format = formatOf(reader)
    if (format !== 'elf') {
      source.close()
      return format
    }
    const header = readElfHeader(reader)
    const close = (): void => source.close()
    const sections = new ElfSections(header, mostExpanded)
    return { path, header, sections, buildId: readBuildId(header), source, close }
  } catch (error) {
    source.close()
    if (!(error instanceof BinaryFormatError)) throw error
    throw new BinaryFormatError(`cannot read ${path}: ${error.sentence}`, {
      hint: error.hint,
      details: { path, reason: error.sentence },
    })
  }
}
